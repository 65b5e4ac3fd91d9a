// One recording: play, pause, seek, loop, and what of it was heard. What it looks like is in player-card.js.
//
// Events: "starting" (it is about to play), "change" (playing or loop changed), "move" (position or heard seconds changed),
// "blocked" (the browser wants a gesture first), "broken" (the recording can't be played).
import { HeardMeter } from "./heard.js";

const LOOK_MS = 100;
const SHORTEST_LOOP = 0.3;

export class Player extends EventTarget {
  loop = null; // null, {start} while its end is not set, or {start, end}
  #timer = null;
  #closing = new AbortController();
  closed = this.#closing.signal; // for listeners that should not outlive the player

  /** `sound`: {url, seconds, peaks, gain_db}; `name`: a, b or reference. */
  constructor(sound, name, { spans = [] } = {}) {
    super();
    this.sound = sound;
    this.name = name;
    this.meter = new HeardMeter(sound.seconds, spans);
    this.audio = new Audio();
    this.audio.preload = "auto";
    this.audio.src = sound.url;
    this.audio.addEventListener("playing", () => this.#started());
    for (const event of ["pause", "waiting", "ended"]) this.audio.addEventListener(event, () => this.#stopped(event));
    for (const event of ["seeking", "seeked"]) this.audio.addEventListener(event, () => this.#moved());
    this.audio.addEventListener("error", () => this.#tell("broken"), { signal: this.closed });
  }

  get playing() {
    return !this.audio.paused && !this.audio.ended;
  }

  get position() {
    return this.audio.currentTime;
  }

  get seconds() {
    return this.sound.seconds;
  }

  async play() {
    this.#tell("starting");
    if (this.audio.error) this.audio.load();
    try {
      await this.audio.play();
    } catch (error) {
      if (error.name === "NotAllowedError") this.#tell("blocked");
      else if (error.name !== "AbortError") this.#tell("broken");
    }
  }

  pause() {
    this.audio.pause();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  seek(position) {
    this.audio.currentTime = Math.min(Math.max(0, position), this.seconds);
  }

  /** A tenth of the recording, at most 5 s. */
  nudge(direction) {
    this.seek(this.position + direction * Math.min(5, this.seconds / 10));
  }

  /** First press: the loop starts here. Second: it ends here. Third: no loop. */
  markLoop() {
    if (this.loop === null) this.setLoop({ start: this.position });
    else if (this.loop.end !== undefined) this.setLoop(null);
    else this.setLoop({ start: this.loop.start, end: Math.max(this.position, this.loop.start + SHORTEST_LOOP) });
  }

  setLoop(loop) {
    this.loop = loop;
    this.#tell("change");
  }

  close() {
    this.pause();
    clearInterval(this.#timer);
    this.#closing.abort();
    this.audio.removeAttribute("src");
    this.audio.load();
  }

  #started() {
    this.meter.lift();
    clearInterval(this.#timer);
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
    this.#look();
    this.#tell("change");
  }

  #look() {
    if (this.audible) this.meter.listen(this.position, performance.now());
    if (this.loop?.end !== undefined && this.position >= this.loop.end) this.seek(this.loop.start);
    this.#tell("move");
  }

  get audible() {
    return this.playing && !this.audio.seeking && this.audio.volume > 0;
  }

  #stopped(event) {
    clearInterval(this.#timer);
    if (this.audio.volume > 0 && !this.audio.seeking) {
      this.meter.listen(event === "ended" ? this.seconds : this.position, performance.now());
    }
    this.meter.lift();
    this.#tell("move");
    this.#tell("change");
    if (event === "ended" && this.loop?.end !== undefined) {
      this.seek(this.loop.start);
      this.play();
    }
  }

  #moved() {
    this.meter.lift();
    this.#tell("move");
  }

  #tell(event) {
    this.dispatchEvent(new Event(event));
  }
}

/** Keeps one clip sounding at a time, and knows which take is the current one. */
export class Deck extends EventTarget {
  players = [];
  current = null;
  together = false; // whether a recording goes on where the last one was, in the same loop, and from its start at its end

  add(player) {
    this.players.push(player);
    player.addEventListener("starting", () => this.together && this.choose(player));
    player.audio.addEventListener("ended", () => this.together && player.loop?.end === undefined && player.play());
    player.audio.addEventListener("error", () => this.#playFromStart(player), { signal: player.closed });
    player.audio.addEventListener("play", () => {
      for (const other of this.players) if (other !== player) other.pause();
      this.choose(player);
    });
  }

  choose(player) {
    if (this.current === player) return;
    if (this.together && this.current !== null) {
      player.seek(this.current.position);
      player.setLoop(this.current.loop);
    }
    this.current = player;
    this.dispatchEvent(new Event("choose"));
  }

  /** Makes `player` the current one; what was playing stops and it goes on in its place. */
  switchTo(player) {
    const playing = this.players.some((other) => other.playing);
    this.choose(player);
    if (playing) player.play();
  }

  /** Browsers can fail to seek in the last second of a short recording: it then plays from its start. */
  #playFromStart(player) {
    if (!this.together || player.position === 0) return;
    player.audio.load();
    player.play();
  }

  named(name) {
    return this.players.find((player) => player.name === name) ?? null;
  }

  close() {
    for (const player of this.players) player.close();
    this.players = [];
  }
}
