// Tables from rows. A column is {word, value(row), number: right-aligned, class}; a value is text or an element.
import { el } from "../dom.js";

export function table(columns, rows, captionKey) {
  const cell = (column, row) => {
    const value = column.value(row);
    return el(
      "td",
      { class: column.number ? "number" : (column.class ?? null) },
      value instanceof Node ? value : String(value),
    );
  };
  return el(
    "div",
    { class: "scroll", role: "region", tabindex: 0, label: captionKey },
    el(
      "table",
      {},
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          columns.map((column) =>
            el("th", { scope: "col", class: column.number ? "number" : null, word: column.word }),
          ),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map((row) =>
          el(
            "tr",
            {},
            columns.map((column) => cell(column, row)),
          ),
        ),
      ),
    ),
  );
}
