// One row per annotator: what speaks for and against their votes. Nobody is left out of anything by it.
import { el } from "../../dom.js";
import { word } from "../../words.js";
import { DASH, number, percent } from "../numbers.js";
import { table } from "../table.js";
import { Figure } from "./figure.js";
import { AXES, column, numeric, votesColumn } from "./parts.js";

const PILLS = { ok: "pill--ok", look: "pill--look", "too few votes": "" };
const VERDICTS = { ok: "ok", look: "look", "too few votes": "too-few" };

export function screeningFigure() {
  return new Figure("screening", {
    downloads: ["screening", "time_people"],
    tabulate: ({ screening }) =>
      table(
        [
          { ...column("person", (row) => row.name ?? row.person.slice(0, 8)), class: "name" },
          { ...column("verdict", verdict), class: "long" },
          votesColumn,
          numeric("gold", both("gold")),
          numeric("repeats", both("consistency")),
          numeric("others", both("others")),
          numeric("first", both("first")),
          numeric("seconds", (row) => number(row.median_seconds, 0)),
          numeric("extremes", (row) => percent(row.confidence_extremes)),
        ],
        screening.people,
        "figure.screening",
      ),
  });
}

function verdict(row) {
  return el(
    "div",
    {},
    el("span", { class: `pill ${PILLS[row.verdict]}` }, word(`verdict.${VERDICTS[row.verdict]}`)),
    row.reasons.length > 0 ? el("p", { class: "quiet small" }, row.reasons.join("; ")) : null,
  );
}

/** Alignment, and musicality below it, each with its n. */
function both(what) {
  return (row) =>
    AXES.map((axis) => {
      const n = row[`${axis}_${what}_n`];
      return n ? `${percent(row[`${axis}_${what}`])} (${n})` : DASH;
    }).join("\n");
}
