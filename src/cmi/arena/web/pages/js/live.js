// What the page says aloud: `announce` to screen readers alone, `confirmSaved` and `warn` to everyone.
import { el } from "./dom.js";
import { icon } from "./icons.js";
import { word } from "./words.js";

const pending = [];

/** What is announced at the same moment is said together: the second sentence must not cut off the first. */
export function announce(key, gaps = {}) {
  pending.push(word(key, gaps));
  if (pending.length > 1) return;
  queueMicrotask(() => {
    document.getElementById("status").textContent = pending.splice(0).join(" ");
  });
}

const SHOWN_MS = 6000;
let hiding = null;

/** Says that something is saved, to screen readers and, for some seconds, in a corner of the page. */
export function confirmSaved(key) {
  announce(key);
  const holder =
    document.getElementById("saved") ??
    document.body.appendChild(el("p", { class: "saved", id: "saved", "aria-hidden": "true" }));
  clearTimeout(hiding);
  holder.replaceChildren(icon("tick"), el("span", { word: key }));
  holder.hidden = false;
  hiding = setTimeout(() => (holder.hidden = true), SHOWN_MS);
}

/** Shows one banner of this `kind` (caution, alarm, fine) in place of an earlier one of the same `name`. */
export function warn(name, kind, key, gaps = {}, ...actions) {
  const shown = document.querySelector(`#banners [data-banner="${name}"]`);
  if (shown?.dataset.says === word(key, gaps)) return;
  unwarn(name);
  const banner = el(
    "div",
    { class: `banner banner--${kind} arrives`, "data-banner": name, "data-says": word(key, gaps) },
    el("p", { word: [key, gaps] }),
    ...actions,
  );
  document.getElementById("banners").append(banner);
}

export function unwarn(name) {
  document.querySelector(`#banners [data-banner="${name}"]`)?.remove();
}
