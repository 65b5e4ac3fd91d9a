// One pair: its recordings to play, its votes and what annotators wrote, and hiding or replacing it with a reason.
import { get, post } from "../api.js";
import { Deck } from "../annotate/player.js";
import { el } from "../dom.js";
import { confirmSaved } from "../live.js";
import { word } from "../words.js";
import { actionButton, field, section } from "./actions.js";
import { historyList, pill, promptText, recordings, stateForm, statePills } from "./item.js";
import { pairAt } from "./links.js";
import { soundInput, uploadSound } from "./pairs.js";
import { voteList } from "./votes.js";

export async function showPair(holder, signal, canChange, { id }) {
  const path = `/api/owner/pairs/${encodeURIComponent(id)}`;
  const pair = await get(path);
  if (signal.aborted) return;
  const deck = new Deck();
  signal.addEventListener("abort", () => deck.close());
  const refresh = async () => {
    deck.close();
    await showPair(holder, signal, canChange, { id });
  };
  const votes = voteList(signal, { pair: false });
  const { element, settle } = recordings(parts(pair), deck);
  holder.replaceChildren(
    el("p", {}, el("a", { href: "#pairs", word: "pair.back" })),
    section("pair", about(pair), ...promptText(pair), element),
    section("pair-votes", votes.element),
    ...(canChange ? [section("pair-state", stateForm(pair, path, "pair.hidden", refresh, replacing(pair, path)))] : []),
    ...(pair.history.length > 0 ? [section("pair-history", historyList(pair.history))] : []),
  );
  settle();
  await votes.load({ pair: id, hidden: true, order: "oldest" });
}

function about(pair) {
  const gold = Object.entries(pair.gold ?? {}).map(([axis, side]) =>
    el("span", { word: ["pair.known", { axis: () => word(`axis.${axis}`), side }] }),
  );
  return el(
    "div",
    { class: "row" },
    el("span", { class: "quiet" }, pair.source_id),
    el("span", { class: "pill" }, pair.modality),
    pair.kind === "gold" ? pill("kind.gold") : null,
    gold,
    statePills(pair),
    pair.replaced_by ? el("a", { href: pairAt(pair.replaced_by), word: "pair.replaced-by" }) : null,
    pair.replaces ? el("a", { href: pairAt(pair.replaces), word: "pair.replaces" }) : null,
  );
}

const parts = (pair) =>
  ["reference", "a", "b"].map((part) => ({
    part,
    sound: pair.recordings[part],
    named: part === "reference" ? undefined : ["pair.take", { side: part, system: pair[`system_${part}`] }],
  }));

const replacing = (pair, path) => (because) =>
  el("details", {}, el("summary", { word: "pair.replace" }), replaceForm(pair, path, because));

function replaceForm(pair, path, because) {
  const [a, b, reference] = [soundInput(), soundInput(), soundInput()];
  const text = el("textarea", { maxlength: 4000 });
  text.value = pair.text;
  const replace = async () => {
    const body = because();
    if (text.value.trim() !== pair.text.trim()) body.text = text.value.trim();
    for (const [name, control] of Object.entries({ a, b, reference })) {
      const sound = await uploadSound(control);
      if (sound !== null) body[name] = sound;
    }
    const { id } = await post(`${path}/replace`, body);
    confirmSaved("pair.is-replaced");
    location.hash = pairAt(id);
  };
  return el(
    "div",
    { class: "form" },
    el("p", { class: "quiet", word: "pair.replace.more" }),
    el("div", { class: "form__pair" }, field("replace-a", a), field("replace-b", b)),
    field("replace-reference", reference),
    field("replace-text", text),
    el("div", { class: "row" }, actionButton("pair.replace.now", replace)),
  );
}
