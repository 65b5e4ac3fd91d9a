// The header of every page: title, language, theme. Pages add their own buttons to #tools.
import { el } from "./dom.js";
import { icon } from "./icons.js";
import { recall, remember } from "./storage.js";
import { chooseLanguage, language, LANGUAGES, preferredLanguage, say, sayMarked, useLanguage } from "./words.js";

const THEMES = ["auto", "light", "dark"];

/** Loads the words and sets the header up. Everything else on a page waits for it. */
export async function startPage() {
  await useLanguage(preferredLanguage());
  sayMarked();
  document.getElementById("switches").append(languageSwitch(), themeSwitch());
  document.querySelector("main").hidden = false;
}

/** The project's own language, unless the reader chose another. */
export async function followProject(project) {
  document.getElementById("title").textContent = project.title;
  const wanted = preferredLanguage(project.language);
  if (wanted !== language()) await useLanguage(wanted);
}

function languageSwitch() {
  const other = () => (language() === "en" ? "zh" : "en");
  const button = el("button", { class: "button button--plain", type: "button", id: "language" });
  const show = () => {
    button.textContent = LANGUAGES[other()];
    button.lang = other() === "zh" ? "zh-Hans" : other();
  };
  button.addEventListener("click", async () => {
    await chooseLanguage(other());
    show();
  });
  show();
  return button;
}

function themeSwitch() {
  const button = el("button", { class: "button button--plain", type: "button", id: "theme" }, icon("theme"));
  let theme = recall("theme", "auto");
  const show = () => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    say(button, `theme.${theme}`, {}, "aria-label");
    say(button, `theme.${theme}`, {}, "title");
    document.dispatchEvent(new Event("themechange"));
  };
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    remember("theme", theme);
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
    document.dispatchEvent(new Event("themechange")),
  );
  show();
  return button;
}
