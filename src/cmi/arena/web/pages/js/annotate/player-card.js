// What a player looks like: play button, waveform or seek bar, time, loop, and for takes how much was heard.
import { minutes } from "../clock.js";
import { el } from "../dom.js";
import { icon, redraw } from "../icons.js";
import { announce, unwarn, warn } from "../live.js";
import { say, word } from "../words.js";
import { draw } from "./waveform.js";

/** `needed`: seconds to hear before a vote, or null for a recording that nobody has to hear; `onSkip`: null if the pair
 * can't be skipped; `named`: the words of its title. */
export function playerCard(player, onSkip, needed = null, named = [`player.name.${player.name}`]) {
  const name = () => word(...named);
  const play = el(
    "button",
    { class: "take__play", type: "button", on: { click: () => player.toggle() } },
    icon("play", 28),
  );
  const wave = el("div", { class: "take__wave" });
  const seek = el("input", { class: "seek", type: "range", min: 0, max: player.seconds, step: 0.1, value: 0 });
  const time = el("p", { class: "take__time" });
  const loop = el(
    "button",
    { class: "button button--plain small", type: "button", on: { click: () => player.markLoop() } },
    icon("loop", 18),
    el("span"),
  );
  const heard = needed === null ? null : heardLine(player, needed, name);
  const title = el("h3", { class: "take__name", id: `player-${player.name}`, word: named });
  seek.addEventListener("input", () => player.seek(Number(seek.value)));

  const showPosition = () => {
    seek.value = player.position;
    const gaps = { now: minutes(player.position), length: minutes(player.seconds) };
    time.textContent = `${gaps.now} / ${gaps.length}`;
    say(seek, "player.position", gaps, "aria-valuetext");
  };
  const showState = () => {
    if (player.playing) unwarn("sound");
    redraw(play, player.playing ? "pause" : "play");
    say(play, player.playing ? "player.pause" : "player.play", { name }, "aria-label");
    say(seek, "player.seek", { name }, "aria-label");
    const step = player.loop === null ? "start" : player.loop.end === undefined ? "end" : "off";
    say(loop.lastChild, `player.loop.${step}`);
    loop.setAttribute("aria-pressed", String(player.loop !== null));
  };
  player.addEventListener("move", showPosition);
  player.addEventListener("change", showState);
  player.addEventListener("blocked", () => warn("sound", "caution", "player.blocked"));
  player.addEventListener("broken", () => {
    const skip =
      onSkip && el("button", { class: "button", type: "button", word: "player.skip", on: { click: onSkip } });
    warn("sound", "alarm", "player.broken", { name }, retryButton(player), skip);
  });
  showPosition();
  showState();

  const card = el(
    "article",
    { class: `take take--${player.name}`, "aria-labelledby": title.id, "data-player": player.name },
    el("div", { class: "row row--apart" }, title, heard),
    el("div", { class: "take__row" }, play, wave),
    el("div", { class: "row row--apart" }, time, loop),
  );
  wave.append(seek);
  return { card, play, settle: () => wave.classList.toggle("take__wave--plain", draw(wave, player) === null) };
}

function retryButton(player) {
  const again = () => {
    player.audio.load();
    player.play();
  };
  return el("button", { class: "button", type: "button", word: "player.retry", on: { click: again } });
}

function heardLine(player, needed, name) {
  const fill = el("span");
  const text = el("span");
  const line = el(
    "p",
    { class: "take__heard" },
    text,
    el("span", { class: "take__gauge", "aria-hidden": "true" }, fill),
  );
  let enough = false;
  const show = () => {
    const { seconds } = player.meter;
    fill.style.transform = `scaleX(${needed > 0 ? Math.min(1, seconds / needed) : 1})`;
    const key = seconds >= needed ? "heard.enough" : "heard.partly";
    say(text, key, { heard: Math.floor(seconds), needed: Math.ceil(needed) });
    line.classList.toggle("take__heard--enough", seconds >= needed);
    if (!enough && seconds >= needed && needed > 0)
      announce("heard.announce", { name });
    enough = seconds >= needed;
  };
  player.addEventListener("move", show);
  show();
  return line;
}
