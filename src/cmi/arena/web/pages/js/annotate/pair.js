// A pair on the page: which of two takes, and how sure, on each axis.
import { AXES, Question } from "./questions.js";
import { TakesPage } from "./takes-page.js";

export class PairPage extends TakesPage {
  nameOf(side) {
    return [`player.name.${side}`];
  }

  makeQuestions(onChange) {
    return AXES.map((axis) => new Question(axis, this.draft?.[axis], onChange));
  }

  /** The answers as the server takes them. */
  pack(answers) {
    return answers;
  }

  digit(level) {
    if (!this.heardEnough || level > 5) return;
    this.active.focus(); // so that Enter goes on from here and is not a button's
    this.active.rate(level);
  }
}
