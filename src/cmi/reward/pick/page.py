"""The HTML page of picks: each prompt with its takes, best first, and the gain of picking from N takes."""

from collections.abc import Callable, Sequence
from html import escape

from cmi._util.errors import InputError
from cmi.report.html import details, fact_list, page, table_html
from cmi.report.numbers import number
from cmi.report.players import Link, player, read_outline, wave
from cmi.report.tables import Table
from cmi.reward.pick.curve import Point
from cmi.reward.pick.pick import Pick, Ranked
from cmi.reward.pick.report import PickReport
from cmi.reward.scoring.page import prompt_html

WIDTH, HEIGHT, LEFT, BOTTOM, EDGE = 300, 180, 52, 34, 10  # of a chart, in pixels
STYLE = """
.badge { color: var(--accent) }
.charts { display: flex; flex-wrap: wrap; gap: 0 1rem }
figure { margin: 1rem 0 }
figcaption { max-width: 300px; overflow-wrap: anywhere }
.chart { display: block; max-width: 100%; height: auto }
.chart text { fill: var(--quiet); font: 12px system-ui, sans-serif }
.chart path { fill: none; stroke: var(--take-a); stroke-width: 2 }
.chart circle { fill: var(--take-a) }
.chart .band { fill: var(--take-a); stroke: none; opacity: .2 }
.chart .oracle { stroke: var(--quiet); stroke-dasharray: 2 3 }
.chart .random, .chart .axis { stroke: var(--line-strong); stroke-width: 1 }
.chart .random { stroke-dasharray: 6 3 }
"""


def pick_page(
    report: PickReport, tables: Sequence[Table], link: Link, on_drawn: Callable[[], None] = lambda: None
) -> str:
    """Return the page; `tables` are what the command prints."""
    takes = sum(len(pick.ranking) for pick in report.picks)
    counts = {"Picked by": report.model, "Prompts": str(len(report.picks)), "Takes": str(takes)}
    charts = [
        _chart(axis, judged.second, [point for point in judged.curve.points if point.axis == axis])
        for judged in report.curves
        for axis in dict.fromkeys(point.axis for point in judged.curve.points)
    ]
    body = [
        "<h1>The best take of each prompt</h1>",
        fact_list(counts),
        f'<p class="quiet">By {escape(report.weights.description)}. Scores compare takes; they have no unit.</p>',
        *([_about_charts(charts)] if charts else []),
        *(table_html(table, is_sortable=True) for table in tables),
        *(_prompt(pick, link, on_drawn) for pick in report.picks),
    ]
    return page(f"Picked by {report.model}", "\n".join(body), STYLE)


def _prompt(pick: Pick, link: Link, on_drawn: Callable[[], None]) -> str:
    parts = [f"<h2>{escape(pick.group.name)}</h2>"]
    parts += map(prompt_html, dict.fromkeys(ranked.candidate.take.prompt for ranked in pick.ranking))
    cards = []
    for place, ranked in enumerate(pick.ranking, 1):
        cards.append(_card(place, ranked, link))
        on_drawn()
    parts += [f'<ol class="takes">{cards[0]}</ol>'] if cards else ["<p>No take could be scored.</p>"]
    if cards[1:]:
        others = f"{len(cards) - 1} other take{'s' if cards[2:] else ''}"
        parts.append(details(others, [f'<ol class="takes" start="2">{"".join(cards[1:])}</ol>']))
    parts += [f'<p class="quiet">Left out: {escape(broken.reason)}</p>' for broken in pick.broken]
    return "\n".join(parts)


def _card(place: int, ranked: Ranked, link: Link) -> str:
    name, score = ranked.candidate.name, ranked.score
    try:
        drawn = wave(name, read_outline(ranked.audio))
    except InputError as error:
        drawn = f"<p>{escape(str(error))}</p>"
    notes = "".join(f"<li>{escape(note)}</li>" for note in ranked.notes)
    badge = ' <span class="badge">picked</span>' if place == 1 else ""
    return f"""<li class="take{" best" if place == 1 else ""}"><h3>{place}. {escape(name)}{badge}</h3>
<p>score {number(ranked.mean, 3)}: musicality {number(score.musicality, 3)}, alignment {number(score.alignment, 3)}</p>
{drawn}
{player(name, link(ranked.audio))}
<ul class="observations">{notes}</ul></li>"""


def _about_charts(charts: Sequence[str]) -> str:
    return f"""<h2>What picking from N takes is worth</h2>
<p class="quiet">Solid: the mean score of the pick, with its 95 % interval. Dashed: a random take. Dotted: the best of N
by the judge itself.</p>
<div class="charts">{"".join(charts)}</div>"""


def _chart(axis: str, judge: str, points: Sequence[Point]) -> str:
    """Draw the mean score of the pick against N; the sizes stand at equal distances, so that labels never overlap."""
    ends = [point.score.interval or (point.score.mean, point.score.mean) for point in points]
    values = [point.oracle for point in points] + [value for end in ends for value in end]
    low, high = min(values), max(values)

    def at(i: int, value: float) -> str:
        x = LEFT + (WIDTH - LEFT - EDGE) * (i / (len(points) - 1) if len(points) > 1 else 0.5)
        y = EDGE + (HEIGHT - BOTTOM - EDGE) * (1 - (value - low) / ((high - low) or 1.0))
        return f"{x:.1f} {y:.1f}"

    def line(numbers: Sequence[float]) -> str:
        return "M" + " L".join(at(i, value) for i, value in enumerate(numbers))

    means = [point.score.mean for point in points]
    band = [at(i, end[0]) for i, end in enumerate(ends)] + [at(i, end[1]) for i, end in reversed([*enumerate(ends)])]
    dots = "".join('<circle cx="{}" cy="{}" r="3.5"/>'.format(*at(i, mean).split()) for i, mean in enumerate(means))
    ticks = "".join(
        f'<text x="{at(i, low).split()[0]}" y="{HEIGHT - 16}" text-anchor="middle">{point.n}</text>'
        for i, point in enumerate(points)
    )
    said = "; ".join(f"N = {point.n}: {number(point.score.mean, 3)}" for point in points)
    return f"""<figure><figcaption>{axis}<br><span class="quiet">by {escape(judge)}</span></figcaption>
<svg class="chart" width="{WIDTH}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(said)}">
<path class="axis" d="M{LEFT} {HEIGHT - BOTTOM} H{WIDTH - EDGE}"/>
<path class="band" d="M{" L".join(band)} Z"/>
<path class="random" d="{line([means[0]] * len(points))}"/><path class="oracle" d="{line([p.oracle for p in points])}"/>
<path d="{line(means)}"/>{dots}{ticks}
<text x="{LEFT - 6}" y="{EDGE + 4}" text-anchor="end">{number(high)}</text>
<text x="{LEFT - 6}" y="{HEIGHT - BOTTOM}" text-anchor="end">{number(low)}</text>
<text x="{(WIDTH + LEFT) / 2:g}" y="{HEIGHT - 2}" text-anchor="middle">N, takes to pick from</text>
</svg></figure>"""
