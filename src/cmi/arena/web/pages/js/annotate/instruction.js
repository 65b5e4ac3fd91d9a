// The instruction, shown first: prompt, lyrics, reference recording, and the step 'I have read it'.
import { el } from "../dom.js";
import { lyricsPanel } from "./lyrics.js";
import { playerCard } from "./player-card.js";
import { Player } from "./player.js";

/** `heard`: what of the reference was heard before a reload. */
export function instructionCard(instruction, deck, levels, { onRead, onSkip, heard = [], first = "instruction.first" }) {
  const { text, lyrics, reference } = instruction;
  const title = el("h2", { class: "eyebrow", id: "instruction-title", tabindex: -1, word: "instruction.title" });
  const panel = lyrics ? lyricsPanel(lyrics) : null;
  const player = reference ? new Player(reference, "reference", { spans: heard }) : null;
  const recording = player ? playerCard(player, onSkip, reference.needed || null) : null;
  if (player) {
    deck.add(player);
    levels.add(player.audio, reference.gain_db);
  }
  const read = el(
    "button",
    { class: "button button--main button--large", id: "read", type: "button", on: { click: onRead } },
    el("span", { word: "instruction.read" }),
    el("kbd", { class: "key-hint", word: "key.enter" }),
  );
  const begin = el("div", { class: "begin" }, el("p", { class: "quiet", word: first }), read);
  const card = el(
    "section",
    { class: "card stack arrives", "aria-labelledby": title.id },
    title,
    text ? el("p", { class: "instruction__text", id: "prompt" }, text) : null,
    panel?.block,
    recording ? el("div", { class: "instruction__reference" }, recording.card) : null,
    begin,
  );
  return { card, title, read, panel, player, settle: () => recording?.settle(), begun: () => begin.remove() };
}
