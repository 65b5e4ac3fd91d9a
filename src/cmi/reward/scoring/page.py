"""The HTML page of scored takes: ranked, each with waveform, player and, for reward models, scores over time."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi.report.html import details, fact_list, page, table_html
from cmi.report.numbers import number
from cmi.report.players import (
    OPEN_CARDS,
    Link,
    Outline,
    cut_cover,
    cut_note,
    play_button,
    player,
    ranked_cards,
    read_outline,
    wave,
)
from cmi.report.tables import Table
from cmi.reward.model.validation import validation_notes
from cmi.reward.scoring.explain import Explanation
from cmi.take import Prompt, Score, Take

TRACK_HEIGHT = 30
LEAST_RANGE = 0.5  # of a typical take's range: takes whose sections differ by less are drawn flatter
STYLE = """
.track { height: 2.25rem; margin-top: 0 }
.track path { fill: var(--axis); fill-opacity: .2; stroke: var(--axis); stroke-width: 2;
  vector-effect: non-scaling-stroke }
.musicality { --axis: var(--take-a) }
.alignment { --axis: var(--take-b) }
.over-time strong { color: var(--axis) }
"""
ABOUT_TRACKS = """<p class="quiet">Under the waveforms of the best and the worst takes are the scores of each 10 s, each
judged on its own. Every take has its own scale: compare heights within a take, and numbers between takes. A click plays
from there.</p>"""
HOW = "Ranked by the mean of musicality and alignment. Scores compare takes; they have no unit."


class DrawnTake(NamedTuple):
    """A take with everything that its card shows."""

    record: Mapping[str, Any]  # of `score_records`
    take: Take
    outline: Outline
    explanation: Explanation | None = None

    @property
    def name(self) -> str:
        return str(self.record["id"])

    @property
    def mean(self) -> float:
        return mean_score(self.record)


def mean_score(record: Mapping[str, Any]) -> float:
    return float(record["musicality"] + record["alignment"]) / 2


def open_takes(records: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the indices of the records whose cards are open: the best and the worst."""
    scored = [i for i, record in enumerate(records) if "error" not in record]
    ranked = sorted(scored, key=lambda i: -mean_score(records[i]))
    return ranked if len(ranked) <= 2 * OPEN_CARDS else ranked[:OPEN_CARDS] + ranked[-OPEN_CARDS:]


def draw_takes(
    records: Sequence[Mapping[str, Any]],
    takes: Iterable[tuple[str, Take]],
    explanations: Iterable[Explanation],
    on_drawn: Callable[[], None] = lambda: None,
) -> tuple[list[DrawnTake], list[tuple[str, str]]]:
    """Read the waveform outline of each take; return takes that cannot be read with the reason.

    `takes` are those of the records, in the same order.
    """
    known = {explanation.take: explanation for explanation in explanations}
    drawn, broken = [], []
    for record, (name, take) in zip(records, takes, strict=True):
        assert isinstance(take.audio, Path)
        try:
            if "error" in record:
                raise InputError(record["error"])
            drawn.append(DrawnTake(record, take, read_outline(take.audio), known.get(name)))
        except InputError as error:
            broken.append((name, str(error)))
        on_drawn()
    return drawn, broken


def score_page(drawn: Sequence[DrawnTake], broken: Sequence[tuple[str, str]], model: str, link: Link) -> str:
    """Return the page; `broken` lists takes that could not be scored, and why."""
    ranked = sorted(drawn, key=lambda one: -one.mean)
    prompts = {one.take.prompt for one in ranked}
    ranges = _typical_ranges(ranked)
    rows = [_row(place, one) for place, one in enumerate(ranked, 1)]
    headers = ["rank", "take", "mean", "musicality", "alignment", "seconds"]
    shared = prompt_html(next(iter(prompts))) if len(prompts) == 1 else ""
    cards = [
        _card(place, one, ranges, link, "" if shared else prompt_html(one.take.prompt))
        for place, one in enumerate(ranked, 1)
    ]
    reasons = [(name, why.removeprefix(f"{name}: ")) for name, why in broken]
    left_out = Table("Takes that could not be scored", ["take", "why"], reasons, labels=2)
    body = [
        f"<h1>{len(ranked)} takes, the best first</h1>",
        fact_list({"Scored by": model}),
        *(f'<p class="quiet">{escape(sentence)}</p>' for sentence in validation_notes(model)),
        shared,
        f'<p class="quiet">{HOW}</p>',
        details("All scores in a table", [table_html(Table("Scores", headers, rows, 2), is_sortable=True)]),
        *([table_html(left_out)] if broken else []),
        *([ABOUT_TRACKS] if any(one.explanation for one in ranked) else []),
        "<h2>Takes</h2>",
        ranked_cards(cards),
    ]
    return page(f"{len(ranked)} takes scored by {model}", "\n".join(body), STYLE)


