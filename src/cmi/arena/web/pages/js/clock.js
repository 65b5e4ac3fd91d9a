// Times as people write them.
import { language } from "./words.js";

/** 83.4 -> "1:23" */
export function minutes(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

/** UTC seconds -> a short date and time in the reader's language and zone. */
export function when(seconds) {
  const place = navigator.languages.find((tag) => tag.startsWith(language())) ?? language();
  const format = new Intl.DateTimeFormat(place, { dateStyle: "medium", timeStyle: "short" });
  return format.format(new Date(seconds * 1000));
}
