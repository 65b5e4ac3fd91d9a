// The pairs of the study: a list to search, filter and sort, and a form that uploads recordings and makes a pair of them.
import { get, post, upload } from "../api.js";
import { when } from "../clock.js";
import { el } from "../dom.js";
import { confirmSaved } from "../live.js";
import { word } from "../words.js";
import { actionButton, field, section } from "./actions.js";
import { checkbox, choice, filterBar, searchField, systemChoice } from "./filters.js";
import { pill, statePills } from "./item.js";
import { linked, pairAt, votesAt } from "./links.js";
import { DASH } from "./numbers.js";
import { pagedList } from "./pages.js";
import { table } from "./table.js";
import { shortened } from "./votes.js";

const STATES = {
  "": "filter.all",
  untouched: "filter.untouched",
  begun: "filter.begun",
  done: "filter.done",
  broken: "filter.broken",
  hidden: "state-of.hidden",
  shown: "filter.shown",
};
const ORDERS = {
  "": "order.position",
  "most-votes": "order.most-votes",
  "fewest-votes": "order.fewest-votes",
  latest: "order.latest",
  disputed: "order.disputed",
};
const KINDS = { "": "filter.all", ordinary: "kind.ordinary", gold: "kind.gold" };

export async function showPairs(holder, signal, canChange, query) {
  const systems = await get("/api/owner/systems");
  if (signal.aborted) return;
  const list = pagedList("/api/owner/pairs", "pairs", "pairs.total", pairsTable, signal);
  const controls = {
    text: searchField(query),
    state: choice(STATES, query.state),
    kind: choice(KINDS, query.kind),
    system: systemChoice(systems, query.system),
    order: choice(ORDERS, query.order),
    shared: checkbox(query, "shared"),
    feedback: checkbox(query, "feedback"),
  };
  holder.replaceChildren(
    section("pairs", filterBar("pairs", controls, query, list.load), list.element),
    ...(canChange ? [section("new-pair", pairForm(() => list.load(query)))] : []),
  );
  await list.load(query);
}

function pairsTable(pairs) {
  return table(
    [
      {
        word: "column.text",
        value: (pair) => linked(shortened(pair.text) || pair.source_id, pairAt(pair.id)),
        class: "long",
      },
      { word: "column.systems", value: (pair) => `${pair.system_a} · ${pair.system_b}` },
      {
        word: "column.votes",
        value: (pair) => linked(pair.kind === "gold" ? pair.votes : `${pair.votes} / ${pair.wanted}`, votesOf(pair)),
        number: true,
      },
      { word: "column.for-a-b", value: sides, number: true },
      {
        word: "column.feedback",
        value: (pair) => (pair.feedback ? linked(pair.feedback, votesOf(pair, { feedback: true })) : DASH),
        number: true,
      },
      { word: "column.latest", value: (pair) => (pair.latest === null ? DASH : when(pair.latest)) },
      { word: "column.modality", value: (pair) => pair.modality },
      {
        word: "column.state",
        value: (pair) =>
          el("div", { class: "row" }, pair.kind === "gold" ? pill("kind.gold") : null, statePills(pair)),
      },
    ],
    pairs,
    "section.pairs",
  );
}

const votesOf = (pair, more = {}) =>
  votesAt({ pair: pair.id, hidden: pair.hidden === null ? "" : true, ...more });

/** Votes for a and for b, on alignment and below it on musicality. */
function sides(pair) {
  if (pair.votes === 0) return DASH;
  const line = (axis) => `${pair[`${axis}_a`]} : ${pair.votes - pair[`${axis}_a`]}`;
  return `${line("alignment")}\n${line("musicality")}`;
}

export const soundInput = () => el("input", { type: "file", accept: "audio/*,.wav,.flac,.mp3,.ogg" });

/** The id of the recording in a file control once it is uploaded, or null. */
export async function uploadSound(control) {
  return control.files[0] ? (await upload("/api/owner/sounds", control.files[0])).id : null;
}

function pairForm(load) {
  const text = el("textarea", { maxlength: 4000 });
  const lyrics = el("textarea", { maxlength: 8000 });
  const [reference, a, b] = [soundInput(), soundInput(), soundInput()];
  const [systemA, systemB] = [el("input", { maxlength: 200 }), el("input", { maxlength: 200 })];
  const add = async () => {
    if (!a.files[0] || !b.files[0] || !systemA.value.trim() || !systemB.value.trim())
      throw new Error(word("pairs.incomplete"));
    const body = {
      text: text.value.trim(),
      lyrics: lyrics.value.trim(),
      reference: await uploadSound(reference),
      a: await uploadSound(a),
      b: await uploadSound(b),
      system_a: systemA.value.trim(),
      system_b: systemB.value.trim(),
    };
    await post("/api/owner/pairs", body);
    for (const control of [text, lyrics, reference, a, b]) control.value = "";
    confirmSaved("pairs.added");
    await load();
  };
  return el(
    "details",
    {},
    el("summary", { word: "pairs.upload" }),
    el(
      "div",
      { class: "form" },
      field("text", text),
      field("lyrics", lyrics),
      field("reference", reference),
      el("div", { class: "form__pair" }, field("sound-a", a), field("system-a", systemA)),
      el("div", { class: "form__pair" }, field("sound-b", b), field("system-b", systemB)),
      el("div", { class: "row" }, actionButton("pairs.add", add, { kind: "button--main" })),
    ),
  );
}
