// Builds elements. Text always becomes a text node: nothing here, or anywhere in these pages, parses HTML.
import { say } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * el("button", {class: "chip", word: "player.loop.start", on: {click}}, child, "text")
 *
 * word: key, or [key, gaps]: the element's text in the reader's language; label, placeholder: the same for those
 * attributes; on: listeners; any other name is an attribute, left out when null or false, bare when true.
 */
export function el(tag, attributes = {}, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return furnish(document.createElementNS(SVG, tag), attributes, children);
}

function furnish(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === "word") say(element, ...[value].flat());
    else if (name === "label") say(element, ...withGaps(value), "aria-label");
    else if (name === "placeholder") say(element, ...withGaps(value), "placeholder");
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function withGaps(value) {
  const [key, gaps = {}] = [value].flat();
  return [key, gaps];
}
