// Lyrics in a panel that scrolls with the music.
//
// Nobody gives us the time of each line, so the panel moves in proportion to the take's position. A reader who scrolls
// by hand, or points at the panel, is left alone.
import { el } from "../dom.js";
import { recall, remember } from "../storage.js";

const LEFT_ALONE_MS = 4000;

export function lyricsPanel(text) {
  const panel = el("div", { class: "lyrics", tabindex: 0, role: "region", label: "instruction.lyrics" }, text);
  const follow = el("input", { type: "checkbox", checked: recall("follow-lyrics", true) });
  follow.addEventListener("change", () => remember("follow-lyrics", follow.checked));
  let touched = 0;
  for (const event of ["wheel", "touchmove", "keydown", "pointerdown"]) {
    panel.addEventListener(event, () => (touched = performance.now()), { passive: true });
  }
  const followPlayer = (player) => {
    if (!follow.checked || panel.matches(":hover") || performance.now() - touched < LEFT_ALONE_MS) return;
    panel.scrollTop = (panel.scrollHeight - panel.clientHeight) * (player.position / player.seconds);
  };
  const block = el(
    "div",
    { class: "stack" },
    el(
      "div",
      { class: "row row--apart" },
      el("h3", { class: "eyebrow", word: "instruction.lyrics" }),
      el("label", { class: "tick small quiet" }, follow, el("span", { word: "instruction.follow" })),
    ),
    panel,
  );
  return { block, followPlayer };
}
