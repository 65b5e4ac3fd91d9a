"""The report as a page: one HTML file; recordings are linked, or inside it."""

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from cmi import __version__
from cmi.generator_report.answer import answers_of
from cmi.generator_report.attributes import TAGGED, HeardAttribute
from cmi.generator_report.chart import chart_of, take_anchor
from cmi.generator_report.collect import HeardTake
from cmi.generator_report.inspect import KEY_SECONDS
from cmi.generator_report.summary import GeneratorReport, ReportOfGenerators
from cmi.generator_report.tables import tables_of
from cmi.report.html import cells, details, fact_list, page, table_html, table_of_rows, unbroken
from cmi.report.numbers import clock
from cmi.report.players import (
    WAVE_HEIGHT,
    Link,
    cut_cover,
    cut_note,
    moment,
    play_button,
    player,
    ranked_cards,
    wave,
)
from cmi.reward.scoring.scorers import TakeSection
from cmi.take import Score

LOUDNESS_RANGE = 24.0  # dB from the top of a waveform to its bottom
TEMPO_RANGE = 0.3  # relative, from the middle of a waveform to its top
HEARD = {True: "heard", False: "not heard", None: "not checked"}


def page_of(report: ReportOfGenerators, link: Link) -> str:
    """Write the HTML; `link` gives the address of a recording."""
    names = ", ".join(one.name for one in report.generators)
    takes = sum(len(one.takes) for one in report.generators)
    facts = {"Scored by": report.model, "Takes": str(takes), "Written by": f"cmi {__version__}"}
    answers = "".join(f"<p>{escape(unbroken(answer))}</p>" for answer in answers_of(report))
    body = [
        f"<h1>Report: {escape(names)}</h1>",
        f'<div class="notice">{answers}</div>',
        fact_list(facts),
        _contents(report),
        chart_of(report),
        *map(table_html, tables_of(report)),
        *(_takes(number, one, link) for number, one in enumerate(report.generators)),
    ]
    style = files("cmi.generator_report").joinpath("page.css").read_text("utf-8")
    return page(f"Report: {names}", "\n".join(body), style)


def _contents(report: ReportOfGenerators) -> str:
    links = (f'<a href="#takes-{number}">{escape(one.name)}</a>' for number, one in enumerate(report.generators))
    return f"<nav><p>Listen to the takes of {', '.join(links)}; the tables come first.</p></nav>"


def _takes(number: int, one: GeneratorReport, link: Link) -> str:
    ranked = sorted(enumerate(one.takes), key=lambda numbered: numbered[1].overall, reverse=True)
    cards = [_card(take, take_anchor(number, i), link) for i, take in ranked]
    return f"""<h2 id="takes-{number}">{escape(one.name)}: takes, the best first</h2>
<p class="quiet">What the prompt asks for is in labels under it: full if it is heard, dashed if not, pale if none of the
measurements can tell. On a waveform, the solid line is the loudness and the dashed line the tempo; shaded is where
something is wrong. Sections of 10 s are judged on their own: ▲ is the strongest, ▼ the weakest.</p>
{ranked_cards(cards)}"""


def _card(take: HeardTake, anchor: str, link: Link) -> str:
    name, asked = take.row.full_name, take.row.take.prompt
    score = (
        f"musicality {take.score.musicality:.2f}, alignment {take.score.alignment:.2f}, "
        f"{clock(take.inspection.seconds)}{cut_note(take.scored.seconds, take.inspection.outline)}"
    )
    drawn = cut_cover(take.scored.seconds, take.inspection.outline) + _lines(take)
    said = [moment(name, one.start, one.sentence) for one in take.observations]
    said += [f"<li>{escape(note)}</li>" for note in take.scored.notes]
    return f"""<li class="take" id="{anchor}"><h3>{escape(name)}</h3>
<p>{escape(asked.text)}</p>{_lyrics(take)}{_attributes(take)}
<p class="quiet">{score}</p>
{wave(name, take.inspection.outline, _marked(take), drawn)}
<p class="quiet">{escape(_course(take))}</p>
{player(name, link(take.row.path))}
{_sections(take, name)}
<ul class="observations">{"".join(said)}</ul></li>"""


