"""All takes in one picture: musicality against alignment, a dot for each take, a cross for each generator's mean."""

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from cmi.generator_report.collect import HeardTake
from cmi.generator_report.summary import GeneratorReport, Mean, ReportOfGenerators
from cmi.report.pictures import SERIES
from cmi.stats import Interval

WIDTH, HEIGHT = 620, 400
LEFT, BOTTOM = 58, 48  # for the numbers of the axes
MARGIN = 0.06  # of the range, around the dots
LEAST_MARGIN = 1e-6  # of the largest score: scores of any size have a range that numbers can tell apart
TICKS = 5


class Plane(NamedTuple):
    """Where scores lie in the picture."""

    alignment: Interval
    musicality: Interval

    def x(self, alignment: float) -> float:
        return round(LEFT + (WIDTH - LEFT) * _share(alignment, self.alignment), 1)

    def y(self, musicality: float) -> float:
        return round((HEIGHT - BOTTOM) * (1 - _share(musicality, self.musicality)), 1)


def take_anchor(generator: int, take: int) -> str:
    """The address of a take's card on the page: generators and their takes are counted from 0."""
    return f"take-{generator}-{take}"


def chart_of(report: ReportOfGenerators) -> str:
    """Draw the takes as SVG. A dot links to its take's card."""
    scores = [take.score for one in report.generators for take in one.takes]
    plane = Plane(_range([score.alignment for score in scores]), _range([score.musicality for score in scores]))
    drawn = [_axes(plane), *(_generator(plane, one, place) for place, one in enumerate(report.generators))]
    means = (f"{one.name} {one.musicality.value:.2f} and {one.alignment.value:.2f}" for one in report.generators)
    said = f"musicality and alignment of every take; means: {'; '.join(means)}"
    return f"""<figure class="chart">
<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="group" aria-label="{escape(said)}">{"".join(drawn)}</svg>
<figcaption>{_legend(report.generators)}<p class="quiet">A dot is a take; a click leads to it. A cross is a generator's
mean; its arms are the 95 % intervals.</p></figcaption></figure>"""


def ticks(span: Interval) -> list[float]:
    """Return round numbers inside a range, about TICKS of them.

    >>> ticks(Interval(-0.3, 4.2))
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    rough = (span.high - span.low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first, last = math.ceil(span.low / step), math.floor(span.high / step)
    return [round(i * step, 10) for i in range(first, last + 1)]


def _axes(plane: Plane) -> str:
    foot, middle = HEIGHT - BOTTOM, (HEIGHT - BOTTOM) / 2
    across = (
        f'<text x="{plane.x(tick)}" y="{foot + 20}" text-anchor="middle">{tick:g}</text>'
        for tick in ticks(plane.alignment)
    )
    up = (
        f'<text x="{LEFT - 8}" y="{plane.y(tick) + 4}" text-anchor="end">{tick:g}</text>'
        for tick in ticks(plane.musicality)
    )
    return f"""<path class="axis" d="M{LEFT} 0 V{foot} H{WIDTH}"/>{"".join(across)}{"".join(up)}
<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 6}" text-anchor="middle">alignment →</text>
<text transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">musicality →</text>"""


def _generator(plane: Plane, one: GeneratorReport, place: int) -> str:
    dots = (_dot(plane, one, take, take_anchor(place, i)) for i, take in enumerate(one.takes))
    left, right = map(plane.x, _ends(one.alignment, plane.alignment))
    low, high = map(plane.y, _ends(one.musicality, plane.musicality))
    x, y = plane.x(one.alignment.value), plane.y(one.musicality.value)
    cross = f'<path class="mean" d="M{left} {y} H{right} M{x} {low} V{high}"/>'
    return f'<g style="{_colour(place)}">{"".join(dots)}{cross}</g>'


def _dot(plane: Plane, one: GeneratorReport, take: HeardTake, anchor: str) -> str:
    musicality, alignment = take.score.musicality, take.score.alignment
    said = f"{one.name}: {take.row.full_name}, musicality {musicality:.2f}, alignment {alignment:.2f}"
    circle = f'<circle cx="{plane.x(alignment)}" cy="{plane.y(musicality)}" r="4.5">'
    return f'<a href="#{anchor}" aria-label="{escape(said)}">{circle}<title>{escape(said)}</title></circle></a>'


def _legend(generators: Sequence[GeneratorReport]) -> str:
    if len(generators) < 2:
        return ""
    names = (f'<li style="{_colour(place)}">{escape(one.name)}</li>' for place, one in enumerate(generators))
    return f'<ul class="legend">{"".join(names)}</ul>'


def _colour(place: int) -> str:
    return f"--series: {SERIES[place % len(SERIES)]}"


def _range(values: Sequence[float]) -> Interval:
    low, high = min(values), max(values)
    margin = max(MARGIN * (high - low), LEAST_MARGIN * max(abs(low), abs(high))) or 1.0
    return Interval(low - margin, high + margin)


def _share(value: float, span: Interval) -> float:
    return (value - span.low) / (span.high - span.low)


def _ends(mean: Mean, span: Interval) -> tuple[float, float]:
    """The interval as far as it lies in the picture; the mean alone if there is none."""
    low, high = (mean.value if math.isnan(end) else end for end in mean.interval)
    return max(low, span.low), min(high, span.high)
