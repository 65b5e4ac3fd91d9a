// Small pictures on buttons, drawn here so that nothing has to be fetched. They are never the only label.
import { svg } from "./dom.js";

const DRAWINGS = {
  play: "M8 5.5v13l11-6.5z",
  pause: "M7 5h3.5v14H7zM13.5 5H17v14h-3.5z",
  loop: "M17 2.5 21 6l-4 3.5V7H8a3 3 0 0 0-3 3v1.5H3V10a5 5 0 0 1 5-5h9zM7 21.5 3 18l4-3.5V17h9a3 3 0 0 0 3-3v-1.5h2V14a5 5 0 0 1-5 5H7z",
  sound: "M4 9v6h4l5 4.5v-15L8 9zm12.2-.9a5.5 5.5 0 0 1 0 7.8l1.4 1.4a7.5 7.5 0 0 0 0-10.6z",
  tick: "M9.5 17.6 4.4 12.5l1.7-1.7 3.4 3.4 8.4-8.4 1.7 1.7z",
  theme: "M12 3a9 9 0 1 0 9 9A7 7 0 0 1 12 3z",
  help: "M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20zm1 15h-2v-2h2zm1.6-6.2-.8.8c-.6.6-.8 1-.8 1.9h-2v-.5c0-1 .4-1.6 1-2.3l1.2-1.2A1.6 1.6 0 0 0 12 6.8c-1 0-1.6.7-1.6 1.7h-2A3.6 3.6 0 0 1 12 4.8a3.5 3.5 0 0 1 2.6 6z",
};

export function icon(name, size = 20) {
  const path = svg("path", { d: DRAWINGS[name], fill: "currentColor" });
  return svg("svg", { viewBox: "0 0 24 24", width: size, height: size, "aria-hidden": "true" }, path);
}

export function redraw(holder, name) {
  holder.querySelector("path").setAttribute("d", DRAWINGS[name]);
}