def _lyrics(take: HeardTake) -> str:
    asked = take.row.take.prompt.lyrics
    parts = [details("Lyrics", [f'<p class="lyrics">{escape(asked)}</p>'])] if asked.strip() else []
    if take.lyrics is not None:
        heard = f"Words heard: {take.lyrics.text or 'none'} (word errors {take.lyrics.rate:.0%})"
        parts.append(f'<p class="quiet lyrics">{escape(heard)}</p>')
    return "".join(parts)


def _attributes(take: HeardTake) -> str:
    if not take.attributes:
        return ""
    chips = "".join(
        f'<li class="{HEARD[one.heard].replace(" ", "-")}" title="{escape(one.measured)}">{escape(_said(one))}</li>'
        for one in take.attributes
    )
    return f'<ul class="asked" aria-label="asked for">{chips}</ul>'


def _said(one: HeardAttribute) -> str:
    is_number = one.attribute not in TAGGED and one.heard is not None
    return f"{one.name}: {HEARD[one.heard]}" + (f" ({one.measured})" if is_number else "")


def _course(take: HeardTake) -> str:
    """Loudness, tempo and key in words."""
    sound = take.inspection
    parts = ["silent" if sound.loudness is None else f"loudness {sound.loudness:.1f} LUFS"]
    if sound.loudness_over_time:
        parts[0] += f" ({min(sound.loudness_over_time):.0f} to {max(sound.loudness_over_time):.0f})"
    if sound.tempo is None:
        parts.append("no pulse")
    else:
        tempos = [tempo for _, tempo in sound.tempo_over_time]
        parts.append(f"tempo {sound.tempo:.0f} beats a minute ({min(tempos):.0f} to {max(tempos):.0f})")
    return "; ".join([*parts, f"key {sound.key}" if sound.key else "no pitch"])


def _sections(take: HeardTake, name: str) -> str:
    """A column for each 10 s: when, key, both scores."""
    sound = take.inspection
    starts = [one.start for one in take.sections] or [i * KEY_SECONDS for i in range(len(sound.keys))]
    keys = [sound.keys[min(int(start / KEY_SECONDS), len(sound.keys) - 1)] or "-" for start in starts]
    rows = [("key", keys)] + [(axis, list(_scores(take.sections, axis))) for axis in Score._fields if take.sections]
    if len(starts) < 2:
        return ""
    head = cells(["from"]) + "".join(f"<td>{play_button(name, start)}</td>" for start in starts)
    lines = [f'<th scope="row">{label}</th>{cells(own)}' for label, own in rows]
    table = table_of_rows(f"sections of {name}", head, lines, kind="sections")
    return f'<div style="--columns: {len(starts)}">{table}</div>'


def _scores(sections: Sequence[TakeSection], axis: str) -> Iterable[str]:
    values = [float(getattr(section.score, axis)) for section in sections]
    marks = {max(values): " ▲", min(values): " ▼"} if len(set(values)) > 1 else {}
    return (f"{value:.2f}{marks.get(value, '')}" for value in values)


def _marked(take: HeardTake) -> list[tuple[float, float]]:
    """Spans that are worth a mark: what lasts longer is said in words alone."""
    spans = [(one.start, one.end) for one in take.observations]
    return [(start, end) for start, end in spans if end - start < take.inspection.seconds / 2]


def _lines(take: HeardTake) -> str:
    """Loudness below its loudest, and the tempo around its own, as lines on the waveform."""
    sound = take.inspection
    width = len(sound.outline.peaks)
    loud = max(sound.loudness_over_time, default=0.0)
    lines = {"loudness": [(1.5 + i, (loud - one) / LOUDNESS_RANGE) for i, one in enumerate(sound.loudness_over_time)]}
    if sound.tempo is not None:
        lines["tempo"] = [(at, 0.5 - (one / sound.tempo - 1) / TEMPO_RANGE / 2) for at, one in sound.tempo_over_time]
    return "".join(
        f'<polyline class="{kind}" points="'
        + " ".join(
            f"{at / sound.seconds * width:.1f},{min(max(down, 0.02), 0.98) * WAVE_HEIGHT:.1f}" for at, down in points
        )
        + '"/>'
        for kind, points in lines.items()
        if len(points) > 1
    )
