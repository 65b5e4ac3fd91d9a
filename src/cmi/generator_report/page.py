"""The report as a page: one HTML file; recordings are linked, or inside it."""

import base64
import io
import os
from collections import Counter
from collections.abc import Callable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

import soundfile

from cmi._util.errors import InputError
from cmi.audio import load
from cmi.critic import KINDS
from cmi.generator_report.collect import GeneratorReport, HeardTake, Mean, ReportOfGenerators
from cmi.report.html import details, fact_list, page, table_html
from cmi.report.numbers import clock, interval, number, percent
from cmi.report.tables import Table
from cmi.stats.comparison import finite

OPEN_TAKES = 12  # shown of each end; the others are folded
WAVE_HEIGHT = 40
EMBEDDED_RATE = 32_000
Link = Callable[[Path], str]


def tables_of(report: ReportOfGenerators) -> list[Table]:
    tables = [_ranking(report), _findings(report)]
    copies = [[one.name, a, b, number(alike, 3)] for one in report.generators for a, b, alike in one.copies]
    if copies:
        tables.append(Table("Takes that are copies of another take", ["generator", "take", "take", "alike"], copies, 3))
    left_out = [[one.name, take, why] for one in report.generators for take, why in one.left_out]
    if left_out:
        tables.append(Table("Takes left out", ["generator", "take", "why"], left_out, 3))
    return tables


def _ranking(report: ReportOfGenerators) -> Table:
    rows = [
        [
            one.name,
            str(one.prompts),
            str(len(one.takes)),
            *_cells(one.musicality),
            *_cells(one.alignment),
            *(["-", "-"] if one.own_prompt is None else _cells(one.own_prompt, percent, 100)),
        ]
        for one in report.generators
    ]
    headers = ["generator", "prompts", "takes", "musicality", "95 %", "alignment", "95 %", "own prompt, %", "95 %"]
    notes = [
        f"Means of scores by {report.model}; scores compare takes and have no unit. Intervals draw prompts; there is "
        "none for fewer than ten. Own prompt: how often a take fits its own prompt better than another prompt of the "
        "same set; 50 is chance."
    ]
    return Table("Generators, the best first", headers, rows, notes=notes)


def _cells(mean: Mean, shown: Callable[[float], str] = number, scale: float = 1.0) -> list[str]:
    return [shown(mean.value), interval(mean.interval, 2 if scale == 1 else 0, scale)]


def _findings(report: ReportOfGenerators) -> Table:
    rows = []
    for kind in KINDS:
        counts = [
            sum(any(o.kind == kind for o in take.observations) for take in one.takes) for one in report.generators
        ]
        if any(counts):
            rows.append([kind, *(f"{n} of {len(one.takes)}" for n, one in zip(counts, report.generators, strict=True))])
    clean = [sum(not take.observations for take in one.takes) for one in report.generators]
    rows.append(["nothing", *(f"{n} of {len(one.takes)}" for n, one in zip(clean, report.generators, strict=True))])
    notes = ["By measurement alone, without a model; docs/report.md says how often each errs."]
    return Table(
        "Takes in which something is wrong", ["found", *(one.name for one in report.generators)], rows, notes=notes
    )


def page_of(report: ReportOfGenerators, link: Link) -> str:
    """Write the HTML; `link` gives the address of a recording."""
    names = ", ".join(one.name for one in report.generators)
    takes = sum(len(one.takes) for one in report.generators)
    facts = {"Scored by": report.model, "Takes": str(takes)}
    body = [
        f"<h1>{escape(names)}</h1>",
        fact_list(facts),
        *(table_html(table) for table in tables_of(report)),
        *(_takes(one, link) for one in report.generators),
    ]
    style, script = (
        files("cmi.generator_report").joinpath(f"page.{kind}").read_text("utf-8") for kind in ("css", "js")
    )
    return page(f"Report: {names}", "\n".join(body), style, script)


def _takes(one: GeneratorReport, link: Link) -> str:
    ranked = sorted(one.takes, key=_overall, reverse=True)
    best, rest, worst = ranked[:OPEN_TAKES], ranked[OPEN_TAKES:-OPEN_TAKES], ranked[OPEN_TAKES:][-OPEN_TAKES:]
    parts = [f"<h2>{escape(one.name)}: takes, the best first</h2>", _cards(best, link, 1)]
    if rest:
        parts.append(details(f"{len(rest)} takes between", [_cards(rest, link, 1 + OPEN_TAKES)]))
    if worst:
        parts.append(_cards(worst, link, 1 + len(ranked) - len(worst)))
    return "\n".join(parts)


