// Question 3: a few sentences of audible evidence, with times and the glossary's words one click away.
import { minutes } from "../clock.js";
import { el } from "../dom.js";
import { announce } from "../live.js";
import { say, word } from "../words.js";
import { GLOSSARY } from "./glossary.js";

const LONGEST = 4000;

export class Feedback {
  #takes;
  #chips = new Map();

  constructor(text, takes, onChange, words = { question: "question.feedback", example: "feedback.example" }) {
    this.#takes = takes;
    this.area = el("textarea", {
      class: "text",
      id: "feedback",
      maxlength: LONGEST,
      "aria-describedby": "feedback-hint",
      placeholder: words.example,
    });
    this.area.value = text;
    this.area.addEventListener("input", onChange);
    this.element = el(
      "fieldset",
      { class: "question card", id: "question-feedback" },
      el("legend", {}, el("label", { for: "feedback", word: words.question })),
      el("p", { class: "quiet", id: "feedback-hint", word: "question.feedback.hint" }),
      el(
        "div",
        { class: "stack" },
        this.area,
        el(
          "div",
          { class: "chips" },
          takes.map((take) => this.#timeChip(take)),
        ),
        this.#glossary(),
      ),
    );
  }

  get text() {
    return this.area.value;
  }

  lock(locked) {
    this.element.disabled = locked;
  }

  /** Writes 'A at 0:20' for the take's present position. */
  insertTime(take) {
    this.#insert(word("feedback.at", timeOf(take)));
  }

  #timeChip(take) {
    const chip = el("button", {
      class: `chip chip--${take.name}`,
      type: "button",
      on: { click: () => this.insertTime(take) },
    });
    const show = () => {
      say(chip, "feedback.at", timeOf(take));
      say(chip, "feedback.time", timeOf(take), "aria-label");
    };
    take.addEventListener("move", show);
    show();
    return chip;
  }

  #glossary() {
    return el(
      "details",
      { id: "glossary" },
      el("summary", { word: "glossary.title" }),
      el(
        "div",
        { class: "glossary" },
        Object.entries(GLOSSARY).map(([dimension, descriptors]) =>
          el(
            "section",
            {},
            el("h4", { word: `glossary.${dimension}` }),
            el(
              "ul",
              { class: "chips" },
              descriptors.map((descriptor) => el("li", {}, this.#descriptorChip(descriptor))),
            ),
          ),
        ),
      ),
    );
  }

  #descriptorChip(descriptor) {
    const key = `glossary.word.${descriptor}`;
    return el("button", { class: "chip", type: "button", word: key, on: { click: () => this.#insert(word(key)) } });
  }

  /** Puts `text` where the caret is, with a space on either side where one is missing. */
  #insert(text) {
    const { selectionStart: start, selectionEnd: end, value } = this.area;
    const before = start > 0 && !/\s$/.test(value.slice(0, start)) ? " " : "";
    const after = /^\s/.test(value.slice(end)) ? "" : " ";
    if (value.length + text.length + 2 > LONGEST) return;
    this.area.setRangeText(before + text + after, start, end, "end");
    this.area.dispatchEvent(new Event("input"));
    announce("feedback.added", { text });
  }
}

function timeOf(take) {
  return { take: take.name.toUpperCase(), time: minutes(take.position) };
}
