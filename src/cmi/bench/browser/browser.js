"use strict";

// Answers are data: whatever they hold reaches the page as text nodes, never as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const STEP = 40; // items shown at a time; more come when the end is near
const LONG = 600, LONG_QUESTION = 150; // characters

const at = (id) => document.getElementById(id);
const make = (tag, text, kind) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
};

let found = []; // the items that the filters leave, in order
let shown = 0; // how many of them are on the page
let current = -1; // the one that the keys move from

const unique = (values) => [...new Set(values)];
const setOf = (item) => data.sets[item.set];

function fill(select, values, all) {
  select.append(new Option(all, ""), ...values.map((value) => new Option(value, value)));
}

function haystack(item) {
  item.text ??= [item.answer, item.truth, item.reading ?? "", item.clip, data.questions[item.question]]
    .join("\n").toLowerCase();
  return item.text;
}

// How bad an answer is, out of 100; a lower-is-better rate is bad by itself. Null where items have no score.
function badness(item) {
  if (!item.scores.length || item.scores[0] === null) return null;
  return setOf(item).metrics[0].better === "higher" ? 100 - item.scores[0] : item.scores[0];
}

// Unread first, then by score; items without one come last, in their order.
function byBadness(a, b) {
  const unread = (a.reading === null ? 0 : 1) - (b.reading === null ? 0 : 1);
  if (unread) return unread;
  return (badness(b) ?? -1) - (badness(a) ?? -1);
}

function search() {
  const dataset = at("dataset").value, model = at("model").value;
  const words = at("search").value.trim().toLowerCase();
  found = data.items.filter((item) =>
    (!dataset || setOf(item).dataset === dataset) &&
    (!model || setOf(item).model === model) &&
    (!at("unparsed").checked || item.reading === null) &&
    (!words || haystack(item).includes(words)));
  if (at("worst").checked) found.sort(byBadness);
  at("items").replaceChildren();
  shown = 0;
  current = -1;
  describe();
  showMore();
}

function describe() {
  const unread = found.filter((item) => item.reading === null).length;
  const silent = found.filter((item) => !item.answered).length;
  at("count").textContent =
    `${found.length} of ${data.items.length} answers; ${unread} unparsed, of these ${silent} without any answer.`;
  const lines = unique(found.map((item) => item.set)).map((number) => data.sets[number]).flatMap(remarks);
  at("corpus").replaceChildren(...unique(lines).map((line) => make("li", line)));
}

function remarks(set) {
  const lines = set.notComputed.map((why) => `not computed, ${why}`);
  if (set.wholeSet.length) {
    const rest = set.metrics.length ? "" : "; worst first puts unparsed answers first and leaves the rest in order";
    lines.push(`${set.dataset}: ${set.wholeSet.join(", ")}: of the whole set, so that no single answer has a score${rest}`);
  }
  return lines;
}

function showMore() {
  const next = found.slice(shown, shown + STEP);
  at("items").append(...next.map((item, i) => card(item, shown + i)));
  shown += next.length;
  at("more").hidden = shown >= found.length;
}

function card(item, index) {
  const set = setOf(item);
  const element = make("li", undefined, item.reading === null ? "unparsed" : "");
  element.tabIndex = -1;
  element.dataset.index = index;
  const head = make("h2", `${set.model} · ${set.dataset} · ${item.place}`);
  set.metrics.forEach((metric, i) => {
    const score = item.scores[i];
    head.append(make("span", score === null ? `${metric.name} not scored` : `${metric.name} ${score.toFixed(2)}`, "score"));
  });
  if (!item.answered) head.append(make("span", "no answer", "flag"));
  else if (item.reading === null) head.append(make("span", "unparsed", "flag"));
  element.append(head, sound(item));
  const list = make("dl");
  const lines = [["Question", data.questions[item.question], LONG_QUESTION], ["Answer", item.answer, LONG],
    ["Truth", item.truth, LONG], ["Read as", item.reading ?? "nothing that could be read", LONG]];
  for (const [name, text, longest] of lines) list.append(make("dt", name), passage(text || "(empty)", longest));
  element.append(list);
  element.addEventListener("focusin", () => { current = index; });
  return element;
}

// A long text is folded up behind its beginning.
function passage(text, longest) {
  if (text.length <= longest) return make("dd", text);
  const folded = make("details");
  const beginning = text.slice(0, LONG_QUESTION).split("\n")[0];
  folded.append(make("summary", `${beginning} … (${text.length} characters)`), make("div", text));
  const element = make("dd");
  element.append(folded);
  return element;
}

function sound(item) {
  if (item.sound === null) return make("p", `No sound here: ${item.clip}`, "quiet");
  const player = make("audio");
  player.controls = true;
  player.preload = "none";
  player.src = data.sounds[item.sound];
  player.setAttribute("aria-label", item.clip);
  return player;
}

function go(step) {
  const next = Math.min(Math.max(current + step, 0), found.length - 1);
  while (next >= shown && shown < found.length) showMore();
  const element = at("items").children[next];
  if (!element) return;
  current = next;
  element.focus();
}

function playOrPause() {
  const player = at("items").children[current]?.querySelector("audio");
  if (!player) return;
  if (player.paused) player.play().catch(() => {}); // the player itself shows that it can't
  else player.pause();
}

const KEYS = {
  j: () => go(1),
  k: () => go(-1),
  " ": playOrPause,
  "/": () => at("search").focus(),
  u: () => at("unparsed").click(),
  w: () => at("worst").click(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && event.target === at("search")) return at("search").blur();
  if (event.target.closest("input[type=search], select, button, summary, audio")) return;
  const act = KEYS[event.key];
  if (!act || (event.key === " " && !event.target.closest("#items > li"))) return; // space also ticks and scrolls
  event.preventDefault();
  act();
});

// One recording at a time.
document.addEventListener("play", ({ target }) => {
  for (const player of document.querySelectorAll("audio")) if (player !== target) player.pause();
}, true);

let waiting;
at("search").addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(search, 150);
});
for (const id of ["dataset", "model", "unparsed", "worst"]) at(id).addEventListener("change", search);
at("filters").addEventListener("submit", (event) => event.preventDefault());
at("more").addEventListener("click", showMore);
new IntersectionObserver((entries) => {
  if (entries.some((entry) => entry.isIntersecting) && shown < found.length) showMore();
}, { rootMargin: "600px" }).observe(at("more"));

document.title = data.title;
at("title").textContent = data.title;
at("about").textContent = `Protocol ${data.protocol}. Scores are those of each answer alone, times 100.`;
fill(at("dataset"), unique(data.sets.map((set) => set.dataset)), "all");
fill(at("model"), unique(data.sets.map((set) => set.model)), "all");
search();
