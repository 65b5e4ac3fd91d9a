// What the pages of a pair and of a trial share: recordings to play, hiding with a reason and showing again, history.
import { post } from "../api.js";
import { Levels } from "../annotate/levels.js";
import { playerCard } from "../annotate/player-card.js";
import { Player } from "../annotate/player.js";
import { volumeControl } from "../annotate/volume.js";
import { when } from "../clock.js";
import { el } from "../dom.js";
import { confirmSaved } from "../live.js";
import { word } from "../words.js";
import { actionButton, field } from "./actions.js";

export const pill = (key, kind = "") => el("span", { class: `pill ${kind}`, word: key });

/** Whether it is hidden, and why, and whether a recording is missing. */
export const statePills = ({ hidden, broken }) => [
  hidden === null ? null : pill("state-of.hidden", "pill--look"),
  broken ? pill("filter.broken", "pill--look") : null,
  hidden === null ? null : el("span", { class: "quiet small" }, hidden),
];

/** The text of the prompt and its lyrics. */
export const promptText = ({ text, lyrics }) => [
  text ? el("p", { class: "instruction__text" }, text) : null,
  lyrics
    ? el(
        "details",
        {},
        el("summary", { word: "instruction.lyrics" }),
        el("p", { class: "lyrics", tabindex: 0, role: "region", label: "instruction.lyrics" }, lyrics),
      )
    : null,
];

/** {element, settle} of players; `parts` are {part, sound, named}, those without a sound are left out. */
export function recordings(parts, deck) {
  const levels = new Levels(false);
  const cards = parts
    .filter(({ sound }) => sound !== null)
    .map(({ part, sound, named }) => {
      const player = new Player({ ...sound, url: `/media/${sound.id}` }, part);
      deck.add(player);
      levels.add(player.audio, sound.gain_db);
      return playerCard(player, null, null, named);
    });
  const element = el(
    "div",
    { class: "stack" },
    volumeControl(levels),
    cards.map(({ card }) => card),
  );
  return { element, settle: () => cards.forEach(({ settle }) => settle()) };
}

/** Hide the item at `path` with a reason, or show it again. `more(because)`: what else needs the reason. */
export function stateForm(item, path, hiddenWord, refresh, more = () => null) {
  const change = (action, body, key) => async () => {
    await post(`${path}/${action}`, body());
    confirmSaved(key);
    await refresh();
  };
  if (item.hidden !== null)
    return el(
      "div",
      { class: "stack" },
      el("p", { word: hiddenWord }),
      el("div", { class: "row" }, actionButton("pair.show", change("show", () => ({}), "pair.shown"))),
    );
  const reason = el("input", { maxlength: 500, required: true });
  const because = () => {
    if (reason.value.trim()) return { reason: reason.value.trim() };
    reason.focus();
    throw new Error(word("pair.no-reason"));
  };
  return el(
    "div",
    { class: "form" },
    field("reason", reason, { hint: true }),
    el("div", { class: "row" }, actionButton("pair.hide", change("hide", because, "pair.is-hidden"))),
    more(because),
  );
}

/** Events of the log; an action is what it happened to and a word such as `hidden`. */
export const historyList = (events) =>
  el(
    "ul",
    { class: "ballots" },
    events.map(({ time, action, reason }) =>
      el(
        "li",
        { class: "row" },
        el("span", { class: "quiet small" }, when(time)),
        el("span", { word: `pair.event.${action.split(" ").at(-1)}` }),
        reason ? el("span", {}, reason) : null,
      ),
    ),
  );
