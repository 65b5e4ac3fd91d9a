// A list that is fetched some rows at a time.
import { get } from "../api.js";
import { el } from "../dom.js";
import { actionButton, attempt } from "./actions.js";
import { asSearch } from "./links.js";

const PAGE = 50;

/**
 * {element, load(query)}: rows of `path`, whose answer has them under `name`, drawn by `draw(rows)`.
 * `load` starts anew; an answer to an earlier query that comes late is not shown.
 */
export function pagedList(path, name, totalWord, draw, signal) {
  const element = el("div", { class: "stack" });
  let current = null;
  const add = async (query, offset) => {
    const answer = await get(`${path}?${asSearch({ ...query, offset, limit: PAGE })}`);
    if (signal.aborted || current !== query) return;
    const shown = offset + answer[name].length;
    const more = actionButton("list.more", async () => {
      await add(query, shown);
      more.remove();
    });
    const rows = answer[name].length > 0 ? [draw(answer[name])] : [];
    const rest = shown < answer.total && rows.length > 0 ? [more] : [];
    if (offset > 0) element.append(...rows, ...rest);
    else {
      const total = el("p", { class: "quiet", role: "status", word: [totalWord, { total: answer.total }] });
      element.replaceChildren(total, ...rows, ...rest);
    }
  };
  const load = (query) => {
    current = query;
    return attempt(() => add(query, 0));
  };
  return { element, load };
}
