// Votes on their way to the server. A vote is written to this device first, then sent until the server has it.
//
// The view's key is the idempotency key: sending the same vote again counts once. `send` tries until everything is
// there, waiting longer after each failure and not at all once the browser says it is online again. A vote that the
// server refuses stays here until the annotator has decided what to do with it.
import { post, Refusal } from "../api.js";
import { forget, recall, remember } from "../storage.js";

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;

export class Outbox extends EventTarget {
  #key;
  #views;
  #sending = null;

  /** `views`: where the server keeps the pages that are voted on. */
  constructor(person, views) {
    super();
    this.#key = `outbox:${person}`;
    this.#views = views;
    addEventListener("beforeunload", (event) => {
      if (this.waiting.length > 0) event.preventDefault();
    });
  }

  get waiting() {
    return recall(this.#key, []);
  }

  add(view, ballot) {
    remember(this.#key, [...this.waiting.filter((vote) => vote.view !== view), { view, ballot }]);
  }

  drop(view) {
    remember(
      this.#key,
      this.waiting.filter((vote) => vote.view !== view),
    );
  }

  dropAll() {
    forget(this.#key);
  }

  /** Resolves when nothing waits any more; rejects with a Refusal that has the vote's `.view`. */
  send() {
    this.#sending ??= this.#sendAll().finally(() => (this.#sending = null));
    return this.#sending;
  }

  async #sendAll() {
    for (let wait = FIRST_WAIT_MS; this.waiting.length > 0;) {
      const { view, ballot } = this.waiting[0];
      try {
        await post(`${this.#views}/${encodeURIComponent(view)}/vote`, ballot);
        this.drop(view);
        wait = FIRST_WAIT_MS;
        this.dispatchEvent(new CustomEvent("sent", { detail: view }));
      } catch (error) {
        if (error instanceof Refusal) throw Object.assign(error, { view });
        this.dispatchEvent(new Event("stuck"));
        await pause(wait * (0.75 + Math.random() / 2));
        wait = Math.min(2 * wait, LONGEST_WAIT_MS);
      }
    }
  }
}

/** Waits, but no longer than until the connection is back. */
export function pause(milliseconds) {
  return new Promise((resolve) => {
    const timer = setTimeout(done, milliseconds);
    function done() {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    }
    addEventListener("online", done);
  });
}
