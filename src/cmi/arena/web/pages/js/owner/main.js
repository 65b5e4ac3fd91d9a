// The owner's page: an overview that stays up to date, people, pairs and votes or trials and ratings, and the study. Observers see, owners change.
import { get, post, Refusal, whoAmI } from "../api.js";
import { el } from "../dom.js";
import { followProject, startPage } from "../header.js";
import { unwarn, warn } from "../live.js";
import { readAddress } from "./links.js";
import { showOverview } from "./overview.js";
import { showPair } from "./pair.js";
import { showPairs } from "./pairs.js";
import { showPeople } from "./people.js";
import { showPerson } from "./person.js";
import { showRatings } from "./ratings.js";
import { showStudy } from "./study.js";
import { showTrial } from "./trial.js";
import { showTrials } from "./trials.js";
import { showVotes } from "./votes.js";

const TABS = {
  overview: (holder, signal, { canChange, kind }) => showOverview(holder, signal, canChange, kind),
  people: (holder, signal, { canChange }) => showPeople(holder, signal, canChange),
  pairs: (holder, signal, { canChange }, query) => showPairs(holder, signal, canChange, query),
  votes: (holder, signal, _, query) => showVotes(holder, signal, query),
  study: async (holder, signal, { canChange }) => {
    const project = await get("/api/owner/project");
    document.getElementById("title").textContent = project.title;
    showStudy(holder, project, canChange, () => TABS.study(holder, signal, { canChange }));
  },
};

// Of a project with ratings: what leads to votes and people leads to ratings.
const showTheirs = (holder, signal, _, { id, person = id }) => showRatings(holder, signal, person ? { person } : {});
const RATED_TABS = {
  overview: TABS.overview,
  people: TABS.people,
  trials: (holder, signal, _, query) => showTrials(holder, signal, query),
  ratings: (holder, signal, _, query) => showRatings(holder, signal, query),
  study: TABS.study,
};
const RATED_PAGES = {
  trial: { tab: "trials", show: (holder, signal, { canChange }, query) => showTrial(holder, signal, canChange, query) },
  votes: { tab: "ratings", show: showTheirs },
  person: { tab: "ratings", show: showTheirs },
};

// Pages that a tab leads to, with the tab that stays marked.
const PAGES = {
  pair: { tab: "pairs", show: (holder, signal, { canChange }, query) => showPair(holder, signal, canChange, query) },
  person: { tab: "people", show: (holder, signal, _, query) => showPerson(holder, signal, query) },
};

let leaving = new AbortController();

async function start() {
  await startPage();
  const holder = document.getElementById("work");
  try {
    const me = await whoAmI();
    await followProject(me.project);
    const about = { canChange: me.person.role === "owner", kind: me.project.kind };
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
  const { name: asked, query } = readAddress(location.hash);
  const [tabs, pages] = about.kind === "pairs" ? [TABS, PAGES] : [RATED_TABS, RATED_PAGES];
  const name = Object.hasOwn(tabs, asked) ? asked : Object.hasOwn(pages, asked) ? pages[asked].tab : "overview";
  document
    .getElementById("tabs")
    .replaceChildren(
      ...Object.keys(tabs).map((tab) =>
        el("a", { href: `#${tab}`, word: `tab.${tab}`, "aria-current": tab === name ? "page" : null }),
      ),
    );
  leaving.abort();
  leaving = new AbortController();
  unwarn("tab");
  unwarn("action");
  try {
    const show = Object.hasOwn(pages, asked) ? pages[asked].show : tabs[name];
    await show(holder, leaving.signal, about, query);
  } catch (error) {
    holder.replaceChildren();
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
