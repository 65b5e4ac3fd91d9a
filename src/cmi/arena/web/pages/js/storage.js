// What the browser keeps: JSON values by key in localStorage, or in memory where that is closed to us.
const PREFIX = "cmi-arena:";
const memory = new Map();

export function remember(key, value) {
  const text = JSON.stringify(value);
  memory.set(key, text);
  try {
    localStorage.setItem(PREFIX + key, text);
    return true;
  } catch {
    return false; // full or forbidden: it lives as long as the page does
  }
}

export function recall(key, otherwise = null) {
  let text = memory.get(key) ?? null;
  try {
    text = localStorage.getItem(PREFIX + key) ?? text;
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise;
  }
}

export function forget(key) {
  memory.delete(key);
  try {
    localStorage.removeItem(PREFIX + key);
  } catch {
    // nothing was kept
  }
}

/** The keys that start with `start`, without our own prefix. */
export function keysStarting(start) {
  const found = new Set([...memory.keys()].filter((key) => key.startsWith(start)));
  try {
    for (const key of Object.keys(localStorage)) {
      if (key.startsWith(PREFIX + start)) found.add(key.slice(PREFIX.length));
    }
  } catch {
    // memory is all there is
  }
  return [...found];
}
