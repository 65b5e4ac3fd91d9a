// The page when there is no pair on it: loading, waiting for the connection, finished, signed out.
import { el } from "../dom.js";

export function stateCard(name, gaps = {}, ...actions) {
  return el(
    "section",
    { class: "card card--centre stack arrives", "data-state": name },
    el("h2", { word: [`state.${name}`, gaps], tabindex: -1 }),
    el("p", { class: "quiet", word: [`state.${name}.more`, gaps] }),
    actions.length > 0 ? el("div", { class: "row" }, ...actions) : null,
  );
}
