// The annotator's page: asks for a pair, shows it, sends the vote, asks for the next one. A vote that is not with the
// server yet comes first: no new pair is fetched while one waits.
import { get, post, Refusal, whoAmI } from "../api.js";
import { el } from "../dom.js";
import { icon } from "../icons.js";
import { followProject, startPage } from "../header.js";
import { confirmSaved, unwarn, warn } from "../live.js";
import { forget, recall, remember } from "../storage.js";
import { say } from "../words.js";
import { CheckPage } from "./checks.js";
import { Drafts, dropOldDrafts } from "./draft.js";
import { exitPart } from "./exit.js";
import { openHelp } from "./help.js";
import { listenToKeys } from "./keyboard.js";
import { Outbox, pause } from "./outbox.js";
import { PairPage } from "./pair.js";
import { summary } from "./questions.js";
import { RATING_PAGES, ratingSummary } from "./ratings.js";
import { openPrivacy } from "./privacy.js";
import { openRecent } from "./recent.js";
import { stateCard } from "./states.js";
import { changeVolume } from "./volume.js";

const DONE = {
  quota: "quota",
  "no more pairs": "no-more",
  paused: "paused",
  closed: "closed",
  "screened out": "screened-out",
  "not ready": "not-ready",
};
const WAITING = new Set(["paused", "no more pairs", "not ready"]); // what may change while the page is open
const ENDS = new Set(["quota", "no more pairs", "closed", "screened out"]);
const LOOK_AGAIN_MS = 20_000;
const RETRY_MS = 3000;
const PAIRS = { next: "/api/next", views: "/api/views", Page: PairPage, summary };
const RATED = { next: "/api/trials/next", views: "/api/trials", summary: ratingSummary };

let me = null;
let outbox = null;
let drafts = null;
let left = false;
let work = PAIRS; // what the project asks for
let page = null; // the pair on the page, if any

async function start() {
  await startPage();
  show(stateCard("loading"));
  me = await insist(whoAmI);
  if (me === null) return;
  await followProject(me.project);
  const { kind } = me.project;
  if (kind !== "pairs") {
    work = { ...RATED, Page: RATING_PAGES[kind] };
    say(document.querySelector("h1"), `annotate.title.${kind}`);
  }
  outbox = new Outbox(me.person.id, work.views);
  drafts = new Drafts(me.person.id);
  outbox.addEventListener("stuck", () => {
    unwarn("offline"); // one banner says it
    warn("unsent", "caution", "vote.unsent");
  });
  outbox.addEventListener("sent", ({ detail }) => drafts.drop(detail));
  addEventListener("offline", () => warn("offline", "caution", "offline"));
  addEventListener("online", () => unwarn("offline"));
  dropOldDrafts();
  addTools();
  listenToKeys(shortcuts());
  await sendAndGoOn();
}

/** Tries `question` until the server answers. Null when we are signed out, which the page then says. */
async function insist(question) {
  for (;;) {
    try {
      const answer = await question();
      unwarn("unreachable");
      return answer;
    } catch (error) {
      if (error instanceof Refusal) {
        showRefusal(error);
        return null;
      }
      warn("unreachable", "caution", "unreachable");
      await pause(RETRY_MS);
    }
  }
}

async function sendAndGoOn() {
  const waiting = outbox.waiting.length;
  if (waiting > 0) show(stateCard("sending"));
  try {
    await outbox.send();
  } catch (refusal) {
    unwarn("unsent");
    showRefusedVote(refusal);
    return;
  }
  unwarn("unsent");
  if (waiting > 0) confirmSaved("vote.saved");
  await showNext();
}

async function showNext() {
  if (left) return;
  const next = await insist(() => get(work.next));
  if (next === null) return;
  if (next.done) {
    showDone(next.done);
    return;
  }
  if (next.qualifying) {
    remember(qualifyingKey(), true);
    warn("qualifying", "fine", "qualifying.hint", next.progress);
  } else if (recall(qualifyingKey())) {
    showQualified(next);
    return;
  }
  showProgress(next.progress, next.qualifying);
  await showPair(next);
}

const qualifyingKey = () => `qualifying:${me.person.id}`;

/** The qualification is passed: said once on this device, before the first pair of the study. */
function showQualified(next) {
  const goOn = () => {
    forget(qualifyingKey());
    showProgress(next.progress);
    showPair(next);
  };
  const button = el("button", {
    class: "button button--main button--large",
    type: "button",
    id: "go-on",
    word: "state.qualified.on",
    on: { click: goOn },
  });
  showState("qualified", {}, button);
}

async function showChecks() {
  page?.close();
  page = null;
  const checks = new CheckPage({
    onDone: () => {
      checks.close();
      showNext();
    },
    onFailure: showFailure,
  });
  show(checks.element);
  await insist(() => checks.open());
}

async function showPair(assigned) {
  page = new work.Page(assigned, {
    drafts,
    views: work.views,
    levelMatched: me.project.settings.level_matched,
    onFailure: showFailure,
    onSkip: () => skip(assigned.view),
    onVote: (ballot) => {
      outbox.add(assigned.view, ballot);
      unwarn("correcting");
      sendAndGoOn();
    },
  });
  show(page.element);
  scrollTo({ top: 0 });
  await page.open();
}

/** On to another pair: this one has a recording that can't be played. It comes back once the owner has repaired it. */
async function skip(view) {
  try {
    await post(`${work.views}/${encodeURIComponent(view)}/skip`);
  } catch (error) {
    showFailure(error);
    return;
  }
  unwarn("sound");
  unwarn("failure");
  page?.close();
  await showNext();
}

