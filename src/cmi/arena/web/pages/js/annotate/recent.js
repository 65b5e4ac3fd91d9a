// The annotator's latest votes, each of which can be corrected.
import { get } from "../api.js";
import { when } from "../clock.js";
import { openDialog } from "../dialog.js";
import { el } from "../dom.js";

/** `views`: where the server keeps them; `summary(vote)`: a vote in a line. */
export async function openRecent(views, summary, onCorrect) {
  const votes = await get(`${views}/recent`);
  const list = el(
    "ul",
    { class: "votes" },
    votes.map((entry) => {
      const correct = () => {
        dialog.close();
        onCorrect(entry.view);
      };
      return el(
        "li",
        {},
        el(
          "div",
          {},
          el("p", { class: "votes__text" }, entry.text),
          el("p", { class: "quiet small" }, `${summary(entry.vote)} · ${when(entry.created)}`),
        ),
        entry.can_correct
          ? el("button", { class: "button", type: "button", word: "recent.correct", on: { click: correct } })
          : el("p", { class: "quiet small", word: "recent.final" }),
      );
    }),
  );
  const dialog = openDialog(
    "recent.title",
    el("p", { class: "quiet", word: votes.length > 0 ? "recent.hint" : "recent.none" }),
    list,
  );
}
