"""A probe's report for people: three tables and a picture."""

from pathlib import Path

from cmi.probe.probe import HALF, RANDOM_CHANGE, ProbeReport
from cmi.probe.versions import STRENGTHS
from cmi.report.numbers import interval, number, percent
from cmi.report.pictures import QUIET, SERIES, new_figure, new_panels, save_picture
from cmi.report.tables import Table

VERDICTS = {True: "pass", False: "FAIL", None: "-"}


def tables(report: ProbeReport) -> list[Table]:
    return [_changes(report), _falls(report), _orders(report)]


def _changes(report: ProbeReport) -> Table:
    rows = [
        [
            *(c.probe, c.axis, str(c.n), number(c.mean, 3), interval(c.interval, 3), number(c.largest, 3)),
            *(f"{c.bound:g}", VERDICTS[c.passed]),
        ]
        for c in report.changes
    ]
    rows.append(["(random scorer)", "any", "", number(RANDOM_CHANGE), "", "", "", ""])
    spread = ", ".join(f"{axis} {value:.3g}" for axis, value in report.spread.items())
    return Table(
        f"{report.model}: should hardly move the score",
        ["what is changed", "axis", "n", "mean", "95 %", "largest", "bound", "verdict"],
        rows,
        labels=2,
        notes=[f"|Change| in spreads; a spread is the standard deviation of the clean songs' scores: {spread}."],
    )


def _falls(report: ProbeReport) -> Table:
    rows = [
        [
            *(f.flaw, f.family, str(f.n), percent(f.share, 0), interval(f.interval, 0, 100)),
            *(number(f.trend), interval(f.trend_interval), VERDICTS[f.passed]),
        ]
        for f in report.falls
    ]
    rows.append(["(random scorer)", "any", "", "50", "", "0.00", "", ""])
    bound = report.falls[0]
    families = {family: [f.passed for f in report.falls if f.family == family] for family in _families(report)}
    counts = "; ".join(f"{family} {sum(passed)} of {len(passed)}" for family, passed in families.items())
    return Table(
        f"{report.model}: should lower musicality, the more the stronger",
        ["flaw", "family", "n", f"falls at {HALF:g} (%)", "95 %", "trend", "95 %", "verdict"],
        rows,
        labels=2,
        notes=[
            f"Pass: falls in {percent(bound.fall_bound, 0)} % of the songs or more, and a trend (Spearman, strength "
            f"against score) of {bound.trend_bound:g} or less. Passed: {counts}."
        ],
    )


def _orders(report: ProbeReport) -> Table:
    rows = [
        [
            *(o.probe, str(o.n), percent(o.share, 0), interval(o.interval, 0, 100), percent(o.chance, 0)),
            *(percent(o.bound, 0), VERDICTS[o.passed]),
        ]
        for o in report.orders
    ]
    return Table(
        f"{report.model}: should have the higher alignment",
        ["prompt", "n", "songs (%)", "95 %", "chance", "bound", "verdict"],
        rows,
        notes=[*report.notes, _summary(report)],
    )


def _summary(report: ProbeReport) -> str:
    font = f", soundfont {report.soundfont}" if report.soundfont else ""
    return (
        f"{sum(report.verdicts)} of {len(report.verdicts)} probes pass. {report.takes} takes scored: {report.source}, "
        f"{report.seconds:g} s, seed {report.seed}{font}. With few songs, trust the intervals, not the verdicts."
    )


def draw(report: ProbeReport, path: Path) -> None:
    """Mean change of musicality against strength, one panel for each family and one line for each flaw."""
    families = _families(report)
    figure = new_figure(1 + 4 * len(families), 4.5)
    panels = new_panels(figure, columns=len(families))
    for axes, family in zip(panels, families, strict=True):
        flaws = [fall for fall in report.falls if fall.family == family]
        for i, fall in enumerate(flaws):
            colour, mark = SERIES[i % len(SERIES)], "osD^v"[i % 5]
            style = "-" if fall.passed else ":"
            axes.plot((0, *STRENGTHS), (0, *fall.curve), style, marker=mark, color=colour, label=fall.flaw)
        axes.axhline(0, color=QUIET, linewidth=0.8)
        axes.set_title(family, loc="left", fontsize=10)
        axes.set_xlabel("strength")
        axes.legend(frameon=False, fontsize=8)
    panels[0].set_ylabel("change of musicality, in spreads of clean songs")
    title = f"{report.model}: mean over {report.songs} songs; lines should fall, dotted ones fail"
    figure.suptitle(title, fontsize=9)
    save_picture(figure, path)


def _families(report: ProbeReport) -> list[str]:
    return list(dict.fromkeys(fall.family for fall in report.falls))
