"""A page of what optimisation did: curves over KL, a table, and takes to listen to, before and after.

python recipes/rl/page.py results/ page.html
"""

import argparse
import base64
import json
import tempfile
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from cmi.report.html import page, table_html
from cmi.report.numbers import number, signed
from cmi.report.pictures import QUIET, colours, new_figure, new_panels, save_picture
from cmi.report.tables import Table

CURVES = {
    "reward": "reward (nano), optimised",
    "second": "second scorer, never seen",
    "truth": "truth: clean, in key, as asked",
    "clean": "truth: how clean",
    "in_key": "truth: share of notes in key",
    "heeded": "truth: share of the prompt followed",
}
Run = tuple[str, int, list[dict[str, Any]]]  # method, seed, measurements


def read_runs(folder: Path) -> list[Run]:
    runs = []
    for path in sorted(folder.glob("*.jsonl")):
        method, _, seed = path.stem.rpartition("-")
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if rows:
            runs.append((method, int(seed), rows))
    return runs


def draw_curves(runs: Sequence[Run], path: Path) -> None:
    """One panel for each measure, over the KL from the generator that was learned; bars are 95 % over prompts."""
    figure = new_figure(10, 9)
    colour = colours([method for method, _, _ in runs])
    panels = new_panels(figure, 4, 2)
    for panel, (name, title) in zip(panels, {**CURVES, "diversity": "diversity"}.items(), strict=False):
        for method, seed, rows in runs:
            first = seed == min(other for kind, other, _ in runs if kind == method)
            means = [row["diversity"] if name == "diversity" else row["values"][name][0] for row in rows]
            margins = None if name == "diversity" else [row["values"][name][1] for row in rows]
            label = method if first else None
            panel.errorbar(
                [row["kl"] for row in rows], means, margins, marker=".", lw=1.2, elinewidth=0.5, c=colour[method],
                label=label,
            )  # fmt: skip
        panel.set_title(title, fontsize=10)
        panel.set_xlabel("KL, nats a song", fontsize=8, color=QUIET)
    panels[0].legend(fontsize=8)
    for panel in panels[len(CURVES) + 1 :]:
        panel.set_visible(False)
    save_picture(figure, path)


def gains_table(runs: Sequence[Run]) -> Table:
    """From the first measurement to the last, and where the truth was highest."""
    rows = []
    for method, seed, measured in runs:
        first, last = measured[0], measured[-1]
        best = max(measured, key=lambda row: row["values"]["truth"][0])
        gains = [signed(last["values"][name][0] - first["values"][name][0], 3) for name in CURVES]
        truth = f"{number(best['values']['truth'][0], 3)} at {best['step']}, KL {number(best['kl'], 1)}"
        rows.append([method, str(seed), str(last["step"]), number(last["kl"], 1), *gains, truth])
    headers = ["method", "seed", "steps or N", "KL", *CURVES, "highest truth"]
    note = (
        "Changes from the first measurement to the last, on the same held-out prompts. 'shuffled' is GRPO with the "
        "rewards of a group given to the wrong songs. If the reward rises while the truth falls, the generator games "
        "the reward: stop where the truth is highest."
    )
    return Table("What optimisation changed", headers, rows, labels=1, notes=[note])


def players(results: Path, runs: Sequence[Run]) -> str:
    folders = ["before", *(f"{method}-{seed}" for method, seed, _ in runs if (results / f"{method}-{seed}").is_dir())]
    takes = {name: _takes(results / name) for name in folders if (results / name / "takes.jsonl").is_file()}
    if not takes:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in takes)
    rows = []
    for place, (text, _) in enumerate(next(iter(takes.values()))):
        cells = "".join(f"<td>{_player(own[place][1])}</td>" for own in takes.values())
        rows.append(f"<tr><td>{escape(text)}</td>{cells}</tr>")
    return f'<h2>Listen</h2>\n<div class="scroll"><table><tr><th>prompt</th>{head}</tr>{"".join(rows)}</table></div>'


def _takes(folder: Path) -> list[tuple[str, Path]]:
    rows: list[Mapping[str, str]] = [
        json.loads(line) for line in (folder / "takes.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    return [(row["text"], folder / row["audio"]) for row in rows]


def _player(path: Path) -> str:
    sound = base64.b64encode(path.read_bytes()).decode("ascii")
    return f'<audio controls preload="none" src="data:audio/flac;base64,{sound}"></audio>'


def write_page(results: Path, target: Path) -> None:
    runs = read_runs(results)
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "curves.svg"
        draw_curves(runs, picture)
        drawn = base64.b64encode(picture.read_bytes()).decode("ascii")
    body = "\n".join(
        [
            "<h1>Does optimising the reward make better music?</h1>",
            f'<img alt="Each measure over KL" src="data:image/svg+xml;base64,{drawn}" style="max-width: 100%">',
            table_html(gains_table(runs)),
            players(results, runs),
        ]
    )
    target.write_text(page("Optimising a reward", body), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("page", type=Path)
    options = parser.parse_args()
    write_page(options.results, options.page)
