// One annotator: what their gold pairs, repeats and pace say, and every vote that they gave.
import { get } from "../api.js";
import { when } from "../clock.js";
import { el } from "../dom.js";
import { section } from "./actions.js";
import { BALLOT_ORDERS, checkbox, choice, filterBar } from "./filters.js";
import { screeningTable } from "./figures/screening.js";
import { voteList } from "./votes.js";

const KINDS = {
  "": "filter.all",
  study: "filter.study",
  gold: "kind.gold",
  repeat: "kind.repeat",
  qualification: "kind.qualification",
};

export async function showPerson(holder, signal, query) {
  const { person, screening } = await get(`/api/owner/people/${encodeURIComponent(query.id)}`);
  if (signal.aborted) return;
  const votes = voteList(signal, { person: false });
  const load = ({ id, ...chosen }) => votes.load({ ...chosen, person: id, hidden: true });
  const controls = {
    kind: choice(KINDS, query.kind),
    order: choice(BALLOT_ORDERS, query.order),
    feedback: checkbox(query, "feedback"),
  };
  holder.replaceChildren(
    el("p", {}, el("a", { href: "#people", word: "person.back" })),
    section(
      "person",
      el(
        "div",
        { class: "row" },
        el("strong", {}, person.name ?? person.id.slice(0, 8)),
        el("span", { class: `pill pill--${person.state}`, word: `state-of.${person.state}` }),
        el("span", { word: `role.${person.role}` }),
        el("span", { class: "quiet", word: ["person.joined", { time: when(person.created) }] }),
        el("span", { class: "quiet small" }, person.id),
      ),
      screening === null ? null : screeningTable([screening], { names: false }),
    ),
    section("person-votes", filterBar("person", controls, query, load), votes.element),
  );
  await load(query);
}
