"""The report as tables for the terminal, and as rows for the dashboard's charts."""

from collections.abc import Sequence
from typing import Any

from cmi.arena.statistics.inputs import AXES
from cmi.arena.statistics.rated import rated_charts, rated_tables
from cmi.report.numbers import MISSING, interval, number, percent
from cmi.report.tables import Table

Row = dict[str, Any]


def tables(report: dict[str, Any]) -> list[Table]:
    """One table per statistic; an undefined cell is a dash."""
    if "kind" in report:
        return rated_tables(report)
    return [
        _progress(report["progress"]),
        _time(report["time"]),
        _agreement(report["agreement"]),
        _axes(report["axes"]),
        _confidence(report["confidence"]),
        _screening(report["screening"]),
        _win_rates(report["win_rates"]),
        _ranking(report["ranking"]),
        *_needed(report["needed"]),
        _covariates(report["covariates"]),
    ]


def _progress(found: Row) -> Table:
    def row(name: str, one: Row) -> list[str]:
        counts = [str(one["done"]), str(one["wanted"]), percent(one["share"])]
        return [name, *counts, f"{one['pairs_done']}/{one['pairs']}"]

    overlap = found["overlap"]
    notes = [
        f"{found['gold_votes']} votes on gold pairs and {found['repeat_votes']} repeats are not included; "
        f"{sum(one['votes'] > 0 for one in found['people'])} of {len(found['people'])} people have voted.",
        f"{percent(overlap['reached'])} % of pairs have two votes or more, {percent(overlap['target'])} % should.",
    ]
    rows = [row("all", found), *(row(one["modality"], one) for one in found["modalities"])]
    return Table("Progress", ["pairs", "votes", "wanted", "%", "pairs done"], rows, notes=notes)


def _time(found: Row) -> Table:
    named = [("all", found), *((one["modality"], one) for one in found["modalities"])]
    rows = [
        [name, str(one["votes"]), *(number(one[part], 0) for part in ("lower_quartile", "median", "upper_quartile"))]
        for name, one in named
    ]
    return Table("Seconds per vote", ["pairs", "votes", "lower quartile", "median", "upper quartile"], rows)


def _agreement(found: Sequence[Row]) -> Table:
    rows = [
        [
            *(one["axis"], str(one["pairs"]), str(one["votes"]), str(one["vote_pairs"])),
            *(number(one["rate"], 3), _span(one, "rate_", 3), number(one["alpha"], 3), _span(one, "alpha_", 3)),
        ]
        for one in found
    ]
    headers = ["axis", "pairs", "votes", "vote pairs", "agreement", "95 %", "alpha", "95 %"]
    notes = ["Pairs with two votes or more, without gold and repeats. Alpha: Krippendorff's, nominal; 0 is chance."]
    return Table("Agreement of annotators", headers, rows, notes=notes)


def _axes(found: Row) -> Table:
    means = {(one["preference"], one["axis"]): number(one["mean"], 2) for one in found["confidence"]}
    sure = [" / ".join(means[group, axis] for axis in AXES) for group in ("same", "different")]
    counts = [str(found["same"]), str(found["different"])]
    row = [*counts, number(found["rate"], 3), _span(found, "rate_", 3), *sure]
    headers = ["same", "different", "agreement", "95 %", "confidence, same", "confidence, different"]
    notes = [
        "Whether the same take is preferred on both axes; mean confidence on alignment / musicality. "
        f"95 %: over {found['interval_over']}."
    ]
    return Table("Agreement of the axes", headers, [row], labels=0, notes=notes)


def _confidence(found: Row) -> Table:
    rows = []
    for one in found["axes"]:
        shares = [percent(level["share"]) for level in found["levels"] if level["axis"] == one["axis"]]
        rows.append([one["axis"], str(one["votes"]), *shares, number(one["mean"], 2)])
    notes = [
        f"{one['axis']}: in {one['untouched']} of {one['known']} votes nobody set the confidence, which is then 3."
        for one in found["axes"]
        if one["untouched"]
    ]
    return Table("Confidence", ["axis", "votes", "1 (%)", "2", "3", "4", "5", "mean"], rows, notes=notes)


def _screening(found: Row) -> Table:
    rows = [
        [
            *(one["name"] or one["person"], one["verdict"], "; ".join(one["reasons"]), str(one["votes"])),
            *(_both(one, what) for what in ("gold", "consistency", "others", "first")),
            *(number(one["median_seconds"], 0), percent(one["confidence_extremes"])),
        ]
        for one in found["people"]
    ]
    measures = ["gold", "repeats", "others", "first"]
    headers = ["person", "verdict", "because", "votes", *measures, "s per vote", "1 or 5 (%)"]
    notes = [
        "Per cent (of n) on alignment / musicality: gold pairs right, repeats answered alike, agreement with the "
        "majority of the others, votes for the take shown first. No vote is left out because of a verdict."
    ]
    return Table("Annotators", headers, rows, labels=3, notes=notes)


def _win_rates(found: Row) -> Table:
    rows = [
        [one["axis"], one["system"], str(one["votes"]), percent(one["rate"]), _span(one, "", 1, 100)]
        for one in found["systems"]
    ]
    notes = [f"{found['left_out']} votes are on pairs without two different named systems. 95 %: Wilson, over votes."]
    return Table("Win rates", ["axis", "system", "votes", "won (%)", "95 %"], rows, labels=2, notes=notes)


