"""A probe's report for people: three tables and a picture."""

from itertools import product
from pathlib import Path

from cmi.probe.probe import HALF, RANDOM_CHANGE, ProbeReport
from cmi.probe.versions import STRENGTHS
from cmi.report.numbers import interval, number, percent, signed
from cmi.report.pictures import new_figure, new_panels, save_picture
from cmi.report.tables import Table

FULL_COLOUR = 2.0  # spreads; the same for all scorers, so that pictures can be compared
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
    families = {family: [f.passed for f in report.falls if f.family == family] for family in families_of(report)}
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
        notes=[*report.notes, summary(report)],
    )


def summary(report: ProbeReport) -> str:
    """Say how many probes pass, and on what."""
    font = f", soundfont {report.soundfont}" if report.soundfont else ""
    return (
        f"{sum(report.verdicts)} of {len(report.verdicts)} probes pass. {report.takes} takes scored: {report.source}, "
        f"{report.seconds:g} s, seed {report.seed}{font}. With few songs, trust the intervals, not the verdicts."
    )


def draw(report: ProbeReport, path: Path) -> None:
    """Mean change of musicality by flaw and strength: a panel for each family, a row for each flaw."""
    families = {family: [fall for fall in report.falls if fall.family == family] for family in families_of(report)}
    rows = [len(falls) for falls in families.values()]
    figure = new_figure(6.5, 1.6 + 0.3 * sum(rows) + 0.5 * len(rows))
    panels = new_panels(figure, rows=len(rows), sharex=True, gridspec_kw={"height_ratios": rows})
    for panel, (family, falls) in zip(panels, families.items(), strict=True):
        values = [fall.curve for fall in falls]
        image = panel.imshow(values, cmap="BrBG_r", vmin=-FULL_COLOUR, vmax=FULL_COLOUR, aspect="auto")
        panel.set_title(family, loc="left", fontsize=10)
        panel.set_yticks(range(len(falls)), [fall.flaw + ("" if fall.passed else " (fails)") for fall in falls])
        panel.tick_params(length=0)
        panel.spines[:].set_visible(False)
        for row, column in product(range(len(falls)), range(len(STRENGTHS))):
            value = values[row][column]
            ink = "white" if abs(value) > 0.7 * FULL_COLOUR else "black"
            panel.text(column, row, signed(value), ha="center", va="center", fontsize=8, color=ink)
    panels[-1].set_xticks(range(len(STRENGTHS)), [f"{strength:g}" for strength in STRENGTHS])
    panels[-1].set_xlabel("strength of the flaw")
    figure.colorbar(
        image, ax=panels, shrink=0.6, extend="both", label="change of musicality, in spreads of clean songs"
    )
    figure.suptitle(f"{report.model}: mean over {report.songs} songs; every row should fall", fontsize=9)
    save_picture(figure, path)


def families_of(report: ProbeReport) -> list[str]:
    """Return the families of the flaws, in order."""
    return list(dict.fromkeys(fall.family for fall in report.falls))
