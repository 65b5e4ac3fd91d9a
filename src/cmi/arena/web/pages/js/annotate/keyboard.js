// Keys for everything. `keys` maps a key to what it does; nothing fires while somebody writes, holds Ctrl, Alt or Meta,
// composes a character, or has a dialog open; and a focused control keeps the keys that are its own.
const OWN_KEYS = {
  BUTTON: [" ", "Enter"],
  A: ["Enter"],
  SUMMARY: [" ", "Enter"],
  SELECT: [" ", "Enter", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"],
  range: ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"],
  checkbox: [" "],
  radio: ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"],
};

export function listenToKeys(keys) {
  document.addEventListener("keydown", (event) => {
    if (event.repeat && !event.key.startsWith("Arrow")) return;
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.altKey || event.metaKey) return;
    if (document.querySelector("dialog[open]") || writes(event.target) || owns(event.target, event.key)) return;
    const action = keys[name(event)];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

/** 'a', 'Shift+A', '?', 'ArrowLeft': capitals mean that Shift is held, whatever Caps Lock says. */
function name(event) {
  if (!/^[a-z]$/i.test(event.key)) return event.key;
  return event.shiftKey ? `Shift+${event.key.toUpperCase()}` : event.key.toLowerCase();
}

function writes(target) {
  return target.matches("textarea, select, [contenteditable], input:not([type=radio], [type=checkbox], [type=range])");
}

function owns(target, key) {
  if (target.type === "radio" && key === " ") return !target.checked; // a checked one has no more use for the space bar
  return (OWN_KEYS[target.tagName] ?? OWN_KEYS[target.type] ?? []).includes(key);
}
