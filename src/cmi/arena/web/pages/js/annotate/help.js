// The overlay that lists the keys.
import { openDialog } from "../dialog.js";
import { el } from "../dom.js";

const KEYS = [
  ["space", "play"],
  ["a-b", "switch"],
  ["arrows", "seek"],
  ["l", "loop"],
  ["r", "reference"],
  ["plus-minus", "volume"],
  ["shift-a-b", "choose"],
  ["digits", "confidence"],
  ["f", "feedback"],
  ["t", "time"],
  ["escape", "leave"],
  ["enter", "continue"],
  ["question", "help"],
];

export function openHelp() {
  openDialog(
    "help.title",
    el("p", { class: "quiet", word: "help.protocol" }),
    el(
      "dl",
      { class: "shortcuts" },
      KEYS.flatMap(([key, does]) => [
        el("dt", {}, el("kbd", { word: `key.${key}` })),
        el("dd", { word: `help.${does}` }),
      ]),
    ),
  );
}