def _row(place: int, one: DrawnTake) -> list[str]:
    numbers = [one.mean, one.record["musicality"], one.record["alignment"]]
    return [str(place), one.name, *(number(value, 3) for value in numbers), number(one.outline.seconds, 1)]


def prompt_html(prompt: Prompt) -> str:
    """Return a prompt with its lyrics folded."""
    parts = [f"<p>{escape(prompt.text)}</p>"] if prompt.text else []
    parts += [details("Lyrics", [f'<p class="lyrics">{escape(prompt.lyrics)}</p>'])] if prompt.lyrics else []
    parts += [f'<p class="quiet">Reference: {escape(str(prompt.reference))}</p>'] if prompt.reference else []
    return "".join(parts)


def _card(place: int, one: DrawnTake, ranges: Mapping[str, float], link: Link, prompt: str) -> str:
    assert isinstance(one.take.audio, Path)
    scores = ", ".join(f"{axis} {number(one.record[axis], 3)}" for axis in Score._fields)
    explained = one.explanation if one.explanation and len(one.explanation.sections) > 1 else None
    tracks = [_track(one.name, axis, explained, one.outline, ranges[axis]) for axis in Score._fields if explained]
    said = "".join(f"<li>{escape(note)}</li>" for note in one.record.get("notes", ()))
    heard = one.record.get("seconds")
    return f"""<li class="take"><h3>{place}. {escape(one.name)}</h3>
{prompt}<p class="quiet">{scores}{cut_note(heard, one.outline)}</p>
{wave(one.name, one.outline, drawn=cut_cover(heard, one.outline))}
{"".join(tracks)}
{player(one.name, link(one.take.audio))}
<ul class="observations">{said}</ul></li>"""


def _values(explanation: Explanation, axis: str) -> list[float]:
    return [float(getattr(section.score, axis)) for section in explanation.sections]


def _range(values: Sequence[float]) -> float:
    return max(values) - min(values)


def _typical_ranges(drawn: Sequence[DrawnTake]) -> dict[str, float]:
    """Return the median of the takes' ranges over their sections, by axis."""
    explained = [one.explanation for one in drawn if one.explanation and len(one.explanation.sections) > 1]
    return {
        axis: median([_range(_values(one, axis)) for one in explained]) if explained else 0.0 for axis in Score._fields
    }


def _track(name: str, axis: str, explanation: Explanation, outline: Outline, typical: float) -> str:
    """Draw a score as steps over time, under the waveform's own seconds, and say where it is weakest and strongest.

    The track is as high as the take's own range, or as LEAST_RANGE of the typical one if that is more.
    """
    values = _values(explanation, axis)
    span = max(_range(values), LEAST_RANGE * typical) or 1.0
    bottom = (max(values) + min(values) - span) / 2

    def height(value: float) -> float:
        return (TRACK_HEIGHT - 4) * (1 - (value - bottom) / span) + 2

    steps = [
        f"{at:.2f} {height(value):.1f}"
        for section, value in zip(explanation.sections, values, strict=True)
        for at in (section.start, section.end)
    ]
    first, last = explanation.sections[0].start, explanation.sections[-1].end
    area = f"M{first:.2f} {TRACK_HEIGHT} L{' L'.join(steps)} L{last:.2f} {TRACK_HEIGHT}"
    weakest, strongest = (
        f"{play_button(name, section.start)} {number(getattr(section.score, axis), 3)}"
        for section in explanation.extremes(axis)
    )
    return f"""<div class="over-time {axis}">
<p class="quiet"><strong>{axis}</strong> weakest {weakest}, strongest {strongest}</p>
<svg class="wave track" data-seconds="{outline.seconds:.2f}" viewBox="0 0 {outline.seconds:.2f} {TRACK_HEIGHT}" \
preserveAspectRatio="none" role="img" aria-label="{escape(name)}: {axis} over time"><path d="{area}"/></svg></div>"""
