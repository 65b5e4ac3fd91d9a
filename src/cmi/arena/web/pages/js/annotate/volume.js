// The listener's volume, for all players at once.
import { el } from "../dom.js";
import { icon } from "../icons.js";

export function volumeControl(levels) {
  const slider = el("input", {
    type: "range",
    id: "volume",
    min: 0,
    max: 1,
    step: 0.05,
    value: levels.volume,
    label: "volume",
  });
  slider.addEventListener("input", () => levels.setVolume(Number(slider.value)));
  return el("div", { class: "volume quiet" }, icon("sound"), slider);
}

export function changeVolume(by) {
  const slider = document.getElementById("volume");
  if (!slider) return;
  slider.value = Number(slider.value) + by;
  slider.dispatchEvent(new Event("input"));
}
