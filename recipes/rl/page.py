"""What optimisation did: tables, curves over KL, and a page with takes to listen to, before and after.

python recipes/rl/page.py results/ page.html [--picture curves.svg]
"""

import argparse
import base64
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from curves import (
    BEFORE,
    PICKED_BY,
    Change,
    HeardFlaw,
    Point,
    Row,
    agreement,
    heard_flaws,
    highest_truth,
    points_of,
    read_results,
)

from cmi._util.errors import InputError
from cmi.report.html import page, table_html
from cmi.report.numbers import count, interval, number, percent, signed
from cmi.report.pictures import QUIET, colours, new_figure, new_panels, save_picture
from cmi.report.tables import Table, print_tables

SHOWN = {
    "reward": "reward: nano, optimised",
    "second": "second scorer: plain numbers",
    "truth": "truth",
    "clean": "truth: how clean",
    "in_key": "truth: in one key",
    "heeded": "truth: as asked",
}
FLAWS_SHOWN = 8  # that nano hears least


def draw_curves(points: Sequence[Point], path: Path) -> None:
    """One panel for each measure: its change over the KL from the learned generator, with 95 % over prompts.

    Of the ways to pick the best of N, by the reward alone: the others are in the table.
    """
    figure = new_figure(10, 5.6)
    others = set(PICKED_BY.values()) - {PICKED_BY["reward"]}
    points = [point for point in points if point.method not in others]
    colour = colours([point.method for point in points])
    panels = new_panels(figure, 2, 3)
    for panel, (name, title) in zip(panels, SHOWN.items(), strict=True):
        panel.axhline(0, lw=0.8, c=QUIET)
        for method, own in groupby(points, key=lambda point: point.method):
            series = list(own)
            changes = [point.change(name) for point in series]
            lengths = [
                [change.mean - change.interval.low for change in changes],
                [change.interval.high - change.mean for change in changes],
            ]
            panel.errorbar(
                [point.kl for point in series], [change.mean for change in changes], lengths,
                marker=".", lw=1.2, elinewidth=0.5, c=colour[method], label=method,
            )  # fmt: skip
        panel.set_title(title, fontsize=10)
        panel.set_xscale("log")
        panel.set_xlabel("KL, nats a song", fontsize=8, color=QUIET)
    panels[0].legend(fontsize=7)
    save_picture(figure, path)


def changes_table(points: Sequence[Point], prompts: int) -> Table:
    rows = [
        [
            *(point.method, count(point.at), count(point.seeds), number(point.kl, 2), number(point.diversity, 2)),
            *(_change(point.change(name)) for name in SHOWN),
        ]
        for point in points
    ]
    notes = [
        f"Changes from the songs before, in the mean over the same {prompts} held-out prompts, and 95 % over prompts.",
        "A random song changes nothing. Methods that end in null have random rewards, those in truth have the truth.",
    ]
    headers = ["method", "N or step", "seeds", "KL", "diversity", *SHOWN]
    return Table("What optimisation changed", headers, rows, 1, notes)


def stop_table(points: Sequence[Point]) -> Table:
    rows = []
    for method, own in groupby(points, key=lambda point: point.method):
        peak, last, truth, reward = highest_truth(list(own))
        there = [count(peak.at), number(peak.kl, 2), _change(peak.change("truth"))]
        rows.append([method, *there, count(last.at), _change(truth), _change(reward)])
    notes = [
        "If the reward rises and the truth falls from there to the end, the generator games the reward: stop there. An "
        "interval that includes 0 does not show that it falls. The highest of several is a little too high by chance."
    ]
    headers = ["method", "truth is highest at", "KL", "its change", "end", "truth from there", "reward from there"]
    return Table("Where to stop", headers, rows, 1, notes)


def agreement_table(before: Row) -> Table:
    parts = ("truth", "clean", "in_key", "heeded")
    scorers = {
        "musicality": "nano's musicality",
        "alignment": "nano's alignment",
        "reward": "their mean",
        "second": "second scorer",
    }
    rows = [[name, *(_change(agreement(before, own, part)) for part in parts)] for own, name in scorers.items()]
    note = "Rank correlations among the songs of a prompt before, in the mean over prompts, and 95 % over prompts."
    return Table("Who agrees with the truth", ["", *(SHOWN[part] for part in parts)], rows, 1, [note])


