// What is asked about takes that are rated. Each question has an axis, an element, an answer ({take: number}), whether
// it is answered, and what is missing if not.
import { el } from "../dom.js";
import { announce } from "../live.js";
import { say } from "../words.js";

const LEVELS = [5, 4, 3, 2, 1]; // excellent, good, fair, poor, bad: ITU-T P.800
const HIGHEST = 100;
const MIDDLE = 50;

/** One take, from 1 to 5. */
export class CategoryQuestion {
  #inputs = new Map();

  constructor(axis, answer, onChange) {
    this.axis = axis;
    this.value = answer?.["1"] ?? null;
    this.onChange = onChange;
    this.missing = [`missing.mos.${axis}`];
    this.element = el(
      "fieldset",
      { class: "question card", id: `question-${axis}`, "aria-describedby": `${axis}-hint` },
      el("legend", { word: `rated.mos.${axis}` }),
      el("p", { class: "quiet", id: `${axis}-hint`, word: `question.${axis}.hint` }),
      el(
        "div",
        { class: "categories" },
        LEVELS.map((level) => this.#option(level)),
      ),
    );
  }

  get isAnswered() {
    return this.value !== null;
  }

  get answer() {
    return this.value === null ? {} : { 1: this.value };
  }

  lock(locked) {
    this.element.disabled = locked;
  }

  rate(level) {
    this.value = level;
    this.#inputs.get(level).checked = true;
    this.onChange(this);
  }

  activate(active) {
    this.element.classList.toggle("question--active", active);
  }

  focus() {
    this.#inputs.get(this.value ?? LEVELS[0]).focus();
  }

  #option(level) {
    const input = el("input", { type: "radio", name: this.axis, value: level, checked: this.value === level });
    input.addEventListener("change", () => this.rate(level));
    this.#inputs.set(level, input);
    return el(
      "label",
      { class: "level level--wide" },
      input,
      el("span", {}, String(level)),
      el("span", { word: `scale.${level}` }),
    );
  }
}

/** All takes, from 0 to 100, by a slider in each take's card. A slider that nobody touched is no answer. */
export class SliderQuestion {
  #sliders = new Map();

  constructor(axis, answer, { cards, takes, isHeard, onChange }) {
    this.axis = axis;
    this.values = { ...answer };
    this.takes = takes;
    this.isHeard = isHeard;
    this.onChange = onChange;
    for (const [index, take] of takes.entries()) cards[index].card.append(this.#row(take));
    this.element = el("p", { class: "card", word: "rated.mushra.hint" });
  }

  get isAnswered() {
    return this.#open === undefined;
  }

  get missing() {
    return ["missing.mushra", { name: this.#open.name }];
  }

  get answer() {
    return this.values;
  }

  get #open() {
    return this.takes.find(({ name }) => this.values[name] === undefined);
  }

  /** Each slider opens when its take and the reference were heard. */
  lock() {
    for (const take of this.takes) this.#sliders.get(take.name).disabled = !this.isHeard(take);
  }

  activate() {}

  focus() {
    this.#sliders.get((this.#open ?? this.takes[0]).name).focus();
  }

  #row(take) {
    const { name } = take;
    const slider = el("input", {
      class: "score",
      type: "range",
      min: 0,
      max: HIGHEST,
      step: 1,
      value: this.values[name] ?? MIDDLE,
      label: ["rated.score", { number: name }],
    });
    const shown = el("output", { class: "score__value" });
    const show = () => {
      const value = this.values[name];
      const level = value === undefined ? null : Math.min(5, 1 + Math.floor(value / 20));
      if (level === null) say(shown, "rated.untouched");
      else say(shown, `rated.scored.${level}`, { value });
      say(slider, level === null ? "rated.untouched" : `rated.scored.${level}`, { value }, "aria-valuetext");
    };
    const set = () => {
      if (slider.disabled) return;
      this.values[name] = Number(slider.value);
      show();
      this.onChange(this);
    };
    slider.addEventListener("input", set);
    slider.addEventListener("click", set); // where it stands is an answer too, once it is pressed
    slider.addEventListener("keydown", (event) => event.key === "Enter" && this.values[name] === undefined && set());
    this.#sliders.set(name, slider);
    show();
    return el(
      "div",
      { class: "scores" },
      slider,
      el(
        "div",
        { class: "score__labels", "aria-hidden": "true" },
        [...LEVELS].reverse().map((level) => el("span", { word: `scale.${level}` })),
      ),
      shown,
    );
  }
}

/** All takes in an order, the best first; a take may share the place of the one above it. */
export class OrderQuestion {
  #order; // names, the best first
  #tied; // names that share the place of the one above
  #list = el("ol", { class: "order" });
  #done = el("input", { type: "checkbox" });

