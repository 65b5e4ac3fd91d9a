// How much of a take has been heard: distinct seconds of it, counted while it really plays.
//
// Jumping ahead hears nothing, and hearing the same bar ten times counts it once. Positions are kept in tenths of a
// second, so that what was heard survives a reload in a few numbers.
const TENTH = 0.1;
const SLACK = 0.3; // seconds by which a media clock may run ahead of ours between two looks

export class HeardMeter {
  #tenths = new Set();
  #last = null;

  /** `spans`: what `spans` gave before a reload, [[first tenth, last tenth], ...]. */
  constructor(length, spans = []) {
    this.length = length;
    for (const [first, last] of spans) this.#mark(first, last);
  }

  /** The take is playing and stands at `position` (seconds) at the time `now` (milliseconds). */
  listen(position, now) {
    if (this.#last !== null) {
      const advanced = position - this.#last.position;
      const passed = (now - this.#last.now) / 1000;
      if (advanced > 0 && advanced <= passed + SLACK) {
        this.#mark(Math.floor(this.#last.position / TENTH), Math.ceil(position / TENTH - 1e-6) - 1);
      }
    }
    this.#last = { position, now };
  }

  /** Playing stopped, or the position was moved by hand: what lies between was not heard. */
  lift() {
    this.#last = null;
  }

  get seconds() {
    return Math.min(this.length, this.#tenths.size * TENTH);
  }

  get spans() {
    const spans = [];
    for (const tenth of [...this.#tenths].sort((one, other) => one - other)) {
      const open = spans.at(-1);
      if (open && open[1] === tenth - 1) open[1] = tenth;
      else spans.push([tenth, tenth]);
    }
    return spans;
  }

  #mark(first, last) {
    const end = Math.ceil(this.length / TENTH);
    for (let tenth = Math.max(0, first); tenth <= last && tenth < end; tenth += 1) this.#tenths.add(tenth);
  }
}
