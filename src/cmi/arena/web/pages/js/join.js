// Signing in by an invite link, /join#token, or by a recruiting platform's link, /enter?study=token&...
//
// What is secret or personal leaves the address bar at once, so that it ends up in no history, bookmark or screenshot;
// until it is used it is kept for this tab alone, so that a reload does not lose it.
import { exitPart } from "./annotate/exit.js";
import { get, post, Refusal } from "./api.js";
import { el } from "./dom.js";
import { followProject, startPage } from "./header.js";
import { unwarn, warn } from "./live.js";

const IS_RECRUITED = location.pathname === "/enter";
const KEPT_AS = IS_RECRUITED ? "cmi-arena:entrance" : "cmi-arena:invite";
const PAGES = { annotator: "/annotate", owner: "/owner", observer: "/owner" };

async function start() {
  const link = takeLink();
  await startPage();
  if (!link) {
    await goWhereSignedIn();
    return;
  }
  try {
    const invite = await post(IS_RECRUITED ? "/api/enter/look" : "/api/invite", link);
    await followProject({ ...invite.project, language: invite.language });
    if (invite.place === "here") leaveFor("/annotate");
    else if (invite.place === "theirs") await enter(link, false);
    else if (invite.state === "closed") showEnd("state.closed", invite.exit);
    else {
      show(form(invite, link));
      document.querySelector("h1").focus();
    }
  } catch (error) {
    if (!(error instanceof Refusal)) showMessage("join.unreachable", {}, true);
    else showMessage(IS_RECRUITED ? "enter.refused" : "join.refused", { message: error.message });
  }
}

/** What the address says, as the server wants it. */
function takeLink() {
  const fromAddress = IS_RECRUITED ? location.search.slice(1) : decodeURIComponent(location.hash.slice(1));
  if (fromAddress) {
    sessionStorage.setItem(KEPT_AS, fromAddress);
    history.replaceState(null, "", location.pathname);
  }
  const kept = fromAddress || sessionStorage.getItem(KEPT_AS);
  if (!kept || !IS_RECRUITED) return kept && { token: kept };
  const { study = "", ...parameters } = Object.fromEntries(new URLSearchParams(kept));
  return { study, parameters };
}

async function enter(link, consent, name = null) {
  const { person } = IS_RECRUITED
    ? await post("/api/enter", { ...link, consent })
    : await post("/api/join", { ...link, name, consent: true });
  leaveFor(PAGES[person.role]);
}

function leaveFor(page) {
  sessionStorage.removeItem(KEPT_AS);
  location.replace(page);
}

async function goWhereSignedIn() {
  try {
    const { person } = await get("/api/me");
    location.replace(PAGES[person.role]);
  } catch {
    showMessage("join.none");
  }
}

function form(invite, link) {
  const votes = invite.role === "annotator";
  const asks = votes && invite.consent !== ""; // owners and observers give no votes to agree about
  const name = el("input", { id: "name", autocomplete: "nickname", maxlength: 80, "aria-describedby": "name-hint" });
  const agree = el("input", { type: "checkbox", id: "agree", required: true });
  const join = async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      await enter(link, true, name.value.trim() || null);
    } catch (error) {
      button.disabled = false;
      if (error instanceof Refusal)
        warn("join", "alarm", error.code === "invite" ? "join.refused" : "failure", { message: error.message });
      else warn("join", "caution", "unreachable.try");
    }
  };
  const button = el("button", {
    class: "button button--main button--large",
    type: "submit",
    word: votes ? "join.join" : "join.sign-in",
  });
  unwarn("join");
  return el(
    "form",
    { class: "card stack stack--wide arrives", on: { submit: join } },
    el(
      "div",
      { class: "stack" },
      el("h1", { tabindex: -1, word: ["join.title", { title: invite.project.title }] }),
      el("p", { class: "quiet", word: votes ? `join.task.${invite.project.kind}` : `join.role.${invite.role}` }),
    ),
    asks
      ? el(
          "section",
          { class: "stack" },
          el("h2", { word: "privacy.consent" }),
          el("p", { class: "written" }, invite.consent),
        )
      : null,
    IS_RECRUITED
      ? el("p", { class: "quiet", word: "enter.stored" })
      : el(
          "div",
          { class: "field" },
          el("label", { for: "name", word: "join.name" }),
          name,
          el("p", { class: "quiet small", id: "name-hint", word: "join.name.hint" }),
        ),
    asks ? el("label", { class: "tick" }, agree, el("span", { word: "join.agree" })) : null,
    el("div", { class: "row" }, button, IS_RECRUITED ? declineButton(invite.exit) : null),
  );
}

/** Whoever does not agree goes back to where they came from; nothing is stored of them. */
function declineButton(exit) {
  const decline = () => {
    sessionStorage.removeItem(KEPT_AS);
    showEnd("enter.declined", exit);
  };
  const on = { click: decline };
  return el("button", { class: "button", type: "button", id: "decline", word: "enter.decline", on });
}

function showEnd(key, exit) {
  show(
    el(
      "section",
      { class: "card card--centre stack arrives" },
      el("h1", { tabindex: -1, word: key }),
      el("p", { class: "quiet", word: `${key}.more` }),
      exitPart(exit),
    ),
  );
  document.querySelector("h1").focus();
}

function showMessage(key, gaps = {}, retry = false) {
  show(
    el(
      "section",
      { class: "card card--centre stack arrives" },
      el("h1", { word: key }),
      el("p", { class: "quiet", word: [`${key}.more`, gaps] }),
      retry
        ? el("button", {
            class: "button button--main",
            type: "button",
            word: "again",
            on: { click: () => location.reload() },
          })
        : null,
    ),
  );
}

function show(element) {
  document.getElementById("work").replaceChildren(element);
}

start();
