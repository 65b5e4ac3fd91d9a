// What the votes say of one another: agreement of people, confidence, agreement of the two questions.
import { word } from "../../words.js";
import { bars, shares } from "../bars.js";
import { linked, pairsAt } from "../links.js";
import { number, percent } from "../numbers.js";
import { table } from "../table.js";
import { whiskers } from "../whiskers.js";
import { Figure } from "./figure.js";
import { axisColumn, axisName, column, interval, legend, note, nothing, numeric, percentSpan, votesColumn } from "./parts.js";

const LEVELS = [1, 2, 3, 4, 5];

export function agreementFigure(width) {
  const dot = ({ axis, alpha, alpha_low: low, alpha_high: high }) => ({
    label: axisName(axis),
    value: alpha,
    low,
    high,
    tone: axis,
  });
  return new Figure("agreement", {
    downloads: ["agreement"],
    headline: ({ agreement }) => agreement.map(({ axis, rate }) => `${axisName(axis)} ${percent(rate)}`).join(" · "),
    draw: ({ agreement }) =>
      agreement.every((row) => row.pairs === 0)
        ? nothing()
        : whiskers(agreement.map(dot), width(), word("figure.agreement"), { range: [0, 1], zero: 0 }),
    tabulate: ({ agreement }) =>
      table(
        [
          axisColumn,
          numeric("pairs", (row) => linked(row.pairs, pairsAt({ shared: true, kind: "ordinary", order: "disputed" }))),
          votesColumn(() => ({ kind: "study", shared: true })),
          numeric("vote-pairs", (row) => row.vote_pairs),
          numeric("rate", (row) => percent(row.rate, 1)),
          interval("rate_", percent),
          numeric("alpha", (row) => number(row.alpha, 3)),
          interval("alpha_"),
        ],
        agreement,
        "figure.agreement",
      ),
  });
}

export function confidenceFigure(width) {
  const bar = ({ axis, share }) => ({ value: share ?? 0, tone: axis, text: percent(share) });
  const group = (levels, level) => ({
    label: String(level),
    bars: levels.filter((row) => row.confidence === level).map(bar),
  });
  return new Figure("confidence", {
    downloads: ["confidence"],
    headline: ({ confidence: { axes } }) =>
      axes.map(({ axis, mean }) => `${axisName(axis)} ${number(mean, 1)}`).join(" · "),
    draw: ({ confidence: { axes, levels } }) => {
      if (axes[0].votes === 0) return nothing();
      const groups = LEVELS.map((level) => group(levels, level));
      const unset = axes.map(({ axis, untouched, known }) => `${axisName(axis)} ${untouched} / ${known}`);
      return [
        legend(),
        bars(groups, width(), word("figure.confidence")),
        axes[0].known > 0 && note("confidence.untouched", { counts: unset.join(" · ") }),
      ];
    },
    tabulate: ({ confidence }) =>
      table(
        [
          axisColumn,
          numeric("confidence", (row) => row.confidence),
          votesColumn(({ axis, confidence }) => ({ kind: "study", axis, confidence })),
          numeric("share", (row) => percent(row.share, 1)),
        ],
        confidence.levels,
        "figure.confidence",
      ),
  });
}

export function axesFigure(width) {
  return new Figure("axes", {
    downloads: ["axes", "axes_confidence"],
    headline: ({ axes }) => `${word("axes.same")}: ${percent(axes.rate)}`,
    draw: ({ axes }) => {
      if (axes.votes === 0) return nothing();
      const rate = `${percent(axes.rate, 1)} (${percentSpan(axes.rate_low, axes.rate_high)})`;
      const row = { label: word("axes.same"), share: axes.rate, text: `${axes.same} / ${axes.votes} · ${rate}` };
      return shares([row], width(), word("figure.axes"));
    },
    tabulate: ({ axes }) =>
      table(
        [
          column("preference", (row) => word(`axes.${row.preference}`)),
          axisColumn,
          votesColumn(({ preference }) => ({ kind: "study", same: preference === "same" })),
          numeric("mean-confidence", (row) => number(row.mean)),
        ],
        axes.confidence,
        "figure.axes",
      ),
  });
}
