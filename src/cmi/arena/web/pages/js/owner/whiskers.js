// Dot-and-whisker charts as SVG: an estimate and its interval per row, on one scale.
import { svg } from "../dom.js";
import { DASH, number } from "./numbers.js";

const LINE = 34;
const FOOT = 26;
const NARROW = 420; // pixels below which numbers under the axis would touch

/**
 * rows: [{label, value, low, high, tone}]; rows of the same label follow one another and share it.
 * range: [from, to] that must be seen at least; zero: where nothing differs from nothing.
 */
export function whiskers(rows, width, title, { range, zero = null, digits = 2 }) {
  const seen = rows
    .flatMap(({ value, low, high }) => [value, low, high])
    .filter((one) => one !== null && one !== undefined);
  const ticks = ticksOver(Math.min(range[0], ...seen), Math.max(range[1], ...seen), width < NARROW ? 3 : 5);
  const [from, to] = [ticks[0], ticks.at(-1)];
  const labels = Math.min(190, width * 0.36);
  const numbers = 52;
  const x = (value) => labels + ((width - labels - numbers) * (value - from)) / (to - from);
  const bottom = rows.length * LINE;
  const grid = ticks.flatMap((tick) => [
    svg("line", { class: tick === zero ? "zero" : "grid", x1: x(tick), x2: x(tick), y1: 0, y2: bottom }),
    svg("text", { class: "faint", x: x(tick), y: bottom + 18, "text-anchor": "middle" }, String(tick)),
  ]);
  const drawn = rows.flatMap((row, index) => {
    const y = index * LINE + LINE / 2;
    const label =
      rows[index - 1]?.label === row.label ? null : svg("text", { x: 0, y: y + 4 }, shortened(row.label, labels));
    const value = svg(
      "text",
      { class: "faint", x: width, y: y + 4, "text-anchor": "end" },
      row.value === null ? DASH : number(row.value, digits),
    );
    if (row.value === null) return [label, value];
    return [
      label,
      value,
      row.low === null
        ? null
        : svg("line", { class: `whisker tone-${row.tone}`, x1: x(row.low), x2: x(row.high), y1: y, y2: y }),
      svg("circle", { class: `tone-${row.tone}`, cx: x(row.value), cy: y, r: 5 }),
    ];
  });
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${bottom + FOOT}`, role: "img", "aria-label": title },
    grid,
    drawn.filter(Boolean),
  );
}

/** Round numbers, a few of them, from at or below `low` to at or above `high`. */
function ticksOver(low, high, few) {
  const rough = (high - low || 1) / few;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toFixed(6)));
}

function shortened(label, width) {
  const most = Math.floor(width / 7.5);
  return label.length > most ? `${label.slice(0, most - 1)}…` : label;
}
