
// The page. Answers are data: whatever they hold reaches it as text nodes, never as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const items = listItems(data);
const STEP = 40; // items shown at a time; more come when the end is near
const LONG = 600, LONG_QUESTION = 150; // characters
const WIDE = "(min-width: 60rem)";

const at = (id) => document.getElementById(id);
const make = (tag, text, kind) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
};
const thousands = (number) => number.toLocaleString("en");
const plural = (n, one, many) => `${thousands(n)} ${n === 1 ? one : many}`;

let state = readState(location.hash, data);
let found = []; // the items or pairs that the filters leave, in order
let shown = 0; // how many of them are on the page
let current = -1; // the one that the keys move from

const LABELS = {
  "": "all", errors: "errors", right: "right", partly: "partly right", wrong: "wrong", unparsed: "unparsed",
  unscored: "no score of its own", both: "both right", "only-a": "only A right", "only-b": "only B right",
  neither: "neither right", "better-a": "A is better", "better-b": "B is better",
};
const ORDER_LABELS = {
  worst: "worst first", best: "best first", file: "as in the file", longest: "longest answer first",
  shortest: "shortest answer first", "a-first": "A better first", "b-first": "B better first",
};
const WHERE = {
  answers: "answers", readings: "what was read", truths: "correct answers", questions: "questions", clips: "clip names",
  everything: "everything",
};

function fill(select, entries, value) {
  select.replaceChildren(...entries.map(([name, label]) => new Option(label, name)));
  select.value = value;
}
const named = (names, all) => [["", all], ...unique(names).map((name) => [name, name])];

function fillFilters() {
  const inTask = data.sets.filter((set) => !state.task || set.task === state.task);
  const models = unique(data.sets.map((set) => set.model));
  fill(at("task"), named(data.sets.map((set) => set.task), "all"), state.task);
  fill(at("dataset"), named(inTask.map((set) => set.dataset), "all"), state.dataset);
  fill(at("model"), state.other ? models.map((model) => [model, `A: ${model}`]) : named(models, "all"), state.model);
  const others = models.filter((model) => model !== state.model || !state.model);
  fill(at("other"), [["", "no other model"], ...others.map((model) => [model, `B: ${model}`])], state.other);
  at("other").closest("label").hidden = models.length < 2;
  const orders = state.other ? PAIR_ORDERS : ORDERS;
  fill(at("order"), orders.map((order) => [order, ORDER_LABELS[order]]), state.order || orders[0]);
  fill(at("where"), Object.entries(WHERE), state.where);
  at("single").hidden = state.other !== "";
  if (at("words").value !== state.words) at("words").value = state.words;
}

// Every change goes through here: the state, the address, and what the page shows.
function change(changes) {
  state = settle({ ...state, item: "", ...changes }, data);
  keepAddress();
  showAll();
}

const keepAddress = () => history.replaceState(null, "", `#${writeState(state)}`);

function showAll() {
  fillFilters();
  const matching = state.other ? filterPairs(data, items, state) : { pairs: filterItems(data, items, state), alone: 0 };
  const shows = state.other ? SHOWN_PAIRS : SHOWN;
  const left = matching.pairs.filter(shows[state.show]);
  found = (state.other ? sortPairs : sortItems)(data, left, state.order);
  showCounts(matching.pairs, shows);
  describe(matching.alone);
  showConfusion();
  showCell();
  at("items").replaceChildren();
  shown = 0;
  current = -1;
  showMore();
}

function showCounts(candidates, shows) {
  const counts = Object.fromEntries(Object.keys(shows).map((name) => [name, candidates.filter(shows[name]).length]));
  const isGraded = counts["better-a"] !== counts["only-a"] || counts["better-b"] !== counts["only-b"];
  const saysNothing = { // these are left out
    partly: !counts.partly, unscored: !counts.unscored, "better-a": !isGraded, "better-b": !isGraded,
  };
  const said = Object.keys(counts).filter((name) => name === state.show || !saysNothing[name]);
  const buttons = said.map((name) => {
    const button = make("button", `${LABELS[name]} `);
    button.append(make("b", thousands(counts[name])));
    button.type = "button";
    button.dataset.show = name;
    button.setAttribute("aria-pressed", String(name === state.show));
    button.addEventListener("click", () => {
      change({ show: name });
      at("show").querySelector(`[data-show="${name}"]`).focus();
    });
    return button;
  });
  at("show").replaceChildren(...buttons);
}

