// A row of filters above a list. The filters are part of the page's address, so that a reload or a copied link keeps them.
import { el } from "../dom.js";
import { field } from "./actions.js";
import { address } from "./links.js";

const TYPING_MS = 300;

/** Orders of votes and of ratings. */
export const BALLOT_ORDERS = {
  "": "order.newest",
  oldest: "order.oldest",
  slowest: "order.slowest",
  fastest: "order.fastest",
};

/** A select of {value: word}, the first of which is the default. */
export function choice(options, value) {
  return el(
    "select",
    {},
    Object.entries(options).map(([option, word]) =>
      el("option", { value: option, selected: option === (value ?? ""), ...(word ? { word } : {}) }, word ? "" : option),
    ),
  );
}

/** A search field with the text of the query. */
export const searchField = (query) => el("input", { type: "search", value: query.text ?? "", maxlength: 200 });

/** A checkbox that is ticked if the query's field is true. */
export const checkbox = (query, name) => el("input", { type: "checkbox", checked: query[name] === "true" });

/** A select of the systems, or all. */
export const systemChoice = (systems, value) =>
  choice({ "": "filter.all", ...Object.fromEntries(systems.map((name) => [name, null])) }, value);

/** Controls by the field that they set; `onChange(query)` is called when one has changed. */
export function filterBar(name, controls, query, onChange) {
  const read = () => {
    const chosen = Object.entries(controls).map(([key, control]) => [
      key,
      control.type === "checkbox" ? control.checked || "" : control.value.trim(),
    ]);
    const changed = { ...query, ...Object.fromEntries(chosen) };
    history.replaceState(null, "", address(name, changed));
    onChange(changed);
  };
  let typing = null;
  for (const control of Object.values(controls)) {
    control.addEventListener("change", read);
    if (control.type !== "search") continue;
    control.addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(read, TYPING_MS);
    });
  }
  const others = Object.entries(query).filter(([key, value]) => key !== "id" && !(key in controls) && value !== "");
  const only = el(
    "p",
    { class: "row" },
    el("span", { word: ["filter.only", { what: others.map(([key, value]) => `${key} = ${value}`).join(", ") }] }),
    el("a", { href: `#${name}`, word: "filter.clear" }),
  );
  const form = el(
    "form",
    { class: "form__row", role: "search", on: { submit: (event) => event.preventDefault() } },
    Object.entries(controls).map(([key, control]) =>
      control.type === "checkbox"
        ? el("label", { class: "tick" }, control, el("span", { word: `field.filter-${key}` }))
        : field(`filter-${key}`, control),
    ),
  );
  return el("div", { class: "stack" }, form, others.length > 0 ? only : null);
}