async function correct(view) {
  const assigned = await insist(() => get(`${work.views}/${encodeURIComponent(view)}`));
  if (assigned === null) return;
  page?.close();
  const cancel = () => {
    drafts.drop(view);
    unwarn("correcting");
    page.close();
    showNext();
  };
  await showPair(assigned);
  warn(
    "correcting",
    "fine",
    "recent.correcting",
    {},
    el("button", { class: "button", type: "button", word: "recent.cancel", on: { click: cancel } }),
  );
}

// What the page shows

function show(...elements) {
  document.getElementById("work").replaceChildren(...elements);
}

function showState(name, gaps = {}, ...actions) {
  unwarn("qualifying");
  page?.close();
  page = null;
  const card = stateCard(name, gaps, ...actions);
  show(card);
  card.querySelector("h2").focus();
}

function showProgress({ done, quota }, qualifying = false) {
  const count = document.getElementById("count");
  say(count, qualifying ? "progress.qualifying" : quota === null ? "progress.count" : "progress.of", { done, quota });
  document.getElementById("bar").style.transform = `scaleX(${quota ? Math.min(1, done / quota) : 0})`;
}

async function showDone(reason) {
  if (reason === "checks") {
    await showChecks();
    return;
  }
  const name = DONE[reason] ?? "no-more";
  if (!document.querySelector(`[data-state="${name}"]`)) {
    showState(name); // said already, when we look again
    if (ENDS.has(reason)) await showExit();
  }
  whoAmI()
    .then(({ progress }) => showProgress(progress))
    .catch(() => null);
  if (WAITING.has(reason)) setTimeout(() => page === null && showNext(), LOOK_AGAIN_MS);
}

/** The code and the way back below what the page says, if the study has any. */
async function showExit() {
  const end = await insist(() => get("/api/exit"));
  if (end === null || page !== null || end.outcome === null) return;
  forget(qualifyingKey());
  const reason = end.screened_out ? el("p", { word: `exit.${end.screened_out}` }) : "";
  document.querySelector("#work [data-state]")?.append(reason, exitPart(end) ?? "");
}

function showRefusal(refusal) {
  if (refusal.status === 401) showState("signed-out");
  else showState("refused", { message: refusal.message }, againButton(showNext));
}

function showRefusedVote(refusal) {
  if (refusal.status === 401) {
    showState("signed-out-unsent");
    return;
  }
  const back = () => {
    outbox.drop(refusal.view);
    sendAndGoOn();
  };
  const discard = () => {
    drafts.drop(refusal.view);
    back();
  };
  showState(
    "vote-refused",
    { message: refusal.message },
    againButton(sendAndGoOn),
    el("button", { class: "button", type: "button", word: "vote.back", on: { click: back } }),
    el("button", { class: "button button--alarm", type: "button", word: "vote.discard", on: { click: discard } }),
  );
}

/** A failure that leaves the pair where it is. */
function showFailure(error) {
  if (error instanceof Refusal && error.status === 401) showRefusal(error);
  else if (error instanceof Refusal) warn("failure", "alarm", "failure", { message: error.message });
  else warn("failure", "caution", "unreachable.try");
}

function againButton(action) {
  return el("button", { class: "button button--main", type: "button", word: "again", on: { click: action } });
}

/** The person signed out or withdrew: nothing more is asked for, and of who withdrew nothing stays here. */
function leave(state, { exit = null } = {}) {
  if (state === "withdrawn") {
    drafts.dropAll();
    outbox.dropAll();
  }
  left = true;
  document.getElementById("links").hidden = true;
  showState(state);
  if (exit) document.querySelector("#work [data-state]").append(exitPart(exit) ?? "");
}

// Tools and keys

const help = () => openHelp(me.project.kind);

function addTools() {
  const button = el(
    "button",
    { class: "button button--plain", id: "help", type: "button", label: "help.title", on: { click: help } },
    icon("help"),
  );
  document.getElementById("tools").append(button);
  document.getElementById("recent").addEventListener("click", () => {
    openRecent(work.views, work.summary, correct).catch(showFailure);
  });
  document
    .getElementById("privacy")
    .addEventListener("click", () => openPrivacy(me, { onLeft: leave, onFailure: showFailure }));
  document.getElementById("links").hidden = false;
}

function shortcuts() {
  const take = (name) => () => page?.begun && page.deck.named(name) && page.switchTo(name);
  const withTake = (action) => () => page?.deck.current && action(page.deck.current);
  const open = (action) => () => page?.begun && page.heardEnough && action();
  const answer = (action) =>
    open(() => {
      page.active.focus(); // so that Enter goes on from here and is not a button's
      action(page.active);
    });
  return {
    " ": withTake((player) => player.toggle()),
    a: take("a"),
    b: take("b"),
    r: () => page?.deck.named("reference")?.toggle(),
    l: withTake((player) => player.markLoop()),
    ArrowLeft: withTake((player) => player.nudge(-1)),
    ArrowRight: withTake((player) => player.nudge(+1)),
    "+": () => changeVolume(+0.05),
    "=": () => changeVolume(+0.05),
    "-": () => changeVolume(-0.05),
    "Shift+A": answer((question) => question.choose?.("a")),
    "Shift+B": answer((question) => question.choose?.("b")),
    ...Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => [String(n), () => page?.begun && page.digit(n)])),
    f: open(() => page.feedback.area.focus()),
    t: open(() => page.deck.current.name !== "reference" && page.feedback.insertTime(page.deck.current)),
    Enter: () => page?.advance(),
    "?": help,
  };
}

document.addEventListener("keydown", (event) => {
  if (event.target.id !== "feedback") return;
  if (event.key === "Escape") page.active.focus();
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) page.vote();
});

start();
