// How far the study is.
import { el } from "../../dom.js";
import { word } from "../../words.js";
import { bars, shares } from "../bars.js";
import { linked, pairsAt, votesAt } from "../links.js";
import { percent } from "../numbers.js";
import { table } from "../table.js";
import { Figure } from "./figure.js";
import { column, note, nothing, numeric, votesColumn } from "./parts.js";

const DAYS_SHOWN = 14;

export function progressFigure(width) {
  return new Figure("progress", {
    downloads: ["progress_modalities", "progress_people"],
    headline: ({ progress }) => `${progress.done} / ${progress.wanted} · ${percent(progress.share)}`,
    draw: ({ progress }) => {
      const rows = progress.modalities.map(({ modality, share, done, wanted }) => ({
        label: modality,
        share,
        text: `${done} / ${wanted}`,
      }));
      const { reached, target, pairs_with_two_votes: pairs } = progress.overlap;
      return [
        shares(rows, width(), word("figure.progress")),
        el("p", { word: ["overlap.line", { reached: percent(reached), target: percent(target), pairs }] }),
        note("progress.extra", { gold: progress.gold_votes, repeats: progress.repeat_votes }),
      ];
    },
    tabulate: ({ progress }) =>
      table(
        [
          column("modality", (row) => row.modality),
          numeric("done", (row) => linked(row.done, votesAt({ kind: "study", modality: row.modality }))),
          numeric("wanted", (row) => row.wanted),
          numeric("share", (row) => percent(row.share)),
          numeric("pairs-done", (row) =>
            linked(`${row.pairs_done} / ${row.pairs}`, pairsAt({ state: "done", modality: row.modality })),
          ),
        ],
        progress.modalities,
        "figure.progress",
      ),
  });
}

export function daysFigure(width) {
  const group = ({ day, votes }) => ({
    label: day.slice("2026-".length),
    bars: [{ value: votes, tone: "alignment", text: votes }],
  });
  return new Figure("days", {
    downloads: ["progress_days"],
    headline: ({ progress: { days } }) => (days.length === 0 ? "" : `${days.at(-1).day}: ${days.at(-1).votes}`),
    draw: ({ progress: { days } }) =>
      days.length === 0 ? nothing() : bars(days.slice(-DAYS_SHOWN).map(group), width(), word("figure.days")),
    tabulate: ({ progress }) => table([column("day", (row) => row.day), votesColumn(({ day }) => ({ day }))], progress.days, "figure.days"),
  });
}
