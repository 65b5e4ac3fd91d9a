// The pairs of the study: a list, and a form that uploads recordings and makes a pair of them.
import { get, post, upload } from "../api.js";
import { el } from "../dom.js";
import { confirmSaved } from "../live.js";
import { word } from "../words.js";
import { actionButton, attempt, field, section } from "./actions.js";
import { table } from "./table.js";

const PAGE = 50;

export async function showPairs(holder, signal, canChange) {
  const list = el("div", { class: "stack" });
  const load = async (after = null) => {
    const page = await get(`/api/owner/pairs?limit=${PAGE}${after === null ? "" : `&after=${after}`}`);
    if (signal.aborted) return;
    if (after === null) list.replaceChildren(el("p", { class: "quiet", word: ["pairs.total", { total: page.total }] }));
    list.append(pairsTable(page.pairs));
    if (page.after !== null) {
      const more = actionButton("pairs.more", async () => {
        more.remove();
        await load(page.after);
      });
      list.append(more);
    }
  };
  holder.replaceChildren(section("pairs", list), ...(canChange ? [section("new-pair", pairForm(load))] : []));
  await attempt(load);
}

function pairsTable(pairs) {
  return table(
    [
      { word: "column.text", value: (pair) => pair.text || pair.source_id, class: "long" },
      { word: "column.modality", value: (pair) => pair.modality },
      { word: "column.kind", value: (pair) => word(`kind.${pair.kind}`) },
      { word: "column.systems", value: (pair) => `${pair.system_a} · ${pair.system_b}` },
      { word: "column.votes", value: (pair) => `${pair.votes} / ${pair.wanted}`, number: true },
    ],
    pairs,
    "section.pairs",
  );
}

function pairForm(load) {
  const sound = () => el("input", { type: "file", accept: "audio/*,.wav,.flac,.mp3,.ogg" });
  const text = el("textarea", { maxlength: 4000 });
  const lyrics = el("textarea", { maxlength: 8000 });
  const [reference, a, b] = [sound(), sound(), sound()];
  const [systemA, systemB] = [el("input", { maxlength: 200 }), el("input", { maxlength: 200 })];
  const send = async (control) => (control.files[0] ? (await upload("/api/owner/sounds", control.files[0])).id : null);
  const add = async () => {
    if (!a.files[0] || !b.files[0] || !systemA.value.trim() || !systemB.value.trim())
      throw new Error(word("pairs.incomplete"));
    const body = {
      text: text.value.trim(),
      lyrics: lyrics.value.trim(),
      reference: await send(reference),
      a: await send(a),
      b: await send(b),
      system_a: systemA.value.trim(),
      system_b: systemB.value.trim(),
    };
    await post("/api/owner/pairs", body);
    for (const control of [text, lyrics, reference, a, b]) control.value = "";
    confirmSaved("pairs.added");
    await load();
  };
  return el(
    "div",
    { class: "form" },
    field("text", text),
    field("lyrics", lyrics),
    field("reference", reference),
    el("div", { class: "form__pair" }, field("sound-a", a), field("system-a", systemA)),
    el("div", { class: "form__pair" }, field("sound-b", b), field("system-b", systemB)),
    el("div", { class: "row" }, actionButton("pairs.add", add, { kind: "button--main" })),
  );
}
