// One pair: its recordings to play, its votes and what annotators wrote, and hiding or replacing it with a reason.
import { get, post } from "../api.js";
import { Levels } from "../annotate/levels.js";
import { playerCard } from "../annotate/player-card.js";
import { Deck, Player } from "../annotate/player.js";
import { volumeControl } from "../annotate/volume.js";
import { when } from "../clock.js";
import { el } from "../dom.js";
import { confirmSaved } from "../live.js";
import { word } from "../words.js";
import { actionButton, field, section } from "./actions.js";
import { pairAt } from "./links.js";
import { soundInput, uploadSound } from "./pairs.js";
import { voteList } from "./votes.js";

const EVENTS = { "pair hidden": "hidden", "pair shown": "shown", "pair replaced": "replaced" };

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
  const { element, settle } = recordings(pair, deck);
  holder.replaceChildren(
    el("p", {}, el("a", { href: "#pairs", word: "pair.back" })),
    section(
      "pair",
      about(pair),
      pair.text ? el("p", { class: "instruction__text" }, pair.text) : null,
      pair.lyrics ? lyrics(pair.lyrics) : null,
      element,
    ),
    section("pair-votes", votes.element),
    ...(canChange ? [section("pair-state", stateForm(pair, path, refresh))] : []),
    ...(pair.history.length > 0 ? [section("pair-history", historyList(pair.history))] : []),
  );
  settle();
  await votes.load({ pair: id, hidden: true, order: "oldest" });
}

function about(pair) {
  const pill = (key, kind = "") => el("span", { class: `pill ${kind}`, word: key });
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
    pair.hidden === null ? null : pill("state-of.hidden", "pill--look"),
    pair.hidden === null ? null : el("span", {}, pair.hidden),
    pair.broken ? pill("filter.broken", "pill--look") : null,
    pair.replaced_by ? el("a", { href: pairAt(pair.replaced_by), word: "pair.replaced-by" }) : null,
    pair.replaces ? el("a", { href: pairAt(pair.replaces), word: "pair.replaces" }) : null,
  );
}

const lyrics = (text) =>
  el(
    "details",
    {},
    el("summary", { word: "instruction.lyrics" }),
    el("p", { class: "lyrics", tabindex: 0, role: "region", label: "instruction.lyrics" }, text),
  );

function recordings(pair, deck) {
  const levels = new Levels(false);
  const cards = ["reference", "a", "b"]
    .filter((part) => pair.recordings[part] !== null)
    .map((part) => {
      const sound = pair.recordings[part];
      const player = new Player({ ...sound, url: `/media/${sound.id}` }, part);
      deck.add(player);
      levels.add(player.audio, sound.gain_db);
      const named = part === "reference" ? undefined : ["pair.take", { side: part, system: pair[`system_${part}`] }];
      return playerCard(player, null, null, named);
    });
  const element = el(
    "div",
    { class: "stack" },
    volumeControl(levels),
    cards.map(({ card }) => card),
  );
  return { element, settle: () => cards.forEach(({ settle }) => settle()) };
}

function stateForm(pair, path, refresh) {
  const change = (action, body, key) => async () => {
    await post(`${path}/${action}`, body());
    confirmSaved(key);
    await refresh();
  };
  if (pair.hidden !== null)
    return el(
      "div",
      { class: "stack" },
      el("p", { word: "pair.hidden" }),
      el("div", { class: "row" }, actionButton("pair.show", change("show", () => ({}), "pair.shown"))),
    );
  const reason = el("input", { maxlength: 500, required: true });
  const because = () => {
    if (reason.value.trim()) return { reason: reason.value.trim() };
    reason.focus();
    throw new Error(word("pair.no-reason"));
  };
  return el(
    "div",
    { class: "form" },
    field("reason", reason, { hint: true }),
    el("div", { class: "row" }, actionButton("pair.hide", change("hide", because, "pair.is-hidden"))),
    el("details", {}, el("summary", { word: "pair.replace" }), replaceForm(pair, path, because)),
  );
}

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

const historyList = (events) =>
  el(
    "ul",
    { class: "ballots" },
    events.map(({ time, action, reason }) =>
      el(
        "li",
        { class: "row" },
        el("span", { class: "quiet small" }, when(time)),
        el("span", { word: `pair.event.${EVENTS[action]}` }),
        reason ? el("span", {}, reason) : null,
      ),
    ),
  );
