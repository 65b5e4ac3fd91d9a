"""Bias by tag, shown: a table of tags, a table of contrasts, and the paper's figure 2."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cmi.bench.analysis.bias import CHANCE, Bias, TagScore
from cmi.bench.analysis.shown import number, sentence, signed, signed_span, span
from cmi.bench.analysis.tag_families import NO_GROUP
from cmi.bench.scoring.one_file import FEWEST_RECORDINGS
from cmi.report.palette import QUIET, colours
from cmi.report.pictures import new_figure, save_picture
from cmi.report.tables import Table

OTHER = "other"
_VERDICT = {"a higher": "▲", "b higher": "▼", "not told apart": "·"}
_TAG_HEADERS = ["family", "group", "tag", "positives", "ROC", "95 %", "v 50", "PR", "95 %", "null", "v null"]
_CONTRAST_HEADERS = ["family", "contrast", "metric", "a", "b", "a - b", "95 %", "tags a", "tags b", ""]


def bias_tables(results: Sequence[Bias], protocol: str) -> list[Table]:
    tables = []
    for bias in results:
        tables.append(_tag_table(bias, protocol))
        if bias.contrasts:
            tables.append(_contrast_table(bias, protocol))
    return tables


def _tag_table(bias: Bias, protocol: str) -> Table:
    rows = [
        [
            *(tag.family or OTHER, tag.group or "", tag.tag, f"{tag.positives}{' *' if tag.few else ''}"),
            *(number(tag.roc), span(tag.roc_low, tag.roc_high), _mark(tag.roc_low, tag.roc_high, CHANCE)),
            *(number(tag.pr), span(tag.pr_low, tag.pr_high)),
            *(number(tag.pr_null), _mark(tag.pr_low, tag.pr_high, tag.pr_null)),
        ]
        for tag in sorted(bias.tags, key=_place)
    ]
    rows.append(["", "", "mean over tags", "", number(bias.mean_roc), "", "", number(bias.mean_pr), "", "", ""])
    notes = [
        f"n = {bias.n} clips, {bias.unparsed} answers unparsed. ▲ the interval lies above the null (50 for ROC,"
        " prevalence for PR), ▼ below it, · neither; not adjusted for the number of tags.",
        *map(sentence, bias.notes),
    ]
    if any(tag.few for tag in bias.tags):
        notes.append(f"* positives on fewer than {FEWEST_RECORDINGS} recordings: the interval is a rough one.")
    return Table(f"{bias.model}, {bias.dataset} by tag, protocol {protocol}", _TAG_HEADERS, rows, 3, notes)


def _place(tag: TagScore) -> tuple[bool, str, str, str]:
    return tag.group == NO_GROUP, tag.family, tag.group, tag.tag


def _contrast_table(bias: Bias, protocol: str) -> Table:
    rows = [
        [
            *(one.family, one.contrast, one.metric, number(one.a), number(one.b), signed(one.difference)),
            *(signed_span(one.low, one.high), str(one.tags_a), str(one.tags_b), _VERDICT[one.verdict]),
        ]
        for one in bias.contrasts
    ]
    notes = [
        "Means over the tags of each side. ▲ a higher, ▼ b higher, · the 95 % interval of the difference holds 0."
        " PR grows with prevalence: compare groups by ROC or by PR - null.",
    ]
    title = f"{bias.model}, {bias.dataset}: groups of tags against each other, protocol {protocol}"
    return Table(title, _CONTRAST_HEADERS, rows, 3, notes)


def draw_bias(results: Sequence[Bias], path: Path) -> None:
    """Each tag as a line from its PR up to its ROC, one panel a model and data set; grouped tags only, if any are."""
    families = [tag.family for bias in results for tag in bias.tags if tag.family]
    colour = colours([*families, OTHER])
    shown = [_drawn_tags(bias) for bias in results]
    widest = max(len(tags) for tags in shown)
    figure = new_figure(max(7.0, 1.5 + 0.2 * widest), 3.2 * len(results))
    panels = figure.subplots(len(results), 1, squeeze=False)[:, 0]
    for panel, bias, tags in zip(panels, results, shown, strict=True):
        _draw_panel(panel, bias, tags, colour)
    save_picture(figure, path)


def _drawn_tags(bias: Bias) -> list[TagScore]:
    tags = sorted((tag for tag in bias.tags if tag.roc is not None and tag.pr is not None), key=_place)
    return [tag for tag in tags if tag.group != NO_GROUP] or tags


def _draw_panel(panel: Any, bias: Bias, tags: Sequence[TagScore], colour: dict[str, str]) -> None:
    for i, tag in enumerate(tags):
        own = colour[tag.family or OTHER]
        panel.plot([i, i], [tag.pr, tag.roc], color=own, linewidth=1)
        for value, low, high, marker in (
            (tag.roc, tag.roc_low, tag.roc_high, "o"),
            (tag.pr, tag.pr_low, tag.pr_high, "s"),
        ):
            panel.plot([i, i], [low, high], color=own, linewidth=4, alpha=0.3, solid_capstyle="butt")
            panel.plot(i, value, marker, color=own, markersize=4)
        panel.plot([i - 0.35, i + 0.35], [tag.pr_null] * 2, color=QUIET, linewidth=1)
    panel.axhline(CHANCE, color=QUIET, linewidth=0.8, linestyle="--")
    panel.set_xticks(range(len(tags)), [tag.tag for tag in tags], rotation=90, fontsize=7)
    panel.set_xlim(-0.7, max(len(tags), 1) - 0.3)
    panel.set_ylim(0, 100)
    panel.set_ylabel("ROC (dot), PR (square)\nbands: 95 %", fontsize=8)
    panel.set_title(f"{bias.model}, {bias.dataset} (n = {bias.n}); grey: what needs no ears", loc="left", fontsize=9)
    before = ""
    for i, tag in enumerate(tags):
        if tag.group != before:
            panel.axvline(i - 0.5, color=QUIET, linewidth=0.4)
            panel.text(i - 0.4, 98, tag.group, fontsize=6, va="top", color=colour[tag.family or OTHER])
            before = tag.group


def _mark(low: float | None, high: float | None, null: float) -> str:
    if low is None or high is None:
        return ""
    return "▲" if low > null else "▼" if high < null else "·"
