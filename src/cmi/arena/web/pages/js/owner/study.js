// The study itself: open, paused or closed; its settings and consent text; its data; and a new study.
import { patch, post } from "../api.js";
import { openDialog } from "../dialog.js";
import { el } from "../dom.js";
import { confirmSaved } from "../live.js";
import { LANGUAGES } from "../words.js";
import { actionButton, field, linkList, section } from "./actions.js";
import { participantsLink, recruitForm, screeningForm } from "./recruit.js";

const SHARES = ["overlap_share", "gold_share", "repeat_share", "heard_share"];

export function showStudy(holder, project, canChange, onChange) {
  const change = async (body) => {
    await patch("/api/owner/project", body);
    confirmSaved("study.saved");
    await onChange();
  };
  holder.replaceChildren(
    section("state", stateRow(project, canChange, change)),
    section(
      "data",
      el("p", { word: "data.hint" }),
      el(
        "div",
        { class: "row" },
        el("a", { class: "button", href: "/api/owner/export.jsonl", download: "votes.jsonl", word: "data.export" }),
        participantsLink(),
        project.kind === "pairs"
          ? null
          : el("a", { class: "button", href: "/api/owner/answers.csv", download: "answers.csv", word: "data.answers" }),
      ),
    ),
    ...(canChange
      ? [
          section("settings", settingsForm(project, change)),
          section("screening", screeningForm(project, change)),
          section("recruit", recruitForm(project, change)),
          section("new-study", newStudyForm()),
        ]
      : []),
  );
}

export function stateRow(project, canChange, change) {
  const to = (state, key, kind = "") => actionButton(key, () => change({ state }), { kind });
  const buttons = {
    open: () => [to("paused", "study.pause"), closeButton(change)],
    paused: () => [to("open", "study.open", "button--main"), closeButton(change)],
    closed: () => [to("open", "study.reopen")],
  };
  return el(
    "div",
    { class: "row" },
    el("span", { class: `pill pill--${project.state}`, word: `study.is.${project.state}` }),
    ...(canChange ? buttons[project.state]() : []),
  );
}

function closeButton(change) {
  return actionButton("study.close", () => {
    const close = async () => {
      dialog.close();
      await change({ state: "closed" });
    };
    const dialog = openDialog(
      "study.close",
      el("p", { word: "study.close.more" }),
      el("div", { class: "row" }, actionButton("study.close.sure", close, { kind: "button--alarm" })),
    );
  });
}

function settingsForm(project, change) {
  const { settings } = project;
  const title = el("input", { value: project.title, maxlength: 200 });
  const consent = el("textarea", { maxlength: 20000 });
  consent.value = project.consent;
  const whole = (name, least) =>
    el("input", { type: "number", min: least, step: 1, value: settings[name] ?? "", placeholder: "field.quota.none" });
  const quota = whole("quota", 1);
  const votes = whole("overlap_votes", 1);
  const shares = SHARES.map((name) =>
    el("input", { type: "number", min: 0, max: 100, step: "any", value: Number((100 * settings[name]).toFixed(4)) }),
  );
  const most = el("input", { type: "number", min: 0, step: "any", value: settings.heard_most });
  const margin = el("input", {
    type: "number",
    min: 0.1,
    max: 40,
    step: "any",
    value: Number((100 * settings.margin).toFixed(4)),
  });
  const matched = el("input", { type: "checkbox", checked: settings.level_matched });
  const uncertain = el("input", { type: "checkbox", checked: settings.uncertain_first });
  const reference = el("input", { type: "checkbox", checked: settings.require_reference });
  const language = el(
    "select",
    {},
    Object.entries(LANGUAGES).map(([code, name]) =>
      el("option", { value: code, selected: code === settings.language }, name),
    ),
  );
  const save = () =>
    change({
      title: title.value.trim(),
      consent: consent.value,
      settings: {
        quota: quota.value ? Number(quota.value) : null,
        overlap_votes: Number(votes.value),
        ...Object.fromEntries(SHARES.map((name, index) => [name, Number(shares[index].value) / 100])),
        heard_most: Number(most.value),
        margin: Number(margin.value) / 100,
        level_matched: matched.checked,
        require_reference: reference.checked,
        uncertain_first: uncertain.checked,
        language: language.value,
      },
    });
  const [overlap, gold, repeat, heard] = SHARES.map((name, index) => field(name, shares[index], { hint: true }));
  return el(
    "div",
    { class: "form" },
    field("title", title),
    field("consent", consent, { hint: true }),
    el("div", { class: "form__pair" }, field("quota", quota, { hint: true }), field("language", language)),
    el("div", { class: "form__pair" }, overlap, field("overlap_votes", votes, { hint: true })),
    el("div", { class: "form__pair" }, gold, repeat),
    el("div", { class: "form__pair" }, heard, field("heard_most", most, { hint: true })),
    field("margin", margin, { hint: true }),
    el("label", { class: "tick" }, matched, el("span", { word: "field.level_matched" })),
    el("label", { class: "tick" }, reference, el("span", { word: "field.require_reference" })),
    el("label", { class: "tick" }, uncertain, el("span", { word: "field.uncertain_first" })),
    el("div", { class: "row" }, actionButton("save", save, { kind: "button--main" })),
  );
}

function newStudyForm() {
  const title = el("input", { maxlength: 200 });
  const made = el("div", { class: "stack", "aria-live": "polite" });
  const make = async () => {
    const { link } = await post("/api/owner/projects", { title: title.value.trim() });
    made.replaceChildren(el("p", { word: "new-study.made" }), linkList([link]));
  };
  return el(
    "div",
    { class: "form" },
    field("new-title", title),
    el("div", { class: "row" }, actionButton("new-study.make", make)),
    made,
  );
}
