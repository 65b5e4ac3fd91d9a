"use strict";

// The answers and what can be asked of them. Nothing here touches the document, so that it can be tested alone.

const OUTCOMES = ["right", "partly", "wrong", "unparsed", "unscored"]; // numbered as in items.py
const SCORED = new Set(["right", "partly", "wrong", "unparsed"]);
const SEARCHED = {
  answers: ["answer"],
  readings: ["reading"],
  truths: ["truth"],
  questions: ["question"],
  clips: ["clip"],
  everything: ["answer", "reading", "truth", "question", "clip"],
};
const DEFAULTS = {
  task: "", dataset: "", model: "", other: "", show: "", order: "", words: "", where: "answers", cell: null, item: "",
};
const ORDERS = ["worst", "best", "file", "longest", "shortest"];
const PAIR_ORDERS = ["a-first", "b-first", "worst", "file"];
const FREQUENT = 20; // confusions listed if there are too many classes for a table
const MOST_CLASSES = 30;

// One object per answer. Texts stay numbers: what they say is in data.texts, each text once.
function listItems(data) {
  return data.sets.flatMap((set, number) => {
    const columns = set.columns;
    return columns.place.map((place, i) => ({
      set: number,
      place,
      question: columns.question[i],
      answer: columns.answer[i],
      truth: columns.truth[i],
      reading: columns.reading[i],
      expected: columns.expected[i],
      clip: columns.clip[i],
      sound: columns.sound[i],
      asked: columns.asked[i],
      answered: columns.answered[i] === 1,
      outcome: OUTCOMES[columns.outcome[i]],
      scores: columns.scores.map((scores) => scores[i]),
    }));
  });
}

const unique = (values) => [...new Set(values)];
const nameOf = (data, item) => `${data.sets[item.set].model}/${data.sets[item.set].dataset}/${item.place}`;

// From 0 (worst) to 100 (best) for any metric; null where an answer has no score.
function goodness(data, item, metric = 0) {
  const score = item.scores[metric] ?? null;
  if (score === null) return null;
  return data.sets[item.set].metrics[metric].better === "higher" ? score : 100 - score;
}

// Which texts hold the words, by number; null if there are no words to look for.
function findTexts(data, words) {
  const wanted = words.trim().toLowerCase();
  if (!wanted) return null;
  data.lower ??= data.texts.map((text) => text.toLowerCase());
  return data.lower.map((text) => text.includes(wanted));
}

function chosenSets(data, state) {
  return data.sets.map((set) =>
    (!state.task || set.task === state.task) &&
    (!state.dataset || set.dataset === state.dataset) &&
    (!state.model || set.model === state.model));
}

// The items that all filters but `show` leave.
function filterItems(data, items, state) {
  const sets = chosenSets(data, state);
  const found = findTexts(data, state.words);
  const fields = SEARCHED[state.where];
  return items.filter((item) =>
    sets[item.set] &&
    (found === null || fields.some((field) => item[field] !== null && found[item[field]])) &&
    (state.cell === null || isInCell(data, item, state.cell)));
}

function isInCell(data, item, [truth, reading]) {
  return item.expected !== null && data.texts[item.expected] === truth &&
    (item.reading === null ? null : data.texts[item.reading]) === reading;
}

const isError = (item) => ["partly", "wrong", "unparsed"].includes(item.outcome);

// What may be shown of single answers and of pairs, by name.
const SHOWN = { "": () => true, errors: isError };
for (const outcome of OUTCOMES) SHOWN[outcome] = (item) => item.outcome === outcome;
const isRight = (item) => item.outcome === "right";
const isScored = (pair) => SCORED.has(pair.a.outcome) && SCORED.has(pair.b.outcome);
const SHOWN_PAIRS = {
  "": () => true,
  both: (pair) => isScored(pair) && isRight(pair.a) && isRight(pair.b),
  "only-a": (pair) => isScored(pair) && isRight(pair.a) && !isRight(pair.b),
  "only-b": (pair) => isScored(pair) && !isRight(pair.a) && isRight(pair.b),
  neither: (pair) => isScored(pair) && !isRight(pair.a) && !isRight(pair.b),
  "better-a": (pair) => pair.difference > 0,
  "better-b": (pair) => pair.difference < 0,
};

// Pairs of answers to the same question; `alone` counts the questions that only one of the two models has.
function pairItems(data, items, state) {
  const of = (model) => items.filter((item) => data.sets[item.set].model === model);
  const ours = of(state.model), theirs = new Map(of(state.other).map((item) => [item.asked, item]));
  const pairs = ours.filter((a) => theirs.has(a.asked)).map((a) => {
    const b = theirs.get(a.asked);
    const [good, other] = [goodness(data, a), goodness(data, b)];
    return { a, b, difference: good === null || other === null ? null : good - other };
  });
  return { pairs, alone: ours.length + theirs.size - 2 * pairs.length };
}

// The pairs that all filters but `show` leave; the words may be in either answer.
function filterPairs(data, items, state) {
  const ofBoth = { ...state, model: "", cell: null };
  const { pairs, alone } = pairItems(data, filterItems(data, items, { ...ofBoth, words: "" }), state);
  const left = new Set(filterItems(data, pairs.flatMap((pair) => [pair.a, pair.b]), ofBoth));
  return { pairs: pairs.filter((pair) => left.has(pair.a) || left.has(pair.b)), alone };
}

