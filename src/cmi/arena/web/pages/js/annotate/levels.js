// How loud each recording plays: the listener's volume, remembered, and level matching where the study wants it.
//
// Level matching needs `gain` decibels per recording. A page can turn down but not up, so the gains of one pair are
// shifted together until the largest is 0 dB: the recordings keep matching one another.
// Where a device does not let a page set the volume (phones of one maker), a gain node does it; it may only be made
// after a gesture, so it is made when a recording first plays.
import { recall, remember } from "../storage.js";

const DEFAULT_VOLUME = 0.8;
let context = null;

export class Levels {
  #outputs = []; // {audio, gain, node}
  #matched;
  volume = recall("volume", DEFAULT_VOLUME);

  constructor(matched) {
    this.#matched = matched;
  }

  add(audio, gain) {
    const output = { audio, gain, node: null };
    this.#outputs.push(output);
    audio.addEventListener("play", () => this.#amplify(output));
    this.#apply();
  }

  setVolume(volume) {
    this.volume = Math.min(1, Math.max(0, volume));
    remember("volume", this.volume);
    this.#apply();
  }

  #apply() {
    const highest = Math.max(0, ...this.#outputs.map(({ gain }) => gain));
    for (const output of this.#outputs) {
      const level = this.volume * (this.#matched ? 10 ** ((output.gain - highest) / 20) : 1);
      if (output.node) output.node.gain.value = level;
      else output.audio.volume = level;
    }
  }

  #amplify(output) {
    if (output.node || volumeCanBeSet(output.audio)) return;
    context ??= new AudioContext();
    context.resume();
    output.node = context.createGain();
    context.createMediaElementSource(output.audio).connect(output.node).connect(context.destination);
    this.#apply();
  }
}

function volumeCanBeSet(audio) {
  const before = audio.volume;
  audio.volume = 0.5;
  const can = audio.volume === 0.5;
  audio.volume = before;
  return can;
}
