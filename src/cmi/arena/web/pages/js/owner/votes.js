// Votes and what annotators wrote: a list that numbers of the dashboard, pairs and people lead to.
import { get } from "../api.js";
import { when } from "../clock.js";
import { el } from "../dom.js";
import { section } from "./actions.js";
import { BALLOT_ORDERS, checkbox, choice, filterBar, searchField, systemChoice } from "./filters.js";
import { linked, pairAt, personAt } from "./links.js";
import { number } from "./numbers.js";
import { pagedList } from "./pages.js";
import { AXES } from "./figures/parts.js";

const KINDS = {
  "": "filter.all",
  study: "filter.study",
  gold: "kind.gold",
  repeat: "kind.repeat",
  qualification: "kind.qualification",
  "first-views": "filter.first-views",
};

export async function showVotes(holder, signal, query) {
  const systems = await get("/api/owner/systems");
  if (signal.aborted) return;
  const votes = voteList(signal);
  const controls = {
    text: searchField(query),
    system: systemChoice(systems, query.system),
    kind: choice(KINDS, query.kind),
    order: choice(BALLOT_ORDERS, query.order),
    feedback: checkbox(query, "feedback"),
    hidden: checkbox(query, "hidden"),
  };
  holder.replaceChildren(section("votes", filterBar("votes", controls, query, votes.load), votes.element));
  await votes.load(query);
}

/** {element, load(query)} of votes; what a page is about (its pair, its person) need not be said in each. */
export function voteList(signal, { pair = true, person = true } = {}) {
  const draw = (rows) =>
    el(
      "ul",
      { class: "ballots" },
      rows.map((vote) => ballot(vote, pair, person)),
    );
  return pagedList("/api/owner/votes", "votes", "votes.total", draw, signal);
}

function ballot(vote, withPair, withPerson) {
  const kind = vote.kind === "ordinary" ? null : el("span", { class: "pill", word: `kind.${vote.kind}` });
  const hidden = vote.hidden === null ? null : el("span", { class: "pill pill--look", word: "state-of.hidden" });
  const corrected = vote.corrections > 0 && el("span", { word: ["votes.corrected", { times: vote.corrections }] });
  return el(
    "li",
    { "data-vote": vote.id },
    el(
      "p",
      { class: "row quiet small" },
      withPerson ? linked(vote.name ?? vote.person.slice(0, 8), personAt(vote.person)) : null,
      el("span", {}, when(vote.created)),
      el("span", {}, `${number(vote.seconds, 0)} s`),
      corrected,
      kind,
      hidden,
    ),
    withPair ? el("p", {}, linked(shortened(vote.text) || vote.source_id, pairAt(vote.pair))) : null,
    el(
      "dl",
      { class: "answers" },
      AXES.map((axis) => answer(axis, vote)),
    ),
    vote.feedback ? el("blockquote", { class: "written" }, vote.feedback) : null,
    vote.feedback ? letters(vote) : null,
  );
}

function answer(axis, vote) {
  const { choice: side, letter, confidence, touched } = vote[axis];
  const gaps = { letter, side, system: vote[`system_${side}`] || side, confidence };
  const known = vote.gold?.[axis];
  return el(
    "div",
    {},
    el("dt", { word: `axis.${axis}` }),
    el(
      "dd",
      {},
      el("span", { word: ["votes.answer", gaps] }),
      touched === false ? el("span", { class: "quiet", word: "votes.untouched" }) : null,
      known ? el("span", { class: "quiet", word: known === side ? "votes.right" : "votes.wrong" }) : null,
    ),
  );
}

/** Which takes the letters in the feedback mean. */
function letters(vote) {
  const system = (side) => vote[`system_${side}`] || side;
  const a = vote.shown_as_a;
  const b = a === "a" ? "b" : "a";
  return el("p", { class: "quiet small", word: ["votes.letters", { a, b, first: system(a), second: system(b) }] });
}

export const shortened = (text) => (text.length > 120 ? `${text.slice(0, 119)}…` : text);