function describe(alone) {
  const sides = state.other ? [found.map((pair) => pair.a), found.map((pair) => pair.b)] : [found];
  const silent = sides[0].filter((item) => !item.answered).length;
  const parts = state.other
    ? [`${plural(found.length, "question", "questions")} shown that both models have.`]
    : [`${thousands(found.length)} of ${plural(items.length, "answer", "answers")} shown.`];
  if (alone) parts.push(`${thousands(alone)} that only one of them has are left out.`);
  if (!state.other && silent) parts.push(`${thousands(silent)} of these have no answer at all.`);
  const means = sides.map((side) => meanScores(data, side));
  means[0].forEach(({ name, mean: value, n }, i) => {
    const values = means.map((side, k) => `${state.other ? `${"AB"[k]} ` : ""}${side[i]?.mean.toFixed(2)}`);
    const isOfAll = means.every((side) => side[i]?.name === name);
    if (isOfAll) parts.push(`Mean ${name} of these: ${values.join(", ")} (n = ${thousands(n)}).`);
  });
  at("count").textContent = parts.join(" ");
  const numbers = unique(sides.flat().map((item) => item.set));
  at("corpus").replaceChildren(...remarks(numbers).map((line) => make("li", line)));
}

function remarks(numbers) {
  const sets = [...new Map(numbers.map((number) => [data.sets[number].dataset, data.sets[number]])).values()];
  const whole = sets.filter((set) => set.wholeSet.length).map((set) => `${set.dataset} (${set.wholeSet.join(", ")})`);
  const lines = unique(sets.flatMap((set) => set.notComputed)).map((why) => `Not computed, ${why}.`);
  if (whole.length) lines.push(`Metrics of the whole set, by which no single answer has a score: ${whole.join("; ")}.`);
  return lines;
}

// The table of one model on one data set of classes; a cell leads to its answers.
function showConfusion() {
  const sets = chosenSets(data, state);
  const chosen = data.sets.filter((_, i) => sets[i]);
  const hasClasses = (set) => set.columns.expected.some((number) => number !== null);
  const isOne = !state.other && chosen.length === 1 && hasClasses(chosen[0]);
  const box = at("confusion"), [summary, place, note] = box.children;
  const withTable = unique(data.sets.filter(hasClasses).map((set) => set.dataset));
  box.hidden = !isOne;
  if (!isOne) {
    const advice = `For a confusion table choose one model and one of ${withTable.join(", ")}.`;
    if (!state.other && withTable.length && chosen.some(hasClasses)) at("corpus").append(make("li", advice));
    return;
  }
  const table = confusion(data, items.filter((item) => sets[item.set]));
  summary.textContent = `Confusion table: ${chosen[0].model} on ${chosen[0].dataset}, n = ${thousands(table.n)}`;
  const isList = table.columns.length - 1 > MOST_CLASSES;
  place.replaceChildren(isList ? confusionList(table) : confusionTable(table));
  note.textContent = isList
    ? `${table.columns.length - 1} classes are too many for a table: these are the ${FREQUENT} most frequent ` +
      "confusions. Choose a number to see its answers."
    : "Rows: the correct class. Columns: the class that was read from the answer. The tint is the share of the row. " +
      "Choose a number to see its answers.";
}

function cellButton(n, truth, reading) {
  const button = make("button", thousands(n));
  const said = reading === null ? "unparsed" : `read as ${reading}`;
  const isChosen = state.cell !== null && state.cell[0] === truth && state.cell[1] === reading;
  button.type = "button";
  button.title = `${truth}, ${said}: ${n}`;
  button.setAttribute("aria-label", button.title);
  button.setAttribute("aria-pressed", String(isChosen));
  button.dataset.cell = JSON.stringify([truth, reading]);
  return button;
}

function heading(text, scope, kind) {
  const cell = make("th", text, kind);
  cell.scope = scope;
  return cell;
}

