// The interface's words in the reader's language.
//
// words/en.json and words/zh.json map the same keys to sentences with {named} gaps. `say` ties an element to a key,
// so that switching the language rewrites what is on the page without rebuilding it.
import { recall, remember } from "./storage.js";

export const LANGUAGES = { en: "English", zh: "中文" };

let table = {};
let current = "en";
const said = new WeakMap(); // element -> {attribute or "text": [key, gaps]}

export const language = () => current;

/** The sentence of `key`, its gaps filled (with values, or functions that give
 * them when the sentence is written); the key itself where the file has none, so that a slip is seen. */
export function word(key, gaps = {}) {
  const sentence = table[key] ?? key;
  return sentence.replace(/\{(\w+)\}/g, (gap, name) => {
    const value = gaps[name] ?? gap;
    return String(typeof value === "function" ? value() : value);
  });
}

/** Writes a sentence into `element` (or one of its attributes) now and whenever the language changes. */
export function say(element, key, gaps = {}, attribute = "text") {
  const entries = said.get(element) ?? {};
  entries[attribute] = [key, gaps];
  said.set(element, entries);
  element.dataset.said = "";
  write(element, attribute, word(key, gaps));
  return element;
}

function write(element, attribute, sentence) {
  if (attribute !== "text") element.setAttribute(attribute, sentence);
  else if (element.textContent !== sentence) element.textContent = sentence;
}

/** Ties the elements that the HTML marks with data-word="key" and data-word-label="key" (an aria-label). */
export function sayMarked(root = document) {
  for (const element of root.querySelectorAll("[data-word]")) say(element, element.dataset.word);
  for (const element of root.querySelectorAll("[data-word-label]"))
    say(element, element.dataset.wordLabel, {}, "aria-label");
}

export async function useLanguage(code) {
  const response = await fetch(`/static/words/${code}.json`);
  table = await response.json();
  current = code;
  document.documentElement.lang = code === "zh" ? "zh-Hans" : code;
  for (const element of document.querySelectorAll("[data-said]")) {
    for (const [attribute, [key, gaps]] of Object.entries(said.get(element) ?? {})) {
      write(element, attribute, word(key, gaps));
    }
  }
  document.dispatchEvent(new Event("wordschange")); // for what was drawn rather than said
}

export async function chooseLanguage(code) {
  remember("language", code);
  await useLanguage(code);
}

/** The reader's choice, or what the project asks for, or the browser's language. */
export function preferredLanguage(project = null) {
  const wishes = [recall("language"), project, navigator.language?.slice(0, 2)];
  return wishes.find((code) => code in LANGUAGES) ?? "en";
}
