// One row per annotator: what speaks for and against their votes. Nobody is left out of anything by it.
import { el } from "../../dom.js";
import { word } from "../../words.js";
import { linked, personAt, votesAt } from "../links.js";
import { DASH, number, percent } from "../numbers.js";
import { table } from "../table.js";
import { Figure } from "./figure.js";
import { AXES, axisName, column, numeric, verdictCounts, votesColumn } from "./parts.js";

export const PILLS = { ok: "pill--ok", look: "pill--look", "can't tell yet": "" };
export const VERDICTS = { ok: "ok", look: "look", "can't tell yet": "cant-tell" };

export function screeningFigure() {
  return new Figure("screening", {
    downloads: ["screening", "time_people"],
    headline: ({ screening: { people } }) => verdictCounts(people, VERDICTS),
    tabulate: ({ screening }) => screeningTable(screening.people),
  });
}

export function screeningTable(rows, { names = true } = {}) {
  const person = column("person", (row) => linked(row.name ?? row.person.slice(0, 8), personAt(row.person)));
  return table(
    [
      ...(names ? [{ ...person, class: "name" }] : []),
      { ...column("verdict", verdict), class: "long" },
      votesColumn((row) => ({ person: row.person })),
      numeric("gold", both("gold", { kind: "gold", known: true })),
      numeric("repeats", both("consistency", { kind: "repeat" })),
      numeric("others", both("others", { kind: "study", decided: true })),
      numeric("first", both("first", { kind: "first-views" })),
      numeric("seconds", (row) =>
        linked(number(row.median_seconds, 0), votesAt({ person: row.person, order: "fastest" })),
      ),
      numeric("extremes", (row) => percent(row.confidence_extremes)),
    ],
    rows,
    "figure.screening",
  );
}

function reason({ code, axis, ...gaps }) {
  const sentence = word(`reason.${code}`, gaps);
  return axis ? `${axisName(axis)}: ${sentence}` : sentence;
}

function verdict(row) {
  return el(
    "div",
    {},
    el("span", { class: `pill ${PILLS[row.verdict]}`, word: `verdict.${VERDICTS[row.verdict]}` }),
    row.reason_parts.length > 0 ? el("p", { class: "quiet small" }, row.reason_parts.map(reason).join("; ")) : null,
  );
}

/** Alignment, and musicality below it, each with its n, which lead to the votes. */
function both(what, query) {
  return (row) => {
    const cells = AXES.map((axis) => {
      const n = row[`${axis}_${what}_n`];
      const shown = n ? `${percent(row[`${axis}_${what}`])} (${n})` : DASH;
      return n ? linked(shown, votesAt({ person: row.person, axis, ...query })) : shown;
    });
    return el("span", {}, cells[0], "\n", cells[1]);
  };
}
