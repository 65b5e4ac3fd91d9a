// The dashboard: asks for the statistics every few seconds and draws what has changed.
import { get, post } from "../api.js";
import { el } from "../dom.js";
import { unwarn, warn } from "../live.js";
import { language, say } from "../words.js";
import { actionButton } from "./actions.js";
import { neededFigure } from "./figures/needed.js";
import { daysFigure, progressFigure } from "./figures/progress.js";
import { postScreeningFigure, ratedFigure, ratersFigure } from "./figures/rated.js";
import { screeningFigure } from "./figures/screening.js";
import { covariatesFigure, rankingFigure, winRatesFigure } from "./figures/systems.js";
import { agreementFigure, axesFigure, confidenceFigure } from "./figures/votes.js";
import { linked, pairsAt, ratingsAt, trialsAt, votesAt } from "./links.js";
import { number, percent, span } from "./numbers.js";

const POLL_MS = 5000;
const WIDEST = 820;
const NAMED = 5; // files that the banner names
const RATED_FIGURES = {
  mos: [ratedFigure, ratersFigure, daysFigure],
  mushra: [ratedFigure, postScreeningFigure, daysFigure],
  ranking: [ratedFigure, ratersFigure, daysFigure],
};
const FIGURES = [
  rankingFigure,
  neededFigure,
  progressFigure,
  screeningFigure,
  agreementFigure,
  winRatesFigure,
  covariatesFigure,
  confidenceFigure,
  axesFigure,
  daysFigure,
];

/** Shows the dashboard of a project of this `kind` in `holder` until `signal` is aborted. */
export async function showOverview(holder, signal, canChange, kind) {
  const width = () => Math.max(260, Math.min(WIDEST, holder.clientWidth - 50));
  const figures = (RATED_FIGURES[kind] ?? FIGURES).map((figure) => figure(width));
  const tiles = el("dl", { class: "tiles" });
  const updated = el("p", { class: "quiet small", "data-updated": "" });
  const drawings = el(
    "div",
    { class: "figures" },
    figures.map(({ element }) => element),
  );
  holder.replaceChildren(tiles, drawings, updated);
  let report = null;
  const draw = () => {
    if (report === null) return;
    tiles.replaceChildren(...(kind === "pairs" ? makeTiles(report) : makeRatedTiles(report)));
    const key = `${JSON.stringify(report)} ${width()} ${language()}`;
    for (const figure of figures) figure.update(report, key);
  };
  const resized = new ResizeObserver(draw);
  resized.observe(holder);
  signal.addEventListener("abort", () => resized.disconnect());
  document.addEventListener("wordschange", draw, { signal });
  while (!signal.aborted) {
    if (!document.hidden || report === null) {
      try {
        showProblems(await get("/api/owner/sounds/problems"), canChange);
        report = await get("/api/owner/statistics");
        unwarn("statistics");
        if (signal.aborted) return;
        draw();
        say(updated, "overview.updated", { time: new Date().toLocaleTimeString(language()) });
      } catch (error) {
        warn("statistics", "caution", "overview.stale", { message: error.message });
      }
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Recordings whose files are missing or were changed. */
function showProblems(problems, canChange) {
  if (problems.length === 0) {
    unwarn("sounds");
    return;
  }
  const names = problems.slice(0, NAMED).map(({ file }) => file);
  const files = names.join(", ") + (problems.length > NAMED ? ", …" : "");
  const check = async () => showProblems(await post("/api/owner/sounds/check"), canChange);
  const actions = canChange ? [actionButton("sounds.check", check)] : [];
  warn("sounds", "alarm", "sounds.problems", { count: problems.length, files }, ...actions);
}

function makeTiles({ progress, time, agreement }) {
  const voting = progress.people.filter((person) => person.votes > 0).length;
  return [
    tile("votes", percent(progress.share), votesAt({ kind: "study" }), [
      "tile.votes.more",
      { done: progress.done, wanted: progress.wanted },
    ]),
    tile("pairs", String(progress.pairs_done), pairsAt({ state: "done" }), [
      "tile.pairs.more",
      { pairs: progress.pairs },
    ]),
    tile("people", String(voting), "#people", ["tile.people.more", { people: progress.people.length }]),
    tile("time", time.median === null ? "–" : `${number(time.median, 0)} s`, votesAt({ order: "slowest" }), [
      "tile.time.more",
      { span: span(time.lower_quartile, time.upper_quartile, (value) => number(value, 0)) },
    ]),
    tile(
      "agreement",
      agreement.map(({ rate }) => number(rate === null ? null : 100 * rate, 0)).join(" · ") + " %",
      pairsAt({ kind: "ordinary", shared: true, order: "disputed" }),
      ["tile.agreement.more", { pairs: agreement[0].pairs }],
    ),
  ];
}

function makeRatedTiles({ progress }) {
  const rating = progress.people.filter((person) => person.votes > 0).length;
  const seconds = progress.median_seconds;
  return [
    tile("ratings", String(progress.ratings), ratingsAt(), ["tile.ratings.more"]),
    tile("trials", String(progress.trials_rated), trialsAt({ state: "rated" }), ["tile.trials.more", { trials: progress.trials }]),
    tile("people", String(rating), "#people", ["tile.people.more", { people: progress.people.length }]),
    tile("time", seconds === null ? "–" : `${number(seconds, 0)} s`, ratingsAt({ order: "slowest" }), ["tile.seconds.more"]),
  ];
}

/** A number that leads to what it was counted from. */
function tile(name, value, href, more) {
  return el(
    "div",
    { class: "card tile" },
    el("dt", { word: `tile.${name}` }),
    el("dd", {}, linked(value, href)),
    el("dd", { word: more }),
  );
}
