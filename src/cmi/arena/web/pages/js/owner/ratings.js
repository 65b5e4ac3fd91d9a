// Ratings and what annotators wrote, the newest first.
import { when } from "../clock.js";
import { el } from "../dom.js";
import { section } from "./actions.js";
import { ratingsAt } from "./figures/rated.js";
import { linked } from "./links.js";
import { number } from "./numbers.js";
import { pagedList } from "./pages.js";
import { shortened } from "./votes.js";

export async function showRatings(holder, signal, query) {
  const draw = (rows) => el("ul", { class: "ballots" }, rows.map(rating));
  const ratings = pagedList("/api/owner/ratings", "ratings", "ratings.total", draw, signal);
  const { person } = query;
  const all = person ? el("p", {}, el("a", { href: "#ratings", word: "ratings.all" })) : null;
  holder.replaceChildren(section("ratings", all, ratings.element));
  await ratings.load(person ? { person } : {});
}

function rating(one) {
  const axes = Object.keys(one.stimuli[0].answers);
  return el(
    "li",
    { "data-rating": one.id },
    el(
      "p",
      { class: "row quiet small" },
      linked(one.name ?? one.person.slice(0, 8), ratingsAt(one.person)),
      el("span", {}, when(one.created)),
      el("span", {}, `${number(one.seconds, 0)} s`),
      one.corrections > 0 && el("span", { word: ["votes.corrected", { times: one.corrections }] }),
    ),
    el("p", {}, shortened(one.text) || one.source_id),
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
