// Buttons that change something on the server, and say so when they can't; the fields and cards around them.
import { el } from "../dom.js";
import { unwarn, warn } from "../live.js";

/** A button whose `action` is awaited; while it runs it can't be pressed again. */
export function actionButton(key, action, { kind = "", gaps = {} } = {}) {
  const button = el("button", { class: `button ${kind}`, type: "button", word: [key, gaps] });
  button.addEventListener("click", () => attempt(action, button));
  return button;
}

export async function attempt(action, button = null) {
  unwarn("action");
  if (button) button.disabled = true;
  try {
    return await action();
  } catch (error) {
    warn("action", "alarm", "failure", { message: error.message });
    return null;
  } finally {
    if (button) button.disabled = false;
  }
}

/** A field with its label: field("title", el("input", ...)). The control gets the id. */
export function field(name, control, { hint = false } = {}) {
  control.id = `field-${name}`;
  if (hint) control.setAttribute("aria-describedby", `hint-${name}`);
  return el(
    "div",
    { class: "field" },
    el("label", { for: control.id, word: `field.${name}` }),
    control,
    hint ? el("p", { class: "quiet small", id: `hint-${name}`, word: `field.${name}.hint` }) : null,
  );
}

/** A card with its heading. */
export function section(name, ...content) {
  return el(
    "section",
    { class: "card stack", "aria-labelledby": `section-${name}` },
    el("h2", { id: `section-${name}`, word: `section.${name}` }),
    ...content,
  );
}

/** Links that are shown once, each with a button that copies it. */
export function linkList(links) {
  return el(
    "ul",
    { class: "links" },
    links.map((link) => {
      const text = el("input", { class: "text", readonly: true, value: link, label: "invite.link" });
      const copied = () => copy.replaceChildren(el("span", { word: "invite.copied" }));
      const copy = el(
        "button",
        {
          class: "button",
          type: "button",
          on: {
            click: () => {
              text.select();
              navigator.clipboard?.writeText(link).then(copied, () => document.execCommand("copy") && copied());
            },
          },
        },
        el("span", { word: "invite.copy" }),
      );
      return el("li", {}, text, copy);
    }),
  );
}