  constructor(axis, answer, names, onChange) {
    this.axis = axis;
    this.onChange = onChange;
    this.missing = [`missing.ranking.${axis}`];
    const ranks = answer ?? {};
    const isWhole = names.every((name) => ranks[name] !== undefined);
    this.#order = isWhole ? [...names].sort((one, other) => ranks[one] - ranks[other]) : [...names];
    this.#tied = new Set(
      isWhole ? this.#order.filter((name, index) => index > 0 && ranks[name] === ranks[this.#order[index - 1]]) : [],
    );
    this.#done.checked = isWhole;
    this.#done.addEventListener("change", () => onChange(this));
    this.element = el(
      "fieldset",
      { class: "question card", id: `question-${axis}`, "aria-describedby": `${axis}-hint` },
      el("legend", { word: `rated.ranking.${axis}` }),
      el("p", { class: "quiet", id: `${axis}-hint`, word: `question.${axis}.hint` }),
      this.#list,
      el("label", { class: "tick" }, this.#done, el("span", { word: "rated.ranking.done" })),
    );
    for (const name of this.#order) this.#list.append(this.#row(name));
    this.#number();
  }

  get isAnswered() {
    return this.#done.checked;
  }

  get answer() {
    return this.isAnswered ? Object.fromEntries(this.#ranks) : {};
  }

  lock(locked) {
    this.element.disabled = locked;
  }

  activate(active) {
    this.element.classList.toggle("question--active", active);
  }

  focus() {
    this.element.querySelector("button:not(:disabled)").focus();
  }

  get #ranks() {
    let rank = 0;
    return this.#order.map((name, index) => {
      if (index === 0 || !this.#tied.has(name)) rank += 1;
      return [name, rank];
    });
  }

  #row(name) {
    const button = (key, action, text) =>
      el("button", {
        class: "button",
        type: "button",
        "data-does": key,
        label: [`rated.ranking.${key}`, { number: name }],
        on: { click: action },
      }, text);
    const handle = el(
      "span",
      { class: "order__name" },
      el("span", { class: "order__place" }),
      el("span", { word: ["rated.take", { number: name }] }),
    );
    const row = el(
      "li",
      { class: "order__row", "data-take": name },
      handle,
      button("up", () => this.#move(name, this.#order.indexOf(name) - 1), "↑"),
      button("down", () => this.#move(name, this.#order.indexOf(name) + 1), "↓"),
      button("tie", () => this.#tie(name), "="),
    );
    handle.addEventListener("pointerdown", (event) => this.#drag(event, handle, name));
    return row;
  }

  #drag(event, handle, name) {
    if (this.element.disabled || event.button !== 0) return;
    event.preventDefault();
    handle.setPointerCapture(event.pointerId);
    const follow = ({ clientY }) => {
      const rows = [...this.#list.children].filter((row) => row.dataset.take !== name);
      const place = rows.filter((row) => {
        const { top, height } = row.getBoundingClientRect();
        return clientY > top + height / 2;
      }).length;
      if (place !== this.#order.indexOf(name)) this.#move(name, place);
    };
    handle.addEventListener("pointermove", follow);
    const stop = () => handle.removeEventListener("pointermove", follow);
    for (const end of ["pointerup", "pointercancel", "lostpointercapture"])
      handle.addEventListener(end, stop, { once: true });
  }

  #move(name, place) {
    if (place < 0 || place >= this.#order.length) return;
    const focused = document.activeElement;
    const row = this.#list.querySelector(`[data-take="${name}"]`);
    const others = this.#order.filter((one) => one !== name);
    const follower = this.#order[this.#order.indexOf(name) + 1];
    this.#order = [...others.slice(0, place), name, ...others.slice(place)];
    for (const one of [name, follower, others[place]]) this.#tied.delete(one); // what is above them is another take now
    // The others move around it, so that what is being dragged or has the focus stays on the page.
    for (const one of this.#order.slice(0, place)) row.before(this.#list.querySelector(`[data-take="${one}"]`));
    for (const one of this.#order.slice(place + 1).reverse()) row.after(this.#list.querySelector(`[data-take="${one}"]`));
    this.#changed();
    if (row.contains(focused)) focused.focus();
    announce("rated.ranking.moved", { number: name, place: place + 1, count: this.#order.length });
  }

  #tie(name) {
    if (this.#tied.has(name)) this.#tied.delete(name);
    else if (this.#order[0] !== name) this.#tied.add(name);
    this.#changed();
  }

  #changed() {
    this.#tied.delete(this.#order[0]);
    this.#done.checked = true;
    this.#number();
    this.onChange(this);
  }

  #number() {
    const ranks = new Map(this.#ranks);
    for (const [index, row] of [...this.#list.children].entries()) {
      const name = row.dataset.take;
      row.querySelector(".order__place").textContent = `${ranks.get(name)}.`;
      row.querySelector('[data-does="up"]').setAttribute("aria-disabled", String(index === 0));
      row.querySelector('[data-does="down"]').setAttribute("aria-disabled", String(index === this.#order.length - 1));
      const tie = row.querySelector('[data-does="tie"]');
      tie.setAttribute("aria-pressed", String(this.#tied.has(name)));
      tie.setAttribute("aria-disabled", String(index === 0));
    }
  }
}
