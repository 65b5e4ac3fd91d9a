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

const OF_PAIRS = ["a-b", "shift-a-b", "digits"];
const DIGITS = { mos: ["digits", "rate"], mushra: ["numbers", "number"], ranking: ["numbers", "number"] };

/** `kind`: of the project. */
export function openHelp(kind) {
  const keys =
    kind === "pairs" ? KEYS : [KEYS[0], DIGITS[kind], ...KEYS.slice(1).filter(([key]) => !OF_PAIRS.includes(key))];
  openDialog(
    "help.title",
    el("p", { class: "quiet", word: kind === "pairs" ? "help.protocol" : `help.protocol.${kind}` }),
    el(
      "dl",
      { class: "shortcuts" },
      keys.flatMap(([key, does]) => [
        el("dt", {}, el("kbd", { word: `key.${key}` })),
        el("dd", { word: `help.${does}` }),
      ]),
    ),
  );
}