def flaws_table(flaws: Sequence[HeardFlaw]) -> Table:
    methods = list(flaws[0].shares) if flaws else []
    rows = [
        [
            *(one.flaw, count(one.songs), number(one.musicality, 2), percent(one.found.mean)),
            *(interval(one.found.interval, 1, 100), *(percent(one.shares[method]) for method in methods)),
        ]
        for one in flaws[:FLAWS_SHOWN]
    ]
    notes = [
        "found: how often a song without a flaw scores higher than one with it, of all such pairs of songs before; 50 "
        "is chance. Then how common the flaw is, in percent of songs: what nano does not hear may become common."
    ]
    headers = ["flaw", "songs", "musicality", "found, %", "95 %", *methods]
    return Table("The flaws that nano hears least", headers, rows, 1, notes)


def make_tables(results: Mapping[str, Sequence[Sequence[Row]]]) -> list[Table]:
    points = points_of(results)
    prompts = len(points[0].by_prompt["truth"])
    return [
        changes_table(points, prompts),
        stop_table(points),
        agreement_table(results[BEFORE][0][0]),
        flaws_table(heard_flaws(results)),
    ]


def players(folder: Path, methods: Sequence[str]) -> str:
    """A row for each prompt: its take before, and after each method (the first seed)."""
    takes = {method: _takes(folder / f"{method}-1") for method in methods}
    takes = {method: own for method, own in takes.items() if own}
    if not takes:
        return ""
    head = "".join(f"<th>{escape(method)}</th>" for method in takes)
    rows = []
    for text in dict.fromkeys(text for own in takes.values() for text in own):
        cells = "".join(f"<td>{_player(own[text]) if text in own else ''}</td>" for own in takes.values())
        rows.append(f"<tr><td>{escape(text)}</td>{cells}</tr>")
    return f'<h2>Listen</h2>\n<div class="scroll"><table><tr><th>prompt</th>{head}</tr>{"".join(rows)}</table></div>'


def _takes(folder: Path) -> dict[str, Path]:
    """Paths by text."""
    listed = folder / "takes.jsonl"
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.is_file() else []
    return {row["text"]: folder / row["audio"] for row in map(json.loads, lines)}


def _player(path: Path) -> str:
    sound = base64.b64encode(path.read_bytes()).decode("ascii")
    return f'<audio controls preload="none" src="data:audio/mpeg;base64,{sound}"></audio>'


def _change(change: Change) -> str:
    return f"{signed(change.mean, 3)} ({signed(change.interval.low, 3)} – {signed(change.interval.high, 3)})"


def write_page(folder: Path, target: Path, picture: Path | None = None) -> list[Table]:
    results = read_results(folder)
    tables = make_tables(results)
    with tempfile.TemporaryDirectory() as beside:
        drawn = picture or Path(beside) / "curves.svg"
        draw_curves(points_of(results), drawn)
        image = base64.b64encode(drawn.read_bytes()).decode("ascii")
    kind = "svg+xml" if drawn.suffix == ".svg" else "png"
    parts = [
        "<h1>Does optimising the reward make better music?</h1>",
        f'<img alt="Each measure over KL" src="data:image/{kind};base64,{image}" style="max-width: 100%">',
        *map(table_html, tables),
        players(folder, [BEFORE, *(method for method in results if method != BEFORE)]),
    ]
    target.write_text(page("Optimising a reward", "\n".join(parts)), encoding="utf-8")
    return tables


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("page", type=Path)
    parser.add_argument("--picture", type=Path, help="write the curves to this .svg or .png, too")
    options = parser.parse_args()
    try:
        print_tables(write_page(options.results, options.page, options.picture))
    except InputError as error:
        sys.exit(f"page.py: {error}")


if __name__ == "__main__":
    main()
