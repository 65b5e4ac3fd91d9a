// The trials of the study: a list to search, filter and sort.
import { get } from "../api.js";
import { when } from "../clock.js";
import { el } from "../dom.js";
import { section } from "./actions.js";
import { checkbox, choice, filterBar, searchField, systemChoice } from "./filters.js";
import { statePills } from "./item.js";
import { linked, ratingsAt, trialAt } from "./links.js";
import { DASH } from "./numbers.js";
import { pagedList } from "./pages.js";
import { table } from "./table.js";
import { shortened } from "./votes.js";

const STATES = {
  "": "filter.all",
  untouched: "filter.unrated",
  rated: "filter.rated",
  broken: "filter.broken",
  hidden: "state-of.hidden",
  shown: "filter.shown",
};
const ORDERS = {
  "": "order.position",
  "most-ratings": "order.most-ratings",
  "fewest-ratings": "order.fewest-ratings",
  latest: "order.latest-rating",
};

export async function showTrials(holder, signal, query) {
  const systems = await get("/api/owner/systems");
  if (signal.aborted) return;
  const list = pagedList("/api/owner/trials", "trials", "trials.total", trialsTable, signal);
  const controls = {
    text: searchField(query),
    state: choice(STATES, query.state),
    system: systemChoice(systems, query.system),
    order: choice(ORDERS, query.order),
    feedback: checkbox(query, "feedback"),
  };
  holder.replaceChildren(section("trials", filterBar("trials", controls, query, list.load), list.element));
  await list.load(query);
}

const ratingsOf = (trial, more = {}) =>
  ratingsAt({ trial: trial.id, hidden: trial.hidden === null ? "" : true, ...more });

function trialsTable(trials) {
  return table(
    [
      {
        word: "column.text",
        value: (trial) => linked(shortened(trial.text) || trial.source_id, trialAt(trial.id)),
        class: "long",
      },
      { word: "column.systems", value: (trial) => trial.systems.join(" · ") },
      { word: "column.ratings", value: (trial) => linked(trial.ratings, ratingsOf(trial)), number: true },
      {
        word: "column.feedback",
        value: (trial) => (trial.feedback ? linked(trial.feedback, ratingsOf(trial, { feedback: true })) : DASH),
        number: true,
      },
      { word: "column.latest-rating", value: (trial) => (trial.latest === null ? DASH : when(trial.latest)) },
      { word: "column.state", value: (trial) => el("div", { class: "row" }, statePills(trial)) },
    ],
    trials,
    "section.trials",
  );
}
