"""The HTML page of scored takes: ranked, each with waveform, player and, for reward models, scores over time."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi.report.html import details, fact_list, page, table_html
from cmi.report.numbers import number
from cmi.report.players import OPEN_CARDS, Link, Outline, moment, player, ranked_cards, read_outline, wave
from cmi.report.tables import Table
from cmi.reward.model.validation import validation_notes
from cmi.reward.scoring.explain import Explanation
from cmi.stats.intervals import Interval
from cmi.take import Prompt, Score, Take

TRACK_HEIGHT = 60
STYLE = """
.track { height: 4.5rem }
.track path { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke }
.track .musicality, .key-musicality { stroke: var(--take-a); color: var(--take-a) }
.track .alignment, .key-alignment { stroke: var(--take-b); color: var(--take-b) }
"""
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
    scale = _scale(ranked)
    rows = [_row(place, one) for place, one in enumerate(ranked, 1)]
    headers = ["rank", "take", "mean", "musicality", "alignment", "seconds"]
    shared = prompt_html(next(iter(prompts))) if len(prompts) == 1 else ""
    cards = [
        _card(place, one, scale, link, "" if shared else prompt_html(one.take.prompt))
        for place, one in enumerate(ranked, 1)
    ]
    left_out = Table("Takes that could not be scored", ["take", "why"], list(broken), labels=2)
    body = [
        f"<h1>{len(ranked)} takes, the best first</h1>",
        fact_list({"Scored by": model}),
        *(f'<p class="quiet">{escape(sentence)}</p>' for sentence in validation_notes(model)),
        shared,
        f'<p class="quiet">{HOW}</p>',
        details("All scores in a table", [table_html(Table("Scores", headers, rows, 2), is_sortable=True)]),
        *([table_html(left_out)] if broken else []),
        *([_about_tracks(scale)] if any(one.explanation for one in ranked) else []),
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


def _card(place: int, one: DrawnTake, scale: Interval, link: Link, prompt: str) -> str:
    assert isinstance(one.take.audio, Path)
    scores = ", ".join(f"{axis} {number(one.record[axis], 3)}" for axis in Score._fields)
    explained = one.explanation if one.explanation and len(one.explanation.sections) > 1 else None
    said = "".join(f"<li>{escape(note)}</li>" for note in one.record.get("notes", ()))
    return f"""<li class="take"><h3>{place}. {escape(one.name)}</h3>
{prompt}<p class="quiet">{scores}</p>
{wave(one.name, one.outline)}
{_track(one.name, explained, one.outline, scale) if explained else ""}
{player(one.name, link(one.take.audio))}
<ul class="observations">{_extremes(one.name, explained) if explained else ""}{said}</ul></li>"""


def _scale(drawn: Sequence[DrawnTake]) -> Interval:
    values = [value for one in drawn if one.explanation for part in one.explanation.sections for value in part.score]
    return Interval(min(values), max(values)) if values else Interval(0.0, 1.0)


def _about_tracks(scale: Interval) -> str:
    axes = " and ".join(f'<strong class="key-{axis}">{axis}</strong>' for axis in Score._fields)
    ends = f"from {number(scale.low)} to {number(scale.high)}"
    return f"""<p class="quiet">Below the waveforms of the best and the worst takes: {axes} of each 10 s, judged on
their own. The scale is the same for all takes, {ends}. A click plays from there.</p>"""


def _track(name: str, explanation: Explanation, outline: Outline, scale: Interval) -> str:
    """Draw both scores as step curves on the time axis of the waveform."""
    span = (scale.high - scale.low) or 1.0

    def steps(axis: str) -> str:
        points = [
            f"{at:.2f} {(TRACK_HEIGHT - 4) * (1 - (getattr(part.score, axis) - scale.low) / span) + 2:.1f}"
            for part in explanation.sections
            for at in (part.start, part.end)
        ]
        return f'<path class="{axis}" d="M{" L".join(points)}"/>'

    said = f"{name}: " + "; ".join(explanation.sentences())
    return (
        f'<svg class="wave track" data-seconds="{outline.seconds:.2f}" viewBox="0 0 {outline.seconds:.2f} '
        f'{TRACK_HEIGHT}" preserveAspectRatio="none" role="img" aria-label="{escape(said)}">'
        f"{''.join(map(steps, Score._fields))}</svg>"
    )


def _extremes(name: str, explanation: Explanation) -> str:
    return "".join(
        moment(name, section.start, f"{axis} is {word} here: {number(getattr(section.score, axis), 3)}")
        for axis in Score._fields
        for word, section in zip(("weakest", "strongest"), explanation.extremes(axis), strict=True)
    )
