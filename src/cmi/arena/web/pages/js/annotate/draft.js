// What a person has answered and heard of a view but not voted yet; kept on this device: a reload loses nothing.
import { forget, keysStarting, recall, remember } from "../storage.js";

const KEPT_MS = 30 * 24 * 3600 * 1000;

export class Drafts {
  #start;

  constructor(person) {
    this.#start = `draft:${person}:`;
  }

  load(view) {
    return recall(this.#start + view);
  }

  save(view, draft) {
    remember(this.#start + view, { ...draft, saved: Date.now() });
  }

  drop(view) {
    forget(this.#start + view);
  }

  dropAll() {
    for (const key of keysStarting(this.#start)) forget(key);
  }
}

/** Of whoever used this browser: nobody comes back to a pair after a month. */
export function dropOldDrafts() {
  for (const key of keysStarting("draft:")) {
    if (Date.now() - (recall(key)?.saved ?? 0) > KEPT_MS) forget(key);
  }
}