def _overall(take: HeardTake) -> float:
    return take.score.musicality + take.score.alignment


def _cards(takes: Sequence[HeardTake], link: Link, first: int) -> str:
    return f'<ol class="takes" start="{first}">\n' + "\n".join(_card(take, link) for take in takes) + "\n</ol>"


def _card(take: HeardTake, link: Link) -> str:
    assert isinstance(take.take.audio, Path)
    name, asked = f"{take.prompt_name}/{take.name}", take.take.prompt
    lyrics = f'<p class="quiet">Lyrics: {escape(asked.lyrics)}</p>' if asked.lyrics else ""
    score = f"musicality {take.score.musicality:.2f}, alignment {take.score.alignment:.2f}, {clock(take.seconds)}"
    said = [
        f'<li><button data-at="{one.start:.2f}" aria-label="play {escape(name)} from {clock(one.start)}">'
        f"{clock(one.start)}</button> <span>{escape(one.sentence)}</span></li>"
        for one in take.observations
    ]
    said += [f"<li>{escape(note)}</li>" for note in take.scored.notes]
    return f"""<li class="take"><h3>{escape(name)}</h3>
<p>{escape(asked.text)}</p>{lyrics}
<p class="scores quiet">{score}</p>
{_wave(take, name)}
<audio controls preload="none" src="{link(take.take.audio)}" aria-label="{escape(name)}"></audio>
<ul class="observations">{"".join(said)}</ul></li>"""


def _wave(take: HeardTake, name: str) -> str:
    """The waveform, with what is wrong marked; a click plays from there."""
    width, middle = len(take.peaks), WAVE_HEIGHT / 2
    loudest = max(take.peaks) or 1.0
    above = " ".join(f"L{i} {middle - peak / loudest * middle:.1f}" for i, peak in enumerate(take.peaks))
    below = " ".join(
        f"L{i} {middle + peak / loudest * middle:.1f}" for i, peak in reversed(list(enumerate(take.peaks)))
    )
    marks = "".join(
        f'<rect x="{one.start / take.seconds * width:.1f}" y="0" '
        f'width="{max(1.0, (one.end - one.start) / take.seconds * width):.1f}" height="{WAVE_HEIGHT}"/>'
        for one in take.observations
        if one.end - one.start < take.seconds / 2
    )
    return (
        f'<svg class="wave" data-seconds="{take.seconds:.2f}" viewBox="0 0 {width} {WAVE_HEIGHT}" '
        f'preserveAspectRatio="none" role="img" aria-label="waveform of {escape(name)}">'
        f'<path d="M0 {middle} {above} {below} Z"/>{marks}</svg>'
    )


def link_from(folder: Path) -> Link:
    """Addresses relative to the page's folder."""
    return lambda path: escape(quote(os.path.relpath(path.resolve(), folder.resolve()).replace(os.sep, "/")))


def embed(path: Path) -> str:
    """The recording itself, in mono, as Ogg Vorbis."""
    sound = load(path, EMBEDDED_RATE)
    encoded = io.BytesIO()
    soundfile.write(encoded, sound.samples.clip(-1, 1), EMBEDDED_RATE, format="OGG", subtype="VORBIS")
    return f"data:audio/ogg;base64,{base64.b64encode(encoded.getvalue()).decode('ascii')}"


def record_of(report: ReportOfGenerators) -> dict[str, object]:
    """For machines: everything on the page but the recordings."""
    return {
        "model": report.model,
        "generators": [
            {
                "name": one.name,
                "prompts": one.prompts,
                "takes": len(one.takes),
                **{
                    axis: {"mean": mean.value, "low": finite(mean.interval.low), "high": finite(mean.interval.high)}
                    for axis in ("musicality", "alignment", "own_prompt")
                    if (mean := getattr(one, axis)) is not None
                },
                "found": dict(Counter(o.kind for take in one.takes for o in take.observations)),
                "copies": [{"a": a, "b": b, "alike": alike} for a, b, alike in one.copies],
                "left_out": [{"take": take, "why": why} for take, why in one.left_out],
                "each": [_take_record(take) for take in one.takes],
            }
            for one in report.generators
        ],
    }


def _take_record(take: HeardTake) -> dict[str, object]:
    return {
        "prompt": take.prompt_name,
        "take": take.name,
        "audio": str(take.take.audio),
        "seconds": round(take.seconds, 2),
        **take.score._asdict(),
        "alignment_elsewhere": take.other_alignment,
        "notes": list(take.scored.notes),
        "observations": [one._asdict() for one in take.observations],
    }


def require_page(path: Path) -> None:
    """InputError unless the name is that of a page."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: expected a name that ends in .html")
