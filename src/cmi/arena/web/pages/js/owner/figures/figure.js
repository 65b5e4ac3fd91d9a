// The frame of one statistic: title and headline; opened, what it means, the drawing, the same as a table, and the data.
//
// It is built once; `update` replaces what depends on the numbers, so that a reader's place, focus and open parts
// survive the next poll. What is closed is drawn when it is opened.
import { el } from "../../dom.js";

export class Figure {
  #headline = el("span", { class: "figure__line" });
  #drawing = el("div", { class: "stack" });
  #rows = el("div", {});
  #drawn = null;
  #latest = null;

  /** `name`: of its words (figure.NAME, figure.NAME.hint); `open`: from the start; `headline(report)`: its result in a
   *  line; `downloads`: charts of the server; `draw(report)`: elements; `tabulate(report)`: a table, shown under the
   *  drawing on demand, or at once where `draw` is null. */
  constructor(name, { downloads, headline, draw = null, tabulate, open = false }) {
    this.headline = headline;
    this.draw = draw;
    this.tabulate = tabulate;
    this.element = el(
      "details",
      { class: "card figure", "data-figure": name, open, on: { toggle: () => this.#show() } },
      el(
        "summary",
        { class: "figure__head" },
        el("h2", { id: `figure-${name}`, word: `figure.${name}` }),
        this.#headline,
      ),
      el(
        "div",
        { class: "figure__body" },
        el("p", { class: "quiet small", word: `figure.${name}.hint` }),
        this.#drawing,
        draw ? el("details", {}, el("summary", { word: "figure.table" }), this.#rows) : this.#rows,
        el(
          "div",
          { class: "downloads" },
          downloads.map((chart) => downloadLinks(chart)),
        ),
      ),
    );
  }

  /** Draws again if `report`, the width or the language has changed anything. */
  update(report, key) {
    this.#latest = { report, key };
    this.#headline.textContent = this.headline(report);
    this.#show();
  }

  #show() {
    if (!this.element.open || this.#latest === null || this.#drawn === this.#latest.key) return;
    const { report, key } = this.#latest;
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