def _ranking(found: Row) -> Table:
    rows = [
        [
            *(one["axis"], one["system"], f"{one['rank']} ({one['best']}–{one['worst']})", str(one["votes"])),
            *(number(one["strength"], 2), _span(one, "", 2), percent(one["beats_average"])),
            *(number(one["davidson"], 2), _span(one, "davidson_", 2)),
        ]
        for one in found["systems"]
    ]
    headers = ["axis", "system", "rank", "votes", "strength", "95 %", "beats the average (%)", "with ties", "95 %"]
    notes = [
        "Strength: log odds by Bradley-Terry; with ties: by Davidson's model, a vote of confidence 1 being a tie. "
        "Rank: with what the intervals of differences leave open."
    ]
    if len(found["groups"]) > 1:
        groups = " | ".join(", ".join(group) for group in found["groups"])
        notes.append(f"Ranked separately, because they were never compared, directly or through others: {groups}.")
    if found["left_out"]:
        few = ", ".join(f"{one['system']} ({one['votes']})" for one in found["left_out"])
        notes.append(f"Left out, with fewer than {found['minimum_votes']} votes against those that remain: {few}.")
    pulled = [one for one in found["axes"] if one["prior"]]
    notes += [
        f"{one['axis']}: some system won or lost all its votes; a prior of precision {one['prior']} pulls to the mean."
        for one in pulled
    ]
    notes += [
        f"{one['axis']}: too few {way} to estimate how {way} differ; the intervals do not account for it."
        for one in found["axes"]
        for way in ("people", "pairs")
        if one[way] is None
    ]
    return Table("Ranking of systems", headers, rows, labels=2, notes=notes)


def _needed(found: Row) -> list[Table]:
    margin = f"±{100 * found['margin']:g} points"
    rows = [[one["axis"], "every score", *_votes_still(one, "scores_")] for one in found["axes"]]
    rows += [
        [one["axis"], f"neighbours ({one['open']} open)", *_votes_still(one, "neighbours_")] for one in found["axes"]
    ]
    rows += [[one["axis"], one["system"], *_votes_still(one)] for one in found["scores"]]
    rows += [
        [one["axis"], f"{one['system']} > {one['next']}: {one['state']}", *_votes_still(one)]
        for one in found["neighbours"]
    ]
    notes = [
        f"Until the strength's 95 % interval is ±{found['log_odds']:.2f}, which is {margin} of a win rate; neighbours: "
        "until their difference excludes 0 (apart) or lies within it (alike). Safe: suffices in more than four of five "
        "studies. It is assumed that further votes come from new people and on new pairs in proportion."
    ]
    headers = ["axis", "of", "votes", "needed", "safe", "still, safe"]
    pairs = [[one["axis"], one["system"], one["against"], *_votes_still(one)] for one in found["pairs"]]
    direct = "Votes on these two systems; 95 %: Wilson, over independent votes."
    return [
        Table(f"Votes needed for {margin}", headers, rows, labels=2, notes=notes),
        Table(
            f"Votes needed to know who wins to {margin}",
            ["axis", "system", "against", *headers[2:]],
            pairs,
            labels=3,
            notes=[direct],
        ),
    ]


def _votes_still(one: Row, prefix: str = "") -> list[str]:
    needed, safe = one[f"{prefix}needed"], one[f"{prefix}safe"]
    still = None if safe is None else max(0, safe - one["votes"])
    return [str(one["votes"]), *(MISSING if value is None else str(value) for value in (needed, safe, still))]


def _covariates(found: Row) -> Table:
    rows = [
        [
            *(one["axis"], one["covariate"], str(one["votes"])),
            *(percent(one["share"]), _span(one, "share_", 1, 100)),
            *(number(one["effect"], 3), _span(one, "effect_", 3), one["unit"], one["note"]),
        ]
        for one in found["effects"]
    ]
    headers = ["axis", "more of", "votes", "preferred (%)", "95 %", "effect", "95 %", "per", "note"]
    notes = [
        "Votes for the louder, longer, first take; effect: log odds beside the systems' strengths. "
        f"{found['left_out']} votes without a measured loudness or duration are left out."
    ]
    return Table("Effects of loudness, length and order", headers, rows, labels=2, notes=notes)


def _both(row: Row, what: str) -> str:
    cells = [
        f"{percent(row[f'{axis}_{what}'])} ({row[f'{axis}_{what}_n']})" if row[f"{axis}_{what}_n"] else MISSING
        for axis in AXES
    ]
    return " / ".join(cells)


def _span(row: Row, prefix: str, digits: int, scale: float = 1.0) -> str:
    return interval((row[f"{prefix}low"], row[f"{prefix}high"]), digits, scale)


def charts(report: dict[str, Any]) -> dict[str, list[Row]]:
    """Flat rows by chart name; all rows of a chart have the same columns."""
    if "kind" in report:
        return rated_charts(report)
    axes = report["axes"]
    shares = [{"preference": name, "votes": axes[name], "of": axes["votes"]} for name in ("same", "different")]
    screening = [{**row, "reasons": "; ".join(row["reasons"])} for row in report["screening"]["people"]]
    for row in screening:
        del row["reason_parts"]
    return {
        "progress_modalities": report["progress"]["modalities"],
        "progress_people": report["progress"]["people"],
        "progress_days": report["progress"]["days"],
        "time_people": report["time"]["people"],
        "time_modalities": report["time"]["modalities"],
        "agreement": report["agreement"],
        "confidence": report["confidence"]["levels"],
        "axes": shares,
        "axes_confidence": axes["confidence"],
        "screening": screening,
        "win_rates": report["win_rates"]["matrix"],
        "win_rates_systems": report["win_rates"]["systems"],
        "ranking": report["ranking"]["systems"],
        "needed": report["needed"]["scores"],
        "needed_pairs": report["needed"]["pairs"],
        "needed_neighbours": report["needed"]["neighbours"],
        "covariates": report["covariates"]["effects"],
        "ranking_adjusted": report["covariates"]["systems"],
    }
