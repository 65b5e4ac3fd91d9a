// The owner's page: an overview that stays up to date, people, pairs and the study. Observers see, owners change.
import { get, post, Refusal, whoAmI } from "../api.js";
import { el } from "../dom.js";
import { followProject, startPage } from "../header.js";
import { warn } from "../live.js";
import { showOverview } from "./overview.js";
import { showPairs } from "./pairs.js";
import { showPeople } from "./people.js";
import { showStudy } from "./study.js";

const TABS = {
  overview: (holder, signal, { canChange }) => showOverview(holder, signal, canChange),
  people: (holder, signal, { canChange }) => showPeople(holder, signal, canChange),
  pairs: (holder, signal, { canChange }) => showPairs(holder, signal, canChange),
  study: async (holder, signal, { canChange }) => {
    const project = await get("/api/owner/project");
    document.getElementById("title").textContent = project.title;
    showStudy(holder, project, canChange, () => TABS.study(holder, signal, { canChange }));
  },
};

let leaving = new AbortController();

async function start() {
  await startPage();
  const holder = document.getElementById("work");
  try {
    const me = await whoAmI();
    await followProject(me.project);
    const about = { canChange: me.person.role === "owner" };
    addTools();
    const open = () => openTab(holder, about);
    addEventListener("hashchange", open);
    open();
  } catch (error) {
    const key = error instanceof Refusal && error.status === 401 ? "state.signed-out" : "unreachable";
    holder.replaceChildren(
      el(
        "section",
        { class: "card card--centre stack" },
        el("h2", { word: key }),
        el("p", { class: "quiet", word: `${key}.more` }),
      ),
    );
  }
}

async function openTab(holder, about) {
  const name = location.hash.slice(1) in TABS ? location.hash.slice(1) : "overview";
  document
    .getElementById("tabs")
    .replaceChildren(
      ...Object.keys(TABS).map((tab) =>
        el("a", { href: `#${tab}`, word: `tab.${tab}`, "aria-current": tab === name ? "page" : null }),
      ),
    );
  leaving.abort();
  leaving = new AbortController();
  try {
    await TABS[name](holder, leaving.signal, about);
  } catch (error) {
    warn("tab", "alarm", "failure", { message: error.message });
  }
}

function addTools() {
  const signOut = async () => {
    await post("/api/sign-out");
    location.replace("/");
  };
  document
    .getElementById("tools")
    .append(
      el("button", { class: "button button--plain", type: "button", word: "privacy.sign-out", on: { click: signOut } }),
    );
}

start();
