// How many votes the study still needs for the precision that its owner wants.
import { el } from "../../dom.js";
import { word } from "../../words.js";
import { number } from "../numbers.js";
import { table } from "../table.js";
import { Figure } from "./figure.js";
import { axisColumn, axisName, column, note, nothing, numeric } from "./parts.js";

const still = (safe, votes) => (safe === null ? word("needed.unknown") : Math.max(0, safe - votes));
const counts = [
  numeric("votes", (row) => row.votes),
  numeric("needed", (row) => row.needed ?? word("needed.unknown")),
  numeric("safe", (row) => row.safe ?? word("needed.unknown")),
  numeric("still", (row) => still(row.safe, row.votes)),
];

export function neededFigure() {
  const gaps = ({ margin, log_odds: logOdds }) => ({ margin: number(100 * margin, 1), strength: number(logOdds) });
  const line = ({ axis, votes, scores_safe: scores, neighbours_safe: neighbours }) =>
    el("li", {
      word: [
        "needed.line",
        { axis: () => axisName(axis), votes, scores: () => still(scores, votes), order: () => still(neighbours, votes) },
      ],
    });
  return new Figure("needed", {
    downloads: ["needed", "needed_pairs", "needed_neighbours"],
    headline: ({ needed: { axes } }) =>
      axes.map((row) => `${axisName(row.axis)}: ${still(row.scores_safe, row.votes)}`).join(" · "),
    draw: ({ needed }) =>
      needed.axes.length === 0 ? nothing() : [note("needed.margin", gaps(needed)), el("ul", {}, needed.axes.map(line))],
    tabulate: ({ needed }) =>
      el(
        "div",
        { class: "stack" },
        table([axisColumn, column("system", (row) => row.system), ...counts], needed.scores, "needed.scores"),
        table(
          [
            axisColumn,
            column("system", (row) => row.system),
            column("next", (row) => row.next),
            column("state", (row) => word(`needed.state.${row.state}`)),
            ...counts,
          ],
          needed.neighbours,
          "needed.neighbours",
        ),
        table(
          [axisColumn, column("system", (row) => row.system), column("against", (row) => row.against), ...counts],
          needed.pairs,
          "needed.pairs",
        ),
      ),
  });
}
