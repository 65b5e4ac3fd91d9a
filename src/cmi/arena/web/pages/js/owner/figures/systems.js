// What the votes say of the systems that made the takes, and of what else wins votes.
import { word } from "../../words.js";
import { linked, votesAt } from "../links.js";
import { number, percent } from "../numbers.js";
import { table } from "../table.js";
import { whiskers } from "../whiskers.js";
import { Figure } from "./figure.js";
import { axisColumn, axisName, column, interval, legend, note, nothing, numeric, votesColumn } from "./parts.js";

const SHOWN = 8; // systems in the drawing; the table has all
const systemColumn = column("system", (row) => row.system);

/** The votes that the ranking counts for a system. */
const ofSystem = ({ system, against }) => ({ kind: "study", system, against });

/** The systems of rank 1 on each axis. */
function best(systems) {
  const first = systems.filter((row) => row.rank === 1).map((row) => `${axisName(row.axis)}: ${row.system}`);
  return first.slice(0, 2).join(" · ");
}

/** Rows of equal `name` next to one another, in the order in which the names first come. */
function together(rows, name) {
  const names = [...new Set(rows.map((row) => row[name]))];
  return names.flatMap((one) => rows.filter((row) => row[name] === one));
}

export function rankingFigure(width) {
  const dot = ({ axis, system, strength, low, high }) => ({ label: system, value: strength, low, high, tone: axis });
  const leftOut = ({ left_out: systems, minimum_votes: minimum }) =>
    note("ranking.left-out", { minimum, systems: systems.map((one) => `${one.system} (${one.votes})`).join(", ") });
  const apart = ({ groups }) => note("ranking.groups", { groups: groups.map((group) => group.join(", ")).join(" | ") });
  return new Figure("ranking", {
    downloads: ["ranking", "ranking_adjusted"],
    open: true,
    headline: ({ ranking: { systems } }) => best(systems),
    draw: ({ ranking }) => {
      const scale = { range: [-0.5, 0.5], zero: 0 };
      const systems = together(ranking.systems, "system");
      const names = [...new Set(systems.map((row) => row.system))];
      const dots = systems.filter((row) => names.indexOf(row.system) < SHOWN).map(dot);
      return [
        dots.length > 0 && legend(),
        dots.length > 0 && whiskers(dots, width(), word("figure.ranking"), scale),
        names.length > SHOWN && note("ranking.more", { shown: SHOWN, all: names.length }),
        ranking.left_out.length > 0 && leftOut(ranking),
        ranking.groups.length > 1 && apart(ranking),
        dots.length === 0 && ranking.left_out.length === 0 && nothing(),
      ];
    },
    tabulate: ({ ranking }) =>
      table(
        [
          axisColumn,
          systemColumn,
          numeric("rank", (row) => `${row.rank} (${row.best}–${row.worst})`),
          votesColumn((row) => ({ ...ofSystem(row), without: ranking.left_out.map((one) => one.system) })),
          numeric("strength", (row) => number(row.strength)),
          interval(""),
          numeric("beats-average", (row) => percent(row.beats_average)),
          numeric("davidson", (row) => number(row.davidson)),
          interval("davidson_"),
        ],
        ranking.systems,
        "figure.ranking",
      ),
  });
}

export function winRatesFigure(width) {
  const dot = ({ axis, system, rate, low, high }) => ({ label: system, value: rate, low, high, tone: axis });
  return new Figure("win-rates", {
    downloads: ["win_rates_systems", "win_rates"],
    headline: ({ win_rates: { systems } }) => {
      const highest = systems.toSorted((one, other) => other.rate - one.rate)[0];
      return highest ? `${highest.system}: ${percent(highest.rate)}` : "";
    },
    draw: ({ win_rates: { systems } }) => {
      if (systems.length === 0) return nothing();
      const dots = together(systems, "system").map(dot);
      return [legend(), whiskers(dots, width(), word("figure.win-rates"), { range: [0, 1], zero: 0.5 })];
    },
    tabulate: ({ win_rates: { systems, matrix } }) =>
      table(
        [
          axisColumn,
          systemColumn,
          column("against", (row) => row.against ?? word("column.all-others")),
          votesColumn(ofSystem),
          numeric("wins", (row) => linked(row.wins, votesAt({ ...ofSystem(row), axis: row.axis, won: true }))),
          numeric("rate-won", (row) => percent(row.rate)),
          interval("", percent),
        ],
        [...systems, ...matrix],
        "figure.win-rates",
      ),
  });
}

export function covariatesFigure(width) {
  const name = ({ covariate }) => word(`covariate.${covariate}`);
  const dot = (row) => ({
    label: name(row),
    value: row.effect,
    low: row.effect_low,
    high: row.effect_high,
    tone: row.axis,
  });
  return new Figure("covariates", {
    downloads: ["covariates"],
    headline: ({ covariates: { effects } }) => {
      const clear = effects.filter((row) => row.effect_low > 0 || row.effect_high < 0);
      return [...new Set(clear.map(name))].join(", ") || word("covariates.none");
    },
    draw: ({ covariates: { effects } }) => {
      if (effects.every((row) => row.effect === null)) return nothing();
      const dots = together(effects, "covariate").map(dot);
      return [legend(), whiskers(dots, width(), word("figure.covariates"), { range: [-0.5, 0.5], zero: 0 })];
    },
    tabulate: ({ covariates, progress }) =>
      table(
        [
          axisColumn,
          column("covariate", name),
          numeric("votes", ({ votes }) =>
            votes === progress.study_votes ? linked(votes, votesAt({ kind: "study" })) : votes,
          ),
          numeric("share-won", (row) => percent(row.share, 1)),
          interval("share_", percent),
          numeric("effect", (row) => number(row.effect, 3)),
          interval("effect_"),
          column("note", (row) => row.note),
        ],
        covariates.effects,
        "figure.covariates",
      ),
  });
}
