// Signing in by an invite link: /join#token.
//
// The token leaves the address bar at once, so that it ends up in no history, bookmark or screenshot; until it is used
// it is kept for this tab alone, so that a reload does not lose it.
import { get, post, Refusal } from "./api.js";
import { el } from "./dom.js";
import { followProject, startPage } from "./header.js";
import { unwarn, warn } from "./live.js";

const KEPT_AS = "cmi-arena:invite";
const PAGES = { annotator: "/annotate", owner: "/owner", observer: "/owner" };

async function start() {
  const token = takeToken();
  await startPage();
  if (!token) {
    await goWhereSignedIn();
    return;
  }
  try {
    const invite = await post("/api/invite", { token });
    await followProject({ ...invite.project, language: invite.language });
    show(form(invite, token));
    document.querySelector("h1").focus();
  } catch (error) {
    showMessage(error instanceof Refusal ? "join.refused" : "join.unreachable", !(error instanceof Refusal));
  }
}

function takeToken() {
  const fromAddress = decodeURIComponent(location.hash.slice(1));
  if (fromAddress) {
    sessionStorage.setItem(KEPT_AS, fromAddress);
    history.replaceState(null, "", location.pathname);
  }
  return fromAddress || sessionStorage.getItem(KEPT_AS);
}

async function goWhereSignedIn() {
  try {
    const { person } = await get("/api/me");
    location.replace(PAGES[person.role]);
  } catch {
    showMessage("join.none");
  }
}

function form(invite, token) {
  const votes = invite.role === "annotator";
  const asks = votes && invite.consent !== ""; // owners and observers give no votes to agree about
  const name = el("input", { id: "name", autocomplete: "nickname", maxlength: 80, "aria-describedby": "name-hint" });
  const agree = el("input", { type: "checkbox", id: "agree", required: true });
  const join = async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      const { person } = await post("/api/join", { token, name: name.value.trim() || null, consent: true });
      sessionStorage.removeItem(KEPT_AS);
      location.replace(PAGES[person.role]);
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
      el("p", { class: "quiet", word: `join.role.${invite.role}` }),
    ),
    asks
      ? el(
          "section",
          { class: "stack" },
          el("h2", { word: "privacy.consent" }),
          el("p", { class: "written" }, invite.consent),
        )
      : null,
    el(
      "div",
      { class: "field" },
      el("label", { for: "name", word: "join.name" }),
      name,
      el("p", { class: "quiet small", id: "name-hint", word: "join.name.hint" }),
    ),
    asks ? el("label", { class: "tick" }, agree, el("span", { word: "join.agree" })) : null,
    el("div", {}, button),
  );
}

function showMessage(key, retry = false) {
  show(
    el(
      "section",
      { class: "card card--centre stack arrives" },
      el("h1", { word: key }),
      el("p", { class: "quiet", word: `${key}.more` }),
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
