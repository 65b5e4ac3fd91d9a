// Ratings and what annotators wrote: a list that numbers of the dashboard, trials and people lead to.
import { get } from "../api.js";
import { when } from "../clock.js";
import { el } from "../dom.js";
import { section } from "./actions.js";
import { BALLOT_ORDERS, checkbox, choice, filterBar, searchField, systemChoice } from "./filters.js";
import { pill } from "./item.js";
import { linked, ratingsAt, trialAt } from "./links.js";
import { number } from "./numbers.js";
import { pagedList } from "./pages.js";
import { shortened } from "./votes.js";

export async function showRatings(holder, signal, query) {
  const systems = await get("/api/owner/systems");
  if (signal.aborted) return;
  const ratings = ratingList(signal);
  const controls = {
    text: searchField(query),
    system: systemChoice(systems, query.system),
    order: choice(BALLOT_ORDERS, query.order),
    feedback: checkbox(query, "feedback"),
    hidden: checkbox(query, "hidden"),
  };
  holder.replaceChildren(section("ratings", filterBar("ratings", controls, query, ratings.load), ratings.element));
  await ratings.load(query);
}

/** {element, load(query)} of ratings; the page of a trial need not say in each which it is. */
export function ratingList(signal, { trial = true } = {}) {
  const draw = (rows) => el("ul", { class: "ballots" }, rows.map((one) => rating(one, trial)));
  return pagedList("/api/owner/ratings", "ratings", "ratings.total", draw, signal);
}

function rating(one, withTrial) {
  const axes = Object.keys(one.stimuli[0].answers);
  return el(
    "li",
    { "data-rating": one.id },
    el(
      "p",
      { class: "row quiet small" },
      linked(one.name ?? one.person.slice(0, 8), ratingsAt({ person: one.person })),
      el("span", {}, when(one.created)),
      el("span", {}, `${number(one.seconds, 0)} s`),
      one.corrections > 0 && el("span", { word: ["votes.corrected", { times: one.corrections }] }),
      one.hidden === null ? null : pill("state-of.hidden", "pill--look"),
    ),
    withTrial ? el("p", {}, linked(shortened(one.text) || one.source_id, trialAt(one.trial))) : null,
    el(
      "dl",
      { class: "answers" },
      axes.map((axis) =>
        el(
          "div",
          {},
          el("dt", { word: `axis.${axis}` }),
          el("dd", {}, one.stimuli.map((part) => `${part.place} ${part.system}: ${part.answers[axis]}`).join(" · ")),
        ),
      ),
    ),
    one.feedback ? el("blockquote", { class: "written" }, one.feedback) : null,
  );
}
