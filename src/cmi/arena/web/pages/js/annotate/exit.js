// The way out: the code to take along, and the link back to where the participant came from.
import { el } from "../dom.js";
import { announce } from "../live.js";

/** `exit`: {url, code}, either of which may be null; null if there is neither. */
export function exitPart({ url, code }) {
  if (!url && !code) return null;
  return el(
    "div",
    { class: "stack exit" },
    code ? codeRow(code) : null,
    url
      ? el("a", {
          class: "button button--main button--large",
          id: "leave",
          href: url,
          rel: "noreferrer",
          word: "exit.leave",
        })
      : el("p", { class: "quiet", word: "exit.enter-code" }),
  );
}

function codeRow(code) {
  const text = el("input", { class: "text exit__code", id: "code", readonly: true, value: code, size: 12 });
  const copied = () => {
    copy.replaceChildren(el("span", { word: "invite.copied" }));
    if (document.getElementById("status")) announce("invite.copied");
  };
  const take = () => {
    text.select();
    if (!navigator.clipboard) return document.execCommand("copy") && copied();
    return navigator.clipboard.writeText(code).then(copied, () => document.execCommand("copy") && copied());
  };
  const label = el("span", { word: "invite.copy" });
  const copy = el("button", { class: "button", type: "button", on: { click: take } }, label);
  return el("div", { class: "row" }, el("label", { for: "code", word: "exit.code" }), text, copy);
}
