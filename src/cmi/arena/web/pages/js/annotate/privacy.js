// Consent as it was given, signing out, and withdrawal, which removes a person's votes for good.
import { post } from "../api.js";
import { openDialog } from "../dialog.js";
import { el } from "../dom.js";

export function openPrivacy(me, { onLeft, onFailure }) {
  const sure = el("input", { type: "checkbox" });
  const withdraw = el("button", {
    class: "button button--alarm",
    type: "button",
    disabled: true,
    word: "privacy.withdraw",
  });
  sure.addEventListener("change", () => (withdraw.disabled = !sure.checked));
  const leave = async (path, body, state) => {
    try {
      const answer = await post(path, body);
      dialog.close();
      onLeft(state, answer);
    } catch (error) {
      dialog.close();
      onFailure(error);
    }
  };
  withdraw.addEventListener("click", () => leave("/api/withdraw", { confirm: true }, "withdrawn"));
  const signOut = el("button", {
    class: "button",
    type: "button",
    word: "privacy.sign-out",
    on: { click: () => leave("/api/sign-out", {}, "signed-out") },
  });
  const signOutEverywhere = el("button", {
    class: "button",
    type: "button",
    word: "privacy.sign-out-everywhere",
    on: { click: () => leave("/api/sign-out-everywhere", { confirm: true }, "signed-out") },
  });
  const dialog = openDialog(
    "privacy.title",
    el(
      "section",
      { class: "stack" },
      el("h3", { word: "privacy.consent" }),
      el("p", { class: "written" }, me.project.consent),
    ),
    el("p", { class: "quiet", word: "privacy.kept" }),
    el("div", { class: "row" }, signOut, signOutEverywhere),
    el(
      "section",
      { class: "stack" },
      el("h3", { word: "privacy.withdrawal" }),
      el("p", { word: "privacy.withdraw-means" }),
      el("label", { class: "tick" }, sure, el("span", { word: "privacy.sure" })),
      el("div", { class: "row" }, withdraw),
    ),
  );
}
