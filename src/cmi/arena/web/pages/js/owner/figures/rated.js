// What ratings (MOS, MUSHRA, ranking) say of the systems, who fails MUSHRA's post-screening, and who rates as the others.
import { el } from "../../dom.js";
import { word } from "../../words.js";
import { linked, ratingsAt } from "../links.js";
import { DASH, number, percent } from "../numbers.js";
import { table } from "../table.js";
import { whiskers } from "../whiskers.js";
import { Figure } from "./figure.js";
import { AXES, axisColumn, axisName, column, interval, legend, nothing, numeric, verdictCounts } from "./parts.js";
import { PILLS, VERDICTS } from "./screening.js";

const RANGES = { mos: [1, 5], mushra: [0, 100], ranking: [0, 1] };
const DIGITS = { mos: 2, mushra: 1, ranking: 2 };
const POST_VERDICTS = { passes: "passes", fails: "fails", "can't tell yet": "cant-tell" };

const personColumn = {
  ...column("person", (row) => linked(row.name ?? row.person.slice(0, 8), ratingsAt({ person: row.person }))),
  class: "name",
};

export function ratedFigure(width) {
  const dot = ({ axis, system, mean, low, high }) => ({ label: system, value: mean, low, high, tone: axis });
  return new Figure("rated", {
    downloads: ["rated_systems"],
    open: true,
    headline: ({ systems }) => {
      const best = systems.filter((row, index) => row.role === "take" && systems.findIndex((one) => one.axis === row.axis && one.role === "take") === index);
      return best.map((row) => `${axisName(row.axis)}: ${row.system}`).join(" · ");
    },
    draw: ({ kind, systems }) => {
      if (systems.length === 0) return nothing();
      const names = [...new Set(systems.map((row) => row.system))];
      const rows = names.flatMap((name) => systems.filter((row) => row.system === name)).map(dot);
      return [legend(), whiskers(rows, width(), word("figure.rated"), { range: RANGES[kind], digits: DIGITS[kind] })];
    },
    tabulate: ({ kind, systems }) => {
      const write = (value) => number(value, DIGITS[kind]);
      return table(
        [
          axisColumn,
          column("system", (row) => row.system),
          numeric("ratings", (row) => row.ratings),
          numeric("people", (row) => row.people),
          numeric("trials", (row) => row.trials),
          numeric("mean", (row) => write(row.mean)),
          interval("", write),
          { ...interval("null_", write), word: "column.null" },
          numeric("p", (row) => number(row.p, 3)),
        ],
        systems,
        "figure.rated",
      );
    },
  });
}

export function postScreeningFigure() {
  return new Figure("post-screening", {
    downloads: ["rated_screening"],
    headline: ({ screening: { people } }) => verdictCounts(people, POST_VERDICTS),
    tabulate: ({ screening }) =>
      table(
        [
          personColumn,
          column("verdict", (row) => (row.verdict ? word(`verdict.${POST_VERDICTS[row.verdict]}`) : DASH)),
          numeric("pages", (row) => row.pages),
          numeric("missed", (row) => row.missed),
          numeric("share", (row) => percent(row.share)),
        ],
        screening.people,
        "figure.post-screening",
      ),
  });
}

/** MOS and ranking: whether people rate as the others do. */
export function ratersFigure() {
  const others = (row) =>
    AXES.map((axis) => [row[`${axis}_others`], row[`${axis}_others_n`]])
      .map(([share, n]) => (n ? `${percent(share)} (${n})` : DASH))
      .join("\n");
  return new Figure("raters", {
    downloads: ["rated_screening"],
    headline: ({ screening: { people } }) => verdictCounts(people, VERDICTS),
    tabulate: ({ screening }) =>
      table(
        [
          personColumn,
          column("verdict", ({ verdict }) =>
            el("span", { class: `pill ${PILLS[verdict]}`, word: `verdict.${VERDICTS[verdict]}` }),
          ),
          numeric("ratings", (row) => linked(row.votes, ratingsAt({ person: row.person }))),
          numeric("others", others),
        ],
        screening.people,
        "figure.raters",
      ),
  });
}
