// Sound checks before the first pair: the level, left from right, and headphones. One check at a time: what it is
// about, its trials, its result. Which answer is right is known to the server alone. A reload goes on where it was.
import { get, post } from "../api.js";
import { el } from "../dom.js";
import { icon } from "../icons.js";
import { announce, unwarn } from "../live.js";
import { forget, recall, remember } from "../storage.js";
import { say } from "../words.js";
import { Levels } from "./levels.js";
import { volumeControl } from "./volume.js";

const CHOICES = [0, 1, 2];

export class CheckPage {
  element = el("div", { class: "stack stack--wide" });
  #levels = new Levels(false);
  #audio = null;
  #closing = new AbortController();

  /** `onDone` when nothing is left to check, or after the last attempt; `onFailure(error)` leaves the page as it is. */
  constructor({ onDone, onFailure }) {
    this.onDone = onDone;
    this.onFailure = onFailure;
    document.addEventListener("keydown", (event) => this.#key(event), { signal: this.#closing.signal });
  }

  async open() {
    const { checks, trials, needed } = await get("/api/checks");
    const check = checks.find((one) => !one.passed);
    if (!check) {
      this.onDone();
      return;
    }
    const gaps = { trials, needed, left: check.attempts_left };
    const start = () => this.#try(() => this.#begin(check.kind, trials));
    const begin = button("check.begin", "button--main button--large", start);
    begin.id = "begin-check";
    this.#show(
      el("h2", { word: `check.${check.kind}`, tabindex: -1 }),
      el("p", { word: [`check.${check.kind}.more`, gaps] }),
      this.#calibration(),
      el("p", { class: "quiet", word: ["check.attempts", gaps] }),
      el("div", { class: "row" }, begin),
    );
  }

  close() {
    this.#stop();
    this.#closing.abort();
  }

  /** Noise as loud as the study's music, and the volume to set by it. */
  #calibration() {
    const noise = this.#newAudio("/api/checks/calibration.flac");
    const play = () => {
      noise.currentTime = 0;
      this.#play(noise);
    };
    return el(
      "div",
      { class: "stack" },
      el("p", { word: "check.level" }),
      el("div", { class: "row" }, button("check.level.play", "", play), volumeControl(this.#levels)),
    );
  }

  async #begin(kind, trials) {
    const { attempt } = await post(`/api/checks/${kind}`);
    const draft = `check:${kind}:${attempt}`;
    this.#trial({ kind, attempt, trials, draft, answers: recall(draft, []) });
  }

  #trial(state) {
    const { kind, attempt, trials, answers, draft } = state;
    if (answers.length >= trials) {
      this.#try(() => this.#finish(state));
      return;
    }
    const gaps = { number: answers.length + 1, trials };
    const audio = this.#newAudio(`/api/checks/${kind}/${attempt}/${answers.length}.flac`);
    const play = el(
      "button",
      { class: "take__play", type: "button", id: "play", label: "check.play", on: { click: () => this.#play(audio) } },
      icon("play"),
    );
    const choices = CHOICES.map((choice) => {
      const one = button(`check.${kind}.${choice}`, "button--large", () => {
        if (one.getAttribute("aria-disabled") === "true") return;
        const given = [...answers, choice];
        remember(draft, given);
        this.#trial({ ...state, answers: given });
      });
      one.setAttribute("aria-disabled", "true");
      one.dataset.choice = choice;
      return one;
    });
    const hint = el("p", { class: "quiet small", word: "check.listen" });
    audio.addEventListener("ended", () => {
      for (const one of choices) one.removeAttribute("aria-disabled");
      say(hint, "check.keys");
      announce("check.answer");
    });
    this.#show(
      el("h2", { word: ["check.trial", gaps], tabindex: -1 }),
      el("p", { word: `check.${kind}.question` }),
      el("div", { class: "take row" }, play, volumeControl(this.#levels)),
      el("div", { class: "check__choices", role: "group", label: `check.${kind}.question` }, ...choices),
      hint,
    );
    play.focus();
  }

  async #finish({ kind, attempt, draft, answers }) {
    const body = { answers, volume: this.#levels.volume };
    const result = await post(`/api/checks/${kind}/${attempt}`, body);
    forget(draft);
    if (!result.passed && result.attempts_left === 0) {
      this.onDone(); // the server says that this was the end
      return;
    }
    const name = result.passed ? "passed" : "failed";
    const goOn = button(`check.${name}.on`, "button--main button--large", () => this.#try(() => this.open()));
    goOn.id = "go-on";
    this.#show(
      el("h2", { word: `check.${name}`, tabindex: -1 }),
      el("p", { word: [`check.${name}.more`, { ...result, left: result.attempts_left }] }),
      el("div", { class: "row" }, goOn),
    );
  }

  async #try(action) {
    try {
      await action();
      unwarn("failure");
    } catch (error) {
      this.onFailure(error);
      const again = button("again", "button--main", () => this.#try(action));
      this.element.querySelector("[data-again]")?.remove();
      this.element.append(el("div", { class: "row", "data-again": "" }, again));
    }
  }

  #newAudio(url) {
    this.#stop();
    this.#audio = new Audio(url);
    this.#audio.preload = "auto";
    this.#audio.addEventListener("error", (event) => event.target.src && this.onFailure(new Error("sound")));
    this.#levels.add(this.#audio, 0);
    return this.#audio;
  }

  #play(audio) {
    if (audio.error) audio.load();
    audio.play().catch((error) => error.name !== "AbortError" && this.onFailure(error));
  }

  #stop() {
    this.#audio?.pause();
    this.#audio = null;
  }

  #show(...content) {
    this.element.replaceChildren(el("section", { class: "card stack arrives" }, ...content));
    this.element.querySelector("h2").focus();
    scrollTo({ top: 0 });
  }

  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
    const place = ["1", "2", "3"].indexOf(event.key);
    if (place >= 0) this.element.querySelector(`[data-choice="${place}"]`)?.click();
  }
}

function button(key, kind, action) {
  return el("button", { class: `button ${kind}`, type: "button", word: key, on: { click: action } });
}
