// Recruiting: the link for a platform, where people go at the end, and the checks before the first pair.
import { get, post } from "../api.js";
import { el } from "../dom.js";
import { actionButton, attempt, field, linkList } from "./actions.js";

const NAMES = ["participant", "proof", "parameters"];
const EXITS = ["exit_complete", "exit_screened_out", "exit_returned"];

/** `change(body)` saves and shows the study anew. */
export function recruitForm({ settings }, change) {
  const texts = Object.fromEntries([...NAMES, ...EXITS].map((name) => [name, el("input", { value: settings[name] })]));
  const signed = el("input", { type: "checkbox", checked: settings.signed_only });
  const preset = (platform) =>
    actionButton(`recruit.${platform}`, async () => {
      const { platforms } = await get("/api/owner/recruiting");
      for (const [name, value] of Object.entries(platforms[platform])) texts[name].value = value;
    });
  const save = () => {
    const values = Object.entries(texts).map(([name, input]) => [name, input.value.trim()]);
    return change({ settings: { ...Object.fromEntries(values), signed_only: signed.checked } });
  };
  return el(
    "div",
    { class: "form" },
    el("p", { word: "recruit.hint" }),
    el("div", { class: "row" }, preset("prolific"), preset("jatos")),
    el("div", { class: "form__row" }, ...NAMES.map((name) => field(name, texts[name], { hint: true }))),
    el("label", { class: "tick" }, signed, el("span", { word: "field.signed_only" })),
    ...EXITS.map((name) => field(name, texts[name])),
    el("p", { class: "quiet small", word: "recruit.exits" }),
    el("div", { class: "row" }, actionButton("save", save, { kind: "button--main" })),
    settings.participant ? linkPart() : null,
  );
}

function linkPart() {
  const shown = el("div", { class: "stack" });
  const show = ({ link }) => shown.replaceChildren(linkList([link]));
  attempt(async () => show(await get("/api/owner/recruiting")));
  return el(
    "div",
    { class: "stack" },
    el("p", { word: "recruit.link" }),
    shown,
    el(
      "div",
      { class: "row" },
      actionButton("recruit.renew", async () => show(await post("/api/owner/recruiting/renew"))),
    ),
  );
}

export function participantsLink() {
  const href = "/api/owner/participants.csv";
  return el("a", { class: "button", href, download: "participants.csv", word: "data.participants" });
}

export function screeningForm({ settings }, change) {
  const tick = (name) => el("input", { type: "checkbox", checked: settings[name] });
  const device = tick("device_check");
  const headphones = tick("headphone_check");
  const number = (name, least, most) =>
    el("input", { type: "number", min: least, max: most, step: 1, value: settings[name] });
  const attempts = number("check_attempts", 1, 20);
  const pairs = number("qualify_pairs", 0, 1000);
  const right = number("qualify_right", 0, 1000);
  const save = () =>
    change({
      settings: {
        device_check: device.checked,
        headphone_check: headphones.checked,
        check_attempts: Number(attempts.value),
        qualify_pairs: Number(pairs.value),
        qualify_right: Number(pairs.value) ? Number(right.value) : 0,
      },
    });
  return el(
    "div",
    { class: "form" },
    el("label", { class: "tick" }, device, el("span", { word: "field.device_check" })),
    el("label", { class: "tick" }, headphones, el("span", { word: "field.headphone_check" })),
    el(
      "div",
      { class: "form__row" },
      field("check_attempts", attempts),
      field("qualify_pairs", pairs, { hint: true }),
      field("qualify_right", right, { hint: true }),
    ),
    el("div", { class: "row" }, actionButton("save", save, { kind: "button--main" })),
  );
}
