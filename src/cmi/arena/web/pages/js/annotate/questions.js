// Questions 1 and 2: which take, and how sure (1-5), on one axis.
import { el } from "../dom.js";
import { say, word } from "../words.js";

export const AXES = ["alignment", "musicality"];
const DEFAULT_CONFIDENCE = 3;

export class Question {
  constructor(axis, answer, onChange) {
    this.axis = axis;
    this.choice = answer?.choice ?? null;
    this.confidence = answer?.confidence ?? DEFAULT_CONFIDENCE;
    this.touched = answer?.touched ?? false; // whether the confidence was chosen, or stands where the page put it
    this.#onChange = onChange;
    this.element = this.#build();
    this.#showWords();
  }

  #onChange;
  #words;

  get isAnswered() {
    return this.choice !== null;
  }

  get missing() {
    return [`missing.${this.axis}`];
  }

  get answer() {
    return { choice: this.choice, confidence: this.confidence, touched: this.touched };
  }

  lock(locked) {
    this.element.disabled = locked;
  }

  choose(choice) {
    this.choice = choice;
    this.#input("choice", choice).checked = true;
    this.#onChange(this);
  }

  rate(confidence) {
    this.confidence = confidence;
    this.touched = true;
    this.#input("confidence", confidence).checked = true;
    this.#showWords();
    this.#onChange(this);
  }

  activate(active) {
    this.element.classList.toggle("question--active", active);
  }

  focus() {
    this.#input("choice", this.choice ?? "a").focus();
  }

  #input(what, value) {
    return this.element.querySelector(`input[name="${this.axis}-${what}"][value="${value}"]`);
  }

  #showWords() {
    say(this.#words, `confidence.${this.axis}.${this.confidence}`);
  }

  #build() {
    const { axis } = this;
    this.#words = el("p", { class: "confidence__words", id: `${axis}-words` });
    return el(
      "fieldset",
      { class: "question card", id: `question-${axis}`, "aria-describedby": `${axis}-hint` },
      el("legend", { word: `question.${axis}` }),
      el("p", { class: "quiet", id: `${axis}-hint`, word: `question.${axis}.hint` }),
      el(
        "div",
        { class: "choices" },
        ["a", "b"].map((side) => this.#sideOption(side)),
      ),
      el(
        "fieldset",
        { class: "confidence" },
        el("legend", { word: `confidence.${axis}` }),
        el(
          "div",
          { class: "levels" },
          [1, 2, 3, 4, 5].map((level) => this.#levelOption(level)),
        ),
        this.#words,
      ),
    );
  }

  #sideOption(side) {
    const input = el("input", {
      type: "radio",
      name: `${this.axis}-choice`,
      value: side,
      checked: this.choice === side,
    });
    input.addEventListener("change", () => this.choose(side));
    return el(
      "label",
      { class: `choice choice--${side}` },
      input,
      el("span", { word: `player.name.${side}` }),
      el("kbd", { class: "key-hint", "aria-hidden": "true" }, `⇧ ${side.toUpperCase()}`),
    );
  }

  #levelOption(level) {
    const input = el("input", {
      type: "radio",
      name: `${this.axis}-confidence`,
      value: level,
      checked: this.confidence === level,
    });
    input.addEventListener("change", () => this.rate(level));
    input.addEventListener("click", () => this.rate(level)); // the level that stands is a choice too, once it is clicked
    say(input, `confidence.${this.axis}.${level}`, {}, "aria-label");
    return el("label", { class: "level" }, input, el("span", { "aria-hidden": "true" }, String(level)));
  }
}

/** The summary of a vote in a line: 'Alignment A (4), musicality B (2)'. */
export function summary(vote) {
  return AXES.map(
    (axis) => `${word(`axis.${axis}`)} ${vote[axis].choice.toUpperCase()} (${vote[axis].confidence})`,
  ).join(" · ");
}
