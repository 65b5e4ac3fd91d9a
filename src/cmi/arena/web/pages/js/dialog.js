// Modal dialogs.
import { el } from "./dom.js";

/** A dialog with a title and a close button; it leaves the page when closed. Escape and focus are the browser's. */
export function openDialog(titleKey, ...children) {
  const title = el("h2", { word: titleKey, id: `dialog-${titleKey}` });
  const close = el("button", {
    class: "button",
    type: "button",
    word: "dialog.close",
    on: { click: () => dialog.close() },
  });
  const dialog = el(
    "dialog",
    { "aria-labelledby": title.id, on: { close: () => dialog.remove() } },
    el("div", { class: "dialog" }, title, ...children, el("div", { class: "row" }, close)),
  );
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
