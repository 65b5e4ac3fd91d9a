// What several figures share: columns of their tables, the legend of the two axes, and the word for nothing.
import { el } from "../../dom.js";
import { word } from "../../words.js";
import { linked, votesAt } from "../links.js";
import { number, percent, span } from "../numbers.js";

export const AXES = ["alignment", "musicality"];

export const column = (name, value) => ({ word: `column.${name}`, value });
export const numeric = (name, value) => ({ ...column(name, value), number: true });

export const axisName = (axis) => word(`axis.${axis}`);
export const axisColumn = column("axis", (row) => axisName(row.axis));

/** The votes of a row, which lead to them: `query(row)` finds them. */
export const votesColumn = (query) => numeric("votes", (row) => linked(row.votes, votesAt(query(row))));

/** The 95 % interval of row[`${start}low`] and row[`${start}high`]. */
export const interval = (start, write = number) =>
  numeric("interval", (row) => span(row[`${start}low`], row[`${start}high`], write));

/** How many people have each of the verdicts {verdict: word}. */
export const verdictCounts = (people, verdicts) =>
  Object.keys(verdicts)
    .map((verdict) => [verdict, people.filter((row) => row.verdict === verdict).length])
    .filter(([, count]) => count > 0)
    .map(([verdict, count]) => `${word(`verdict.${verdicts[verdict]}`)}: ${count}`)
    .join(" · ");

export const percentSpan = (low, high) => span(low, high, percent);

export const legend = () =>
  el(
    "ul",
    { class: "legend" },
    AXES.map((axis) => el("li", { "data-axis": axis, word: `axis.${axis}` })),
  );

export const nothing = () => el("p", { class: "quiet", word: "figure.nothing" });
export const note = (key, gaps) => el("p", { class: "quiet small", word: [key, gaps] });