// Numbers ascend, and what has none comes last.
const ascending = (value) => (x, y) => {
  const [a, b] = [value(x), value(y)];
  if (a === null || b === null) return (a === null) - (b === null);
  return a - b;
};
const negative = (value) => (value === null ? null : -value);

// Unparsed answers are worse than any that could be read.
const rank = (data, item) => (item.outcome === "unparsed" ? -1 : goodness(data, item));

function sortItems(data, items, order) {
  const length = (item) => data.texts[item.answer].length;
  const orders = {
    worst: ascending((item) => rank(data, item)),
    best: ascending((item) => negative(rank(data, item))),
    longest: ascending((item) => -length(item)),
    shortest: ascending(length),
  };
  return order === "file" ? items : [...items].sort(orders[order || ORDERS[0]]);
}

function sortPairs(data, pairs, order) {
  const sum = (pair) => (pair.difference === null ? null : goodness(data, pair.a) + goodness(data, pair.b));
  const orders = {
    "a-first": ascending((pair) => negative(pair.difference)),
    "b-first": ascending((pair) => pair.difference),
    worst: ascending(sum),
  };
  return order === "file" ? pairs : [...pairs].sort(orders[order || PAIR_ORDERS[0]]);
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

// The mean score of the items by each metric, if they are of one set.
function meanScores(data, items) {
  const sets = unique(items.map((item) => item.set));
  if (sets.length !== 1) return [];
  return data.sets[sets[0]].metrics.flatMap(({ name }, i) => {
    const scores = items.map((item) => item.scores[i]).filter((score) => score !== null);
    return scores.length ? [{ name, mean: mean(scores), n: scores.length }] : [];
  });
}

// How often each class was read as which: rows are truths, columns readings, null for unparsed answers.
function confusion(data, items) {
  const counted = items.filter((item) => item.expected !== null && item.scores[0] !== null);
  const counts = new Map();
  for (const item of counted) {
    const truth = data.texts[item.expected], reading = item.reading === null ? null : data.texts[item.reading];
    const row = counts.get(truth) ?? counts.set(truth, new Map()).get(truth);
    row.set(reading, (row.get(reading) ?? 0) + 1);
  }
  const byName = (a, b) => a.localeCompare(b, "en", { numeric: true });
  const rows = [...counts.keys()].sort(byName);
  const columns = unique([...rows, ...[...counts.values()].flatMap((row) => [...row.keys()])]);
  return { rows, columns: [...columns.filter((name) => name !== null).sort(byName), null], counts, n: counted.length };
}

// The most frequent confusions, for sets with too many classes for a table.
function frequentConfusions({ counts }) {
  const wrong = [...counts].flatMap(([truth, row]) =>
    [...row].filter(([reading]) => reading !== truth).map(([reading, n]) => ({ truth, reading, n })));
  return wrong.sort((a, b) => b.n - a.n).slice(0, FREQUENT);
}

// A view is the part of the address behind '#'. What it can't be is left at its default.
function writeState(state) {
  const parameters = new URLSearchParams();
  for (const [name, usual] of Object.entries(DEFAULTS)) {
    if (state[name] !== usual) parameters.set(name, name === "cell" ? JSON.stringify(state.cell) : state[name]);
  }
  return parameters.toString();
}

function readState(hash, data) {
  const given = Object.fromEntries(new URLSearchParams(hash.replace(/^#/, "")));
  const state = { ...DEFAULTS };
  for (const name of Object.keys(DEFAULTS)) if (name !== "cell" && given[name] !== undefined) state[name] = given[name];
  for (const [name, field] of [["task", "task"], ["dataset", "dataset"], ["model", "model"], ["other", "model"]]) {
    if (!data.sets.some((set) => set[field] === state[name])) state[name] = "";
  }
  try {
    const cell = JSON.parse(given.cell ?? "null");
    const isCell = Array.isArray(cell) && cell.length === 2 && typeof cell[0] === "string";
    if (isCell && (cell[1] === null || typeof cell[1] === "string")) state.cell = cell;
  } catch { /* not a cell */ }
  return settle(state, data);
}

// Make a state consistent: two models to compare are two, and there are only choices that the page offers.
function settle(state, data) {
  const settled = { ...state };
  if (!Object.hasOwn(SEARCHED, settled.where)) settled.where = DEFAULTS.where;
  const inTask = data.sets.filter((set) => !settled.task || set.task === settled.task);
  if (!inTask.some((set) => set.dataset === settled.dataset)) settled.dataset = "";
  if (settled.other) {
    settled.model ||= data.sets.map((set) => set.model).find((model) => model !== settled.other) ?? "";
    if (!settled.model || settled.model === settled.other) settled.other = "";
  }
  const [shows, orders] = settled.other ? [SHOWN_PAIRS, PAIR_ORDERS] : [SHOWN, ORDERS];
  if (!Object.hasOwn(shows, settled.show)) settled.show = "";
  if (!orders.includes(settled.order) || settled.order === orders[0]) settled.order = ""; // the first is the usual one
  const sets = data.sets.filter((_, i) => chosenSets(data, settled)[i]);
  if (settled.other || sets.length !== 1) settled.cell = null;
  return settled;
}
