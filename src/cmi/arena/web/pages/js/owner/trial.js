// One trial: its recordings to play, its ratings and what annotators wrote, and hiding it with a reason.
import { get } from "../api.js";
import { Deck } from "../annotate/player.js";
import { el } from "../dom.js";
import { section } from "./actions.js";
import { historyList, promptText, recordings, stateForm, statePills } from "./item.js";
import { ratingList } from "./ratings.js";

export async function showTrial(holder, signal, canChange, { id }) {
  const path = `/api/owner/trials/${encodeURIComponent(id)}`;
  const trial = await get(path);
  if (signal.aborted) return;
  const deck = new Deck();
  signal.addEventListener("abort", () => deck.close());
  const refresh = async () => {
    deck.close();
    await showTrial(holder, signal, canChange, { id });
  };
  const ratings = ratingList(signal, { trial: false });
  const { element, settle } = recordings(parts(trial), deck);
  const about = el("div", { class: "row" }, el("span", { class: "quiet" }, trial.source_id), statePills(trial));
  holder.replaceChildren(
    el("p", {}, el("a", { href: "#trials", word: "trial.back" })),
    section("trial", about, ...promptText(trial), element),
    section("trial-ratings", ratings.element),
    ...(canChange ? [section("trial-state", stateForm(trial, path, "trial.hidden", refresh))] : []),
    ...(trial.history.length > 0 ? [section("pair-history", historyList(trial.history))] : []),
  );
  settle();
  await ratings.load({ trial: id, hidden: true, order: "oldest" });
}

const parts = ({ reference, stimuli }) => [
  { part: "reference", sound: reference },
  ...stimuli.map(({ system, role, recording }, place) => ({
    part: String(place + 1),
    sound: recording,
    named: [`stimulus.${role}`, { system }],
  })),
];
