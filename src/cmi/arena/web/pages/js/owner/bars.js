// Bar charts as SVG: groups of bars, one per series, side by side.
import { svg } from "../dom.js";

const HEIGHT = 190;
const FOOT = 26;
const HEAD = 22;

/**
 * groups: [{label, bars: [{value, tone, text}]}]; a bar's `text` is written on top of it.
 * `title` says what the whole shows, for those who can't see it.
 */
export function bars(groups, width, title) {
  const most = Math.max(...groups.flatMap((group) => group.bars.map((bar) => bar.value)), 1e-9);
  const step = width / groups.length;
  const inner = HEIGHT - FOOT - HEAD;
  const drawn = groups.flatMap((group, index) => {
    const wide = Math.min(44, (step * 0.72) / group.bars.length);
    const left = index * step + (step - wide * group.bars.length) / 2;
    return [
      ...group.bars.flatMap((bar, place) => {
        const tall = inner * (bar.value / most);
        const x = left + place * wide;
        return [
          svg("rect", {
            class: `bar tone-${bar.tone}`,
            x: x + 2,
            y: HEAD + inner - tall,
            width: Math.max(1, wide - 4),
            height: tall,
            rx: 3,
          }),
          wide < 22
            ? null
            : svg(
                "text",
                { class: "faint", x: x + wide / 2, y: HEAD + inner - tall - 6, "text-anchor": "middle" },
                bar.text,
              ),
        ];
      }),
      svg("text", { x: index * step + step / 2, y: HEIGHT - 6, "text-anchor": "middle" }, group.label),
    ];
  });
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": title },
    svg("line", { class: "grid", x1: 0, x2: width, y1: HEAD + inner, y2: HEAD + inner }),
    drawn.filter(Boolean),
  );
}

/** Horizontal bars of shares: [{label, share, text}]. */
export function shares(rows, width, title) {
  const line = 44;
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${rows.length * line}`, role: "img", "aria-label": title },
    rows.flatMap(({ label, share, text }, index) => {
      const y = index * line;
      return [
        svg("text", { x: 0, y: y + 16 }, label),
        svg("text", { class: "faint", x: width, y: y + 16, "text-anchor": "end" }, text),
        svg("rect", { class: "track", x: 0, y: y + 24, width, height: 8, rx: 4 }),
        svg("rect", {
          class: "bar tone-alignment",
          x: 0,
          y: y + 24,
          width: width * Math.min(1, share ?? 0),
          height: 8,
          rx: 4,
        }),
      ];
    }),
  );
}
