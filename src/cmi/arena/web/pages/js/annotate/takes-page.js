// Takes on the page: the instruction, then the takes, then the questions. Tells `onVote(ballot)` when it is voted.
//
// What is asked differs: a page for pairs (pair.js) or for ratings (ratings.js) extends this one by its questions.
import { post } from "../api.js";
import { el } from "../dom.js";
import { announce } from "../live.js";
import { say } from "../words.js";
import { Feedback } from "./feedback.js";
import { instructionCard } from "./instruction.js";
import { Levels } from "./levels.js";
import { playerCard } from "./player-card.js";
import { Deck, Player } from "./player.js";
import { volumeControl } from "./volume.js";

export class TakesPage {
  words = { title: "takes.title", keys: "takes.keys", announce: "takes.announce" };
  deck = new Deck();
  takes = [];
  questions = [];
  feedback = null;
  #active = 0;
  #voted = false;
  #tallies = {}; // whole seconds heard when the draft was last kept, and whether that was enough

  /** `assigned`: the answer of /api/next, or of /api/views/{view} for a correction (then with takes and a vote). */
  constructor(assigned, { drafts, levelMatched, views, onVote, onSkip, onFailure }, { first, feedback } = {}) {
    this.assigned = assigned;
    this.views = views; // where the server keeps pages of this kind
    this.feedbackWords = feedback;
    this.onVote = onVote;
    this.onSkip = onSkip;
    this.onFailure = onFailure;
    this.drafts = drafts;
    this.draft = drafts.load(assigned.view) ?? draftOf(assigned.vote);
    this.levels = new Levels(levelMatched);
    this.instruction = instructionCard(assigned.instruction, this.deck, this.levels, {
      onRead: () => this.begin(),
      onSkip,
      heard: this.draft?.heard?.reference,
      first,
    });
    this.reference = this.instruction.player; // null if the instruction has no recording
    this.reference?.addEventListener("move", () => this.#progress(this.reference));
    this.reference?.addEventListener("change", () => this.#keep());
    this.element = el("div", { class: "stack stack--wide" }, this.instruction.card);
  }

  /** To be called once the element is on the page: waveforms need to know how wide they are. */
  async open() {
    this.instruction.settle();
    if (this.assigned.takes) this.#show(this.assigned.takes, this.assigned.needed ?? { a: 0, b: 0 });
    else if (this.draft?.begun) await this.begin();
    else this.instruction.title.focus();
  }

  get begun() {
    return this.takes.length > 0;
  }

  async begin() {
    if (this.begun || this.beginning) return;
    this.beginning = true;
    this.instruction.read.setAttribute("aria-disabled", "true");
    try {
      const { takes, needed } = await post(`${this.views}/${encodeURIComponent(this.assigned.view)}/begin`);
      this.#show(takes, needed);
    } catch (error) {
      this.instruction.read.removeAttribute("aria-disabled");
      this.onFailure(error);
    } finally {
      this.beginning = false;
    }
  }

  #show(takes, needed) {
    this.needed = { ...needed, reference: this.assigned.instruction.reference?.needed ?? 0 };
    this.instruction.begun();
    const cards = Object.keys(takes).map((side) => {
      const player = new Player(takes[side], side, { spans: this.draft?.heard?.[side] });
      this.deck.add(player);
      this.levels.add(player.audio, takes[side].gain_db);
      this.takes.push(player);
      player.addEventListener("move", () => this.#progress(player));
      player.addEventListener("change", () => this.#keep());
      const shown = playerCard(player, this.onSkip, needed[side], this.nameOf(side));
      shown.card.classList.add("card");
      return shown;
    });
    this.deck.addEventListener("choose", () => this.#highlight());
    this.questions = this.makeQuestions((question) => this.#answered(question), cards);
    for (const [index, question] of this.questions.entries()) {
      question.element.addEventListener("focusin", () => this.#activate(index));
    }
    const said = this.draft?.feedback ?? "";
    this.feedback = new Feedback(said, this.takes, () => this.#keep(), this.feedbackWords);
    this.submit = el(
      "button",
      { class: "button button--main button--large", id: "submit", type: "button", on: { click: () => this.vote() } },
      el("span", { word: this.assigned.vote ? "vote.correct" : "vote.submit" }),
      el("kbd", { class: "key-hint", word: "key.enter" }),
    );
    this.missing = el("p", { class: "quiet small", id: "missing" });
    this.submit.setAttribute("aria-describedby", "missing");
    this.element.append(
      el(
        "section",
        { class: "stack arrives", "aria-labelledby": "takes-title" },
        el(
          "div",
          { class: "row row--apart" },
          el("h2", { id: "takes-title", word: this.words.title }),
          volumeControl(this.levels),
        ),
        el("p", { class: "quiet small key-hint", word: this.words.keys }),
        this.words.intro ? el("p", { class: "quiet", word: this.words.intro }) : null,
        ...cards.map(({ card }) => card),
        this.extra ?? null,
      ),
      el(
        "section",
        { class: "stack arrives", "aria-labelledby": "questions-title" },
        el("h2", { id: "questions-title", word: "questions.title" }),
        ...this.questions.map(({ element }) => element),
        this.feedback.element,
        el("div", { class: "send" }, this.submit, this.missing),
      ),
    );
    for (const { settle } of cards) settle();
    this.deck.choose(this.takes[0]);
    this.#activate(0);
    this.#check();
    this.#keep();
    cards[0].play.focus({ preventScroll: true });
    this.element.children[1].scrollIntoView({ block: "nearest" });
    announce(this.words.announce);
  }

  /** Makes a take the current one; the keyboard goes where the ear does. */
  switchTo(name) {
    this.deck.switchTo(this.deck.named(name));
    this.element.querySelector(`[data-player="${name}"] .take__play`).focus();
  }

  // Answers

  get heardEnough() {
    return this.#recordings.every((one) => one.meter.seconds >= this.needed[one.name]);
  }

  get #recordings() {
    return this.reference ? [this.reference, ...this.takes] : this.takes;
  }

  get active() {
    return this.questions[this.#active];
  }

  /** Enter: on to the next thing that has to be done, and at last the vote itself. */
  advance() {
    if (!this.begun) this.begin();
    else if (!this.heardEnough || !this.active.isAnswered)
      announce("vote.missing", { what: this.missing.textContent });
    else if (this.questions.every((question) => question.isAnswered) && this.#active === this.questions.length - 1)
      this.vote();
    else {
      this.#activate((this.#active + 1) % this.questions.length);
      this.active.focus();
    }
  }

  vote() {
    if (this.#voted || this.#missing() !== null) {
      announce("vote.missing", { what: this.missing.textContent });
      return;
    }
    this.#voted = true;
    this.deck.close();
    const heard = Object.fromEntries(this.#recordings.map((one) => [one.name, one.meter.seconds]));
    this.onVote({ ...this.#answers, feedback: this.feedback.text.trim(), heard });
  }

  close() {
    this.deck.close();
  }

  get #answers() {
    return this.pack(Object.fromEntries(this.questions.map((question) => [question.axis, question.answer])));
  }

  #missing() {
    const unheard = this.#recordings.find((one) => one.meter.seconds < this.needed[one.name]);
    if (unheard) {
      const left = Math.ceil(this.needed[unheard.name] - unheard.meter.seconds);
      if (unheard === this.reference) return ["missing.reference", { left }];
      return ["missing.heard", { name: unheard.name.toUpperCase(), left }];
    }
    return this.questions.find((question) => !question.isAnswered)?.missing ?? null;
  }

  #check() {
    const locked = !this.heardEnough;
    const opened = !locked && this.questions[0].element.disabled;
    for (const part of [...this.questions, this.feedback]) part.lock(locked);
    const missing = this.#missing();
    this.submit.setAttribute("aria-disabled", String(missing !== null));
    say(this.missing, ...(missing ?? ["missing.nothing"]));
    if (opened) announce("questions.open");
  }

  #answered(question) {
    this.#activate(this.questions.indexOf(question));
    this.#check();
    this.#keep();
  }

  #activate(index) {
    this.#active = index;
    for (const question of this.questions) question.activate(question === this.active);
  }

  #highlight() {
    for (const card of this.element.querySelectorAll("[data-player]")) {
      card.classList.toggle("take--current", card.dataset.player === this.deck.current.name);
    }
  }

  #progress(player) {
    if (player.playing) this.instruction.panel?.followPlayer(player);
    if (this.#voted) return;
    if (this.submit) this.#check();
    const { seconds } = player.meter;
    const needed = this.needed?.[player.name] ?? this.assigned.instruction.reference?.needed; // before the takes are shown
    const tally = `${Math.floor(seconds)} ${seconds >= needed}`;
    if (tally !== this.#tallies[player.name]) this.#keep();
    this.#tallies[player.name] = tally;
  }

  #keep() {
    if (this.#voted) return;
    const heard = Object.fromEntries(this.#recordings.map((one) => [one.name, one.meter.spans]));
    const said = this.feedback === null ? {} : { begun: true, feedback: this.feedback.text };
    const answers = this.questions.length > 0 ? this.#answers : {};
    this.drafts.save(this.assigned.view, { ...this.draft, ...said, ...answers, heard });
  }
}

/** A correction starts from the vote as it stands: what was heard for it need not be heard again. */
function draftOf(vote) {
  if (!vote) return null;
  const spans = (seconds) => [[0, Math.ceil((seconds ?? 0) * 10) - 1]];
  const heard = Object.fromEntries(Object.entries(vote.heard ?? {}).map(([name, seconds]) => [name, spans(seconds)]));
  return { ...vote, begun: true, heard };
}
