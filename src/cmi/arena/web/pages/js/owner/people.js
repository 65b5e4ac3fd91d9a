// Who takes part, and the invitations to do so.
import { get, patch, post, remove } from "../api.js";
import { when } from "../clock.js";
import { openDialog } from "../dialog.js";
import { el } from "../dom.js";
import { word } from "../words.js";
import { actionButton, attempt, field, linkList, section } from "./actions.js";
import { linked, personAt, votesAt } from "./links.js";
import { DASH } from "./numbers.js";
import { table } from "./table.js";

export async function showPeople(holder, signal, canChange) {
  const people = el("div", { class: "stack" });
  const invites = el("div", { class: "stack" });
  const refresh = async () => {
    const [persons, sent] = await Promise.all([get("/api/owner/people"), get("/api/owner/invites")]);
    if (signal.aborted) return;
    people.replaceChildren(peopleTable(persons, canChange, refresh));
    invites.replaceChildren(
      invitesTable(
        sent.filter((invite) => !invite.revoked && invite.used_at === null),
        canChange,
        refresh,
      ),
    );
  };
  holder.replaceChildren(
    ...(canChange ? [section("invite", inviteForm(refresh))] : []),
    section("people", people),
    section("invites", invites),
  );
  await attempt(refresh);
}

function inviteForm(refresh) {
  const role = el(
    "select",
    {},
    ["annotator", "observer", "owner"].map((name) => el("option", { value: name, word: `role.${name}` })),
  );
  const count = el("input", { type: "number", min: 1, max: 200, value: 1 });
  const days = el("input", { type: "number", min: 1, max: 365, value: 14 });
  const quota = el("input", { type: "number", min: 1, placeholder: "field.quota.none" });
  const made = el("div", { class: "stack", "aria-live": "polite" });
  const make = async () => {
    const body = {
      role: role.value,
      count: Number(count.value),
      days: Number(days.value),
      quota: quota.value ? Number(quota.value) : null,
    };
    const links = await post("/api/owner/invites", body);
    made.replaceChildren(el("p", { word: "invite.once" }), linkList(links.map(({ link }) => link)));
    await refresh();
  };
  return el(
    "div",
    { class: "form" },
    el(
      "div",
      { class: "form__row" },
      field("role", role),
      field("count", count),
      field("days", days),
      field("invite-quota", quota, { hint: true }),
    ),
    el("div", { class: "row" }, actionButton("invite.make", make, { kind: "button--main" })),
    made,
  );
}

function peopleTable(people, canChange, refresh) {
  const change = (person, body) => async () => {
    await patch(`/api/owner/people/${encodeURIComponent(person.id)}`, body);
    await refresh();
  };
  const admit = (person) => async () => {
    await post(`/api/owner/people/${encodeURIComponent(person.id)}/admit`);
    await refresh();
  };
  const actions = (person) => {
    if (!canChange || person.state === "withdrawn") return "";
    const signOut = actionButton("person.sign-out", () => askSignOut(person));
    if (person.role !== "annotator") return el("div", { class: "row" }, signOut);
    const paused = person.state === "paused";
    return el(
      "div",
      { class: "row" },
      actionButton(paused ? "person.resume" : "person.pause", change(person, { state: paused ? "active" : "paused" })),
      actionButton("person.quota", () => askQuota(person, refresh)),
      actionButton("person.link", async () =>
        openDialog(
          "person.link",
          el("p", { word: "person.link.more" }),
          linkList([(await post(`/api/owner/people/${encodeURIComponent(person.id)}/link`)).link]),
        ),
      ),
      signOut,
      person.screened_out ? actionButton("person.admit", admit(person)) : null,
      actionButton("person.withdraw", () => askWithdrawal(person, refresh), { kind: "button--alarm" }),
    );
  };
  return table(
    [
      { word: "column.person", value: (person) => linked(nameOf(person), personAt(person.id)), class: "name" },
      { word: "column.role", value: (person) => word(`role.${person.role}`) },
      {
        word: "column.state",
        value: (person) =>
          el(
            "div",
            { class: "row" },
            el("span", { class: `pill pill--${person.state}`, word: `state-of.${person.state}` }),
            person.screened_out ? el("span", { class: "pill", word: `screened-out.${person.screened_out}` }) : null,
          ),
      },
      {
        word: "column.votes",
        value: (person) => {
          const votes = person.quota === null ? person.votes : `${person.votes} / ${person.quota}`;
          return linked(votes, votesAt({ person: person.id, hidden: true }));
        },
        number: true,
      },
      { word: "column.joined", value: (person) => when(person.created) },
      { word: "column.actions", value: actions, class: "actions" },
    ],
    people,
    "section.people",
  );
}

const nameOf = (person) => person.name ?? person.id.slice(0, 8);

function askQuota(person, refresh) {
  const quota = el("input", { type: "number", min: 1, value: person.quota ?? "", placeholder: "field.quota.none" });
  const save = async () => {
    await patch(`/api/owner/people/${encodeURIComponent(person.id)}`, {
      quota: quota.value ? Number(quota.value) : null,
    });
    dialog.close();
    await refresh();
  };
  const dialog = openDialog(
    "person.quota",
    el("p", {}, nameOf(person)),
    field("person-quota", quota, { hint: true }),
    el("div", { class: "row" }, actionButton("save", save, { kind: "button--main" })),
  );
}

function askSignOut(person) {
  const signOut = async () => {
    await post(`/api/owner/people/${encodeURIComponent(person.id)}/sign-out`);
    dialog.close();
  };
  const dialog = openDialog(
    "person.sign-out",
    el("p", { word: ["person.sign-out.more", { name: nameOf(person) }] }),
    el("div", { class: "row" }, actionButton("person.sign-out.sure", signOut, { kind: "button--alarm" })),
  );
}

function askWithdrawal(person, refresh) {
  const withdraw = async () => {
    await post(`/api/owner/people/${encodeURIComponent(person.id)}/withdraw`);
    dialog.close();
    await refresh();
  };
  const dialog = openDialog(
    "person.withdraw",
    el("p", { word: ["person.withdraw.more", { name: nameOf(person), votes: person.votes }] }),
    el("div", { class: "row" }, actionButton("person.withdraw.sure", withdraw, { kind: "button--alarm" })),
  );
}

function invitesTable(invites, canChange, refresh) {
  if (invites.length === 0) return el("p", { class: "quiet", word: "invite.none" });
  const revoke = (invite) => async () => {
    await remove(`/api/owner/invites/${encodeURIComponent(invite.id)}`);
    await refresh();
  };
  return table(
    [
      { word: "column.role", value: (invite) => word(`role.${invite.role}`) },
      { word: "column.made", value: (invite) => when(invite.created) },
      { word: "column.expires", value: (invite) => when(invite.expires) },
      { word: "column.quota", value: (invite) => invite.quota ?? DASH, number: true },
      {
        word: "column.actions",
        value: (invite) => (canChange ? actionButton("invite.revoke", revoke(invite)) : ""),
        class: "actions",
      },
    ],
    invites,
    "section.invites",
  );
}