function confusionTable({ rows, columns, counts }) {
  const table = make("table", undefined, "confusion"), head = make("tr"), body = make("tbody");
  head.append(heading("correct", "col"), ...columns.map((name) => heading(name ?? "unparsed", "col", "turned")));
  head.append(heading("n", "col"), heading("right", "col"));
  for (const truth of rows) {
    const row = counts.get(truth), total = [...row.values()].reduce((a, b) => a + b, 0), line = make("tr");
    line.append(heading(truth, "row"));
    for (const reading of columns) {
      const n = row.get(reading) ?? 0, cell = make("td", undefined, truth === reading ? "same" : "");
      if (n) {
        cell.append(cellButton(n, truth, reading));
        cell.style.setProperty("--share", `${Math.round((50 * n) / total)}%`);
      }
      line.append(cell);
    }
    const share = Math.round((100 * (row.get(truth) ?? 0)) / total);
    line.append(make("td", thousands(total), "number"), make("td", `${share} %`, "number"));
    body.append(line);
  }
  const top = make("thead");
  top.append(head);
  table.append(top, body);
  return walkable(table);
}

function confusionList(table) {
  const element = make("table", undefined, "confusion"), top = make("thead"), head = make("tr"), body = make("tbody");
  head.append(heading("correct", "col"), heading("read as", "col"), heading("n", "col"));
  top.append(head);
  for (const { truth, reading, n } of frequentConfusions(table)) {
    const line = make("tr"), cell = make("td", undefined, "number");
    cell.append(cellButton(n, truth, reading));
    line.append(heading(truth, "row"), make("td", reading ?? "unparsed"), cell);
    body.append(line);
  }
  element.append(top, body);
  return walkable(element);
}

// One stop for the tab key; arrows move between the numbers.
function walkable(table) {
  const buttons = [...table.querySelectorAll("button")];
  const first = buttons.find((button) => button.getAttribute("aria-pressed") === "true") ?? buttons[0];
  for (const button of buttons) button.tabIndex = button === first ? 0 : -1;
  table.addEventListener("keydown", (event) => {
    const steps = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] };
    const [down, right] = steps[event.key] ?? [0, 0];
    const from = event.target.closest("td");
    if (!from || (!down && !right)) return;
    event.preventDefault();
    let row = from.parentElement.rowIndex, column = from.cellIndex;
    do {
      row += down;
      column += right;
    } while (table.rows[row]?.cells[column] && !table.rows[row].cells[column].querySelector("button"));
    table.rows[row]?.cells[column]?.querySelector("button")?.focus();
  });
  table.addEventListener("click", (event) => {
    const chosen = event.target.closest("button")?.dataset.cell;
    if (!chosen) return;
    const isOff = JSON.stringify(state.cell) === chosen;
    change({ cell: isOff ? null : JSON.parse(chosen), show: "" });
    [...at("confusion").querySelectorAll("button")].find((button) => button.dataset.cell === chosen)?.focus();
  });
  return table;
}

function showCell() {
  at("cell").hidden = state.cell === null;
  if (state.cell === null) return;
  const [truth, reading] = state.cell;
  const all = make("button", "show all cells");
  all.type = "button";
  all.addEventListener("click", () => change({ cell: null }));
  const what = reading === null ? "unparsed" : `read as ${reading}`;
  at("cell").replaceChildren(make("span", `Only ${truth}, ${what}. `), all);
}

function showMore() {
  const next = found.slice(shown, shown + STEP);
  at("items").append(...next.map((one, i) => card(one, shown + i)));
  shown += next.length;
  at("more").hidden = shown >= found.length;
}

function card(one, index) {
  const item = one.a ?? one, set = data.sets[item.set];
  const element = make("li", undefined, item.outcome);
  element.tabIndex = -1;
  element.dataset.index = index;
  const head = make("h2", [...(one.a ? [] : [set.model]), set.dataset, item.place].join(" · "));
  if (!one.a) head.append(...badges(item));
  element.append(head, sound(item));
  const asked = ["Question", data.texts[item.question], LONG_QUESTION];
  const truth = ["Correct", data.texts[item.truth], LONG];
  if (one.a) {
    const sides = make("div", undefined, "sides");
    sides.append(side("A", one.a), side("B", one.b));
    element.append(lines([asked, truth]), sides);
  } else {
    element.append(lines([asked, said(item), truth, readAs(item)]));
  }
  element.addEventListener("focusin", () => note(index));
  return element;
}

const said = (item) => ["Answer", data.texts[item.answer], LONG];
const readAs = (item) =>
  ["Read as", item.reading === null ? "nothing that could be read" : data.texts[item.reading], LONG];

