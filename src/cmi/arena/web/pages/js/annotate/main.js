// The annotator's page: asks for a pair, shows it, sends the vote, asks for the next one. A vote that is not with the
// server yet comes first: no new pair is fetched while one waits.
import { get, post, Refusal, whoAmI } from "../api.js";
import { el } from "../dom.js";
import { icon } from "../icons.js";
import { followProject, startPage } from "../header.js";
import { confirmSaved, unwarn, warn } from "../live.js";
import { say } from "../words.js";
import { Drafts, dropOldDrafts } from "./draft.js";
import { openHelp } from "./help.js";
import { listenToKeys } from "./keyboard.js";
import { Outbox, pause } from "./outbox.js";
import { PairPage } from "./pair.js";
import { openPrivacy } from "./privacy.js";
import { openRecent } from "./recent.js";
import { stateCard } from "./states.js";
import { changeVolume } from "./volume.js";

const DONE = { quota: "quota", "no more pairs": "no-more", paused: "paused", closed: "closed" };
const LOOK_AGAIN_MS = 20_000;
const RETRY_MS = 3000;

let me = null;
let outbox = null;
let drafts = null;
let left = false;
let page = null; // the pair on the page, if any

async function start() {
  await startPage();
  show(stateCard("loading"));
  me = await insist(whoAmI);
  if (me === null) return;
  await followProject(me.project);
  outbox = new Outbox(me.person.id);
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
  const next = await insist(() => get("/api/next"));
  if (next === null) return;
  if (next.done) {
    showDone(next.done);
    return;
  }
  showProgress(next.progress);
  await showPair(next);
}

async function showPair(assigned) {
  page = new PairPage(assigned, {
    drafts,
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
    await post(`/api/views/${encodeURIComponent(view)}/skip`);
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
  const assigned = await insist(() => get(`/api/views/${encodeURIComponent(view)}`));
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
  page?.close();
  page = null;
  const card = stateCard(name, gaps, ...actions);
  show(card);
  card.querySelector("h2").focus();
}

function showProgress({ done, quota }) {
  const count = document.getElementById("count");
  say(count, quota === null ? "progress.count" : "progress.of", { done, quota });
  document.getElementById("bar").style.transform = `scaleX(${quota ? Math.min(1, done / quota) : 0})`;
}

function showDone(reason) {
  const name = DONE[reason] ?? "no-more";
  if (!document.querySelector(`[data-state="${name}"]`)) showState(name); // said already, when we look again
  whoAmI()
    .then(({ progress }) => showProgress(progress))
    .catch(() => null);
  if (reason === "paused" || reason === "no more pairs") setTimeout(() => page === null && showNext(), LOOK_AGAIN_MS);
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
function leave(state) {
  if (state === "withdrawn") {
    drafts.dropAll();
    outbox.dropAll();
  }
  left = true;
  document.getElementById("links").hidden = true;
  showState(state);
}

// Tools and keys

function addTools() {
  const help = el(
    "button",
    { class: "button button--plain", id: "help", type: "button", label: "help.title", on: { click: openHelp } },
    icon("help"),
  );
  document.getElementById("tools").append(help);
  document.getElementById("recent").addEventListener("click", () => openRecent(correct).catch(showFailure));
  document
    .getElementById("privacy")
    .addEventListener("click", () => openPrivacy(me, { onLeft: leave, onFailure: showFailure }));
  document.getElementById("links").hidden = false;
}

function shortcuts() {
  const take = (name) => () => page?.begun && page.switchTo(name);
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
    "Shift+A": answer((question) => question.choose("a")),
    "Shift+B": answer((question) => question.choose("b")),
    ...Object.fromEntries([1, 2, 3, 4, 5].map((level) => [String(level), answer((question) => question.rate(level))])),
    f: open(() => page.feedback.area.focus()),
    t: open(() => page.deck.current.name !== "reference" && page.feedback.insertTime(page.deck.current)),
    Enter: () => page?.advance(),
    "?": openHelp,
  };
}

document.addEventListener("keydown", (event) => {
  if (event.target.id !== "feedback") return;
  if (event.key === "Escape") page.active.focus();
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) page.vote();
});

start();
