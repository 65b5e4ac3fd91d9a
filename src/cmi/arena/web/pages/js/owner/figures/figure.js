// The frame of one statistic: title, what it means, the drawing, the same as a table, and the data to download.
//
// It is built once; `update` replaces what depends on the numbers, so that a reader's place, focus and open tables
// survive the next poll.
import { el } from "../../dom.js";

export class Figure {
  #drawing = el("div", { class: "stack" });
  #rows = el("div", {});
  #drawn = null;

  /** `name`: of its words (figure.NAME, figure.NAME.hint); `downloads`: charts of the server; `draw(report)`: elements;
   *  `tabulate(report)`: a table, shown under the drawing on demand, or at once where `draw` is null. */
  constructor(name, { downloads, draw = null, tabulate }) {
    this.draw = draw;
    this.tabulate = tabulate;
    this.element = el(
      "section",
      { class: "card figure", "aria-labelledby": `figure-${name}`, "data-figure": name },
      el(
        "div",
        { class: "figure__head" },
        el("h2", { id: `figure-${name}`, word: `figure.${name}` }),
        el("p", { class: "quiet small", word: `figure.${name}.hint` }),
      ),
      this.#drawing,
      draw ? el("details", {}, el("summary", { word: "figure.table" }), this.#rows) : this.#rows,
      el(
        "div",
        { class: "downloads" },
        downloads.map((chart) => downloadLinks(chart)),
      ),
    );
  }

  /** Draws again if `report`, the width or the language has changed anything. */
  update(report, key) {
    if (this.#drawn === key) return;
    this.#drawn = key;
    if (this.draw) this.#drawing.replaceChildren(...[this.draw(report)].flat().filter(Boolean));
    this.#rows.replaceChildren(this.tabulate(report));
  }
}

function downloadLinks(chart) {
  const link = (kind) =>
    el(
      "a",
      { href: `/api/owner/charts/${chart}.${kind}`, download: `${chart}.${kind}` },
      el("span", {}, kind.toUpperCase()),
      el("span", { class: "unseen" }, ` ${chart}`),
    );
  return el("span", { class: "row" }, el("span", { word: `chart.${chart}` }), link("csv"), link("json"));
}