function side(letter, item) {
  const element = make("section"), head = make("h3", `${letter}: ${data.sets[item.set].model}`);
  head.append(...badges(item));
  element.append(head, lines([said(item), readAs(item)]));
  return element;
}

// The outcome in words, and each score as a number on its colour.
function badges(item) {
  const label = item.answered ? LABELS[item.outcome] : "no answer";
  const scores = data.sets[item.set].metrics.map(({ name }, i) => {
    const good = goodness(data, item, i);
    if (good === null) return make("span", `${name} not scored`, "score");
    return make("span", `${name} ${Number(item.scores[i].toFixed(2))}`, `score ${colourOf(good)}`);
  });
  return [make("span", label, "flag"), ...scores];
}

const colourOf = (good) => `score-${Math.max(0, Math.min(10, Math.floor(good / 10)))}`;

function lines(entries) {
  const list = make("dl");
  for (const [name, text, longest] of entries) list.append(make("dt", name), passage(text || "(empty)", longest));
  return list;
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
  const clip = data.texts[item.clip];
  if (item.sound === null) return make("p", `No sound here: ${clip}`, "quiet");
  const player = make("audio");
  player.controls = true;
  player.preload = "none";
  player.src = data.sounds[item.sound];
  player.setAttribute("aria-label", clip);
  return player;
}

// The item that the reader is at is in the address too, a moment later: browsers limit how often it may change.
let noting;
function note(index) {
  const one = found[index];
  current = index;
  clearTimeout(noting);
  noting = setTimeout(() => {
    if (found[index] !== one) return; // another view by now
    state.item = nameOf(data, one.a ?? one);
    keepAddress();
  }, 300);
}

function go(step) {
  focusOn(Math.min(Math.max(current + step, 0), found.length - 1));
}

function focusOn(index) {
  while (index >= shown && shown < found.length) showMore();
  const element = at("items").children[index];
  if (!element) return;
  current = index;
  element.focus();
}

function playOrPause() {
  const player = at("items").children[current]?.querySelector("audio");
  if (!player) return;
  if (player.paused) player.play().catch(() => {}); // the player itself shows that it can't
  else player.pause();
}

const toggle = (show) => () => state.other || change({ show: state.show === show ? "" : show });
const KEYS = {
  j: () => go(1),
  k: () => go(-1),
  " ": playOrPause,
  "/": () => at("words").focus(),
  e: toggle("errors"),
  u: toggle("unparsed"),
  w: () => change({ order: at("order").value === "worst" ? "file" : "worst" }),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && event.target === at("words")) return at("words").blur();
  if (event.target.closest("input[type=search], select, summary, audio")) return;
  if (event.key === " " && !event.target.closest("#items > li")) return; // space also presses and scrolls
  const act = KEYS[event.key];
  if (!act || event.target.closest("#items button")) return;
  event.preventDefault();
  act();
});

// One recording at a time.
document.addEventListener("play", ({ target }) => {
  for (const player of document.querySelectorAll("audio")) if (player !== target) player.pause();
}, true);

let waiting;
at("words").addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => change({ words: at("words").value }), 150);
});
for (const id of ["task", "dataset", "model", "other", "order", "where"]) {
  at(id).addEventListener("change", () => change({ [id]: at(id).value }));
}
at("filters").addEventListener("submit", (event) => event.preventDefault());
at("more").addEventListener("click", showMore);
new IntersectionObserver((entries) => {
  if (entries.some((entry) => entry.isIntersecting) && shown < found.length) showMore();
}, { rootMargin: "600px" }).observe(at("more"));

function open() {
  showAll();
  const index = state.item ? found.findIndex((one) => nameOf(data, one.a ?? one) === state.item) : -1;
  if (index >= 0) focusOn(index);
}
addEventListener("hashchange", () => {
  if (location.hash.replace(/^#/, "") === writeState(state)) return;
  state = readState(location.hash, data);
  open();
});

document.title = data.title;
at("title").textContent = data.title;
at("about").textContent = `Protocol ${data.protocol}. Scores are those of each answer alone, out of 100; right is ` +
  "the best possible score by the first metric, wrong the worst, partly right anything between. The address of this page " +
  "keeps the view.";
at("legend").append(...[0, 20, 40, 60, 80, 100].map((good) => make("span", String(good), `score ${colourOf(good)}`)));
at("confusion").open = matchMedia(WIDE).matches;
open();
