// Pages for ratings: one take (MOS), takes beside their reference (MUSHRA), takes to be put into an order (ranking).
import { el } from "../dom.js";
import { word } from "../words.js";
import { AXES } from "./questions.js";
import { CategoryQuestion, OrderQuestion, SliderQuestion } from "./rating-questions.js";
import { TakesPage } from "./takes-page.js";

const FEEDBACK = { question: "rated.feedback", example: "rated.feedback.example" };

class RatingPage extends TakesPage {
  constructor(assigned, options) {
    super(assigned, options, { first: "rated.first", feedback: FEEDBACK });
    const { kind } = assigned;
    this.words = {
      title: `takes.title.${kind}`,
      keys: `takes.keys.${kind}`,
      announce: `takes.announce.${kind}`,
    };
  }

  nameOf(number) {
    return ["rated.take", { number }];
  }

  /** The answers as the server takes them. */
  pack(answers) {
    return { answers };
  }

  digit(number) {
    if (this.deck.named(String(number))) this.switchTo(String(number));
  }
}

class CategoryPage extends RatingPage {
  nameOf() {
    return ["rated.the-take"];
  }

  makeQuestions(onChange) {
    return AXES.map((axis) => new CategoryQuestion(axis, this.draft?.answers?.[axis], onChange));
  }

  digit(level) {
    if (!this.heardEnough || level > 5) return;
    this.active.focus();
    this.active.rate(level);
  }
}

class MushraPage extends RatingPage {
  constructor(assigned, options) {
    super(assigned, options);
    this.words.intro = "takes.intro.mushra";
    this.deck.together = true;
  }

  makeQuestions(onChange, cards) {
    this.extra = this.#switcher();
    return [
      new SliderQuestion("musicality", this.draft?.answers?.musicality, {
        cards,
        takes: this.takes,
        isHeard: (take) => [this.reference, take].every((one) => one.meter.seconds >= this.needed[one.name]),
        onChange,
      }),
    ];
  }

  /** A bar that stays in sight: the reference and all takes, one press apart, at the same position. */
  #switcher() {
    const buttons = this.deck.players.map((player) => {
      const named = player === this.reference ? ["player.name.reference"] : this.nameOf(player.name);
      const name = () => word(...named);
      const press = () => {
        if (player.playing) player.pause();
        else player.play();
      };
      const button = el(
        "button",
        { class: "button", type: "button", label: ["player.play", { name }], on: { click: press } },
        player === this.reference ? el("span", { word: "rated.reference" }) : player.name,
      );
      const show = () => button.setAttribute("aria-pressed", String(player.playing));
      player.addEventListener("change", show);
      show();
      return button;
    });
    return el("div", { class: "switcher", role: "group", label: "rated.switch" }, buttons);
  }
}

class RankingPage extends RatingPage {
  makeQuestions(onChange) {
    const names = this.takes.map(({ name }) => name);
    return AXES.map((axis) => new OrderQuestion(axis, this.draft?.answers?.[axis], names, onChange));
  }
}

export const RATING_PAGES = { mos: CategoryPage, mushra: MushraPage, ranking: RankingPage };

/** A rating in a line: 'Alignment 4 · Musicality 3' of one take, else the number of each take. */
export function ratingSummary({ answers }) {
  return Object.entries(answers)
    .map(([axis, values]) => {
      const numbers = Object.entries(values);
      const shown = numbers.length === 1 ? numbers[0][1] : numbers.map(([take, value]) => `${take}: ${value}`).join(", ");
      return `${word(`axis.${axis}`)} ${shown}`;
    })
    .join(" · ");
}
