"""The pictures of docs/tutorial.md, from the files that its commands leave in a folder.

    python recipes/tutorial/pictures.py build/tutorial docs/pictures

`cmi train` and `cmi pick --plot` draw theirs themselves; these are copied.
"""

import argparse
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from known_quality import read_qualities

from cmi import read_preferences, read_prompts
from cmi._util.files import make_folder
from cmi.report.pictures import QUIET, SERIES, new_figure, new_panels, save_picture
from cmi.stats import rank, wilson

WINDOW, HOP = 2048, 6400  # samples of a spectrum, and from one to the next
BANDS = 32
OWN = {  # drawn by the commands
    "tutorial-stage1.svg": "runs/stage1/training/curve.svg",
    "tutorial-stage2.svg": "runs/stage2/training/curve.svg",
    "tutorial-pick.svg": "pick.svg",
}


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def draw_prompts(run: Path) -> Any:
    """Prompts by modality."""
    counts = Counter(row.prompt.modality for row in read_prompts(run / "prompts.jsonl"))
    figure = new_figure(6, 1.8)
    (panel,) = new_panels(figure)
    panel.barh(list(counts)[::-1], list(counts.values())[::-1], color=SERIES[0])
    panel.set_xlabel("prompts")
    return figure


def draw_takes(run: Path) -> Any:
    """Spectrograms of the first prompt's first take by each system."""
    takes = read_lines(run / "takes" / "takes.jsonl")
    first = takes[0]["group"], takes[0]["seed"]
    shown = [take for take in takes if (take["group"], take["seed"]) == first]
    figure = new_figure(9, 2.6)
    figure.suptitle(shown[0]["text"], fontsize=9)
    for panel, take in zip(new_panels(figure, columns=len(shown), sharey=True), shown, strict=True):
        samples, rate = soundfile.read(run / "takes" / take["audio"], always_2d=True)
        frames = np.lib.stride_tricks.sliding_window_view(samples.mean(axis=1), WINDOW)[::HOP]
        power = np.abs(np.fft.rfft(frames * np.hanning(WINDOW))[:, : WINDOW // 4]) ** 2
        bands = 10 * np.log10(power.reshape(len(power), BANDS, -1).mean(axis=2).T + 1e-6)
        how = {"extent": (0, take["seconds"], 0, rate / 4000), "cmap": "magma", "vmin": -40}
        panel.imshow(bands, origin="lower", aspect="auto", interpolation="none", **how)
        panel.set_title(take["generator"], fontsize=8)
        panel.set_xlabel("s")
    figure.axes[0].set_ylabel("kHz")
    return figure


def draw_pairs(run: Path) -> Any:
    """Pairs of every two systems, by split."""
    rows = read_lines(run / "pairs" / "preferences.jsonl")
    meetings = sorted({_meeting(row) for row in rows})
    figure = new_figure(8, 1.8)
    (panel,) = new_panels(figure)
    left = np.zeros(len(meetings))
    for split in ("train", "valid", "test"):
        counts = [sum(row["split"] == split and _meeting(row) == one for row in rows) for one in meetings]
        panel.barh(meetings, counts, left=left, label=split)
        left += counts
    panel.set_xlabel("pairs")
    figure.legend(frameon=False, fontsize=8, ncols=3, loc="outside upper right")
    return figure


def draw_agreement(run: Path) -> Any:
    """How often the judge's labels and the votes name the take that was made better, with 95 % intervals."""
    quality = read_qualities(run / "takes", lambda path: path.parent.name)  # by system
    figure = new_figure(7, 2.6)
    (panel,) = new_panels(figure)
    names, number = [], 0
    for colour, (folder, who) in zip(SERIES, (("labels", "judge"), ("votes", "voters")), strict=False):
        found = [one for one in read_preferences(run / folder) if one.choice in ("a", "b")]
        for axis in ("musicality", "alignment"):
            right = [
                (quality[one.about["generator_a"]][axis] > quality[one.about["generator_b"]][axis])
                == (one.choice == "a")
                for one in found
                if one.axis == axis
            ]
            low, high = wilson(sum(right), len(right))
            panel.barh(number, 100 * np.mean(right), color=colour)
            panel.plot([100 * low, 100 * high], [number, number], color="black")
            names.append(f"{who}, {axis} (n = {len(right)})")
            number += 1
    panel.axvline(50, color=QUIET, linestyle="--")
    panel.set_yticks(range(number), names)
    panel.invert_yaxis()
    panel.set_xlim(0, 100)
    panel.set_xlabel("% that name the take of the better system (dashed: chance)")
    return figure


def draw_ranking(run: Path) -> Any:
    """The systems' strengths by the votes."""
    figure = new_figure(8, 2)
    panels = new_panels(figure, columns=2, sharey=True)
    ranked = rank(read_preferences(run / "votes"))
    for panel, axis in zip(panels, ("musicality", "alignment"), strict=True):
        for one in (one for one in ranked if one.axis == axis):
            panel.plot([one.low, one.high], [one.system] * 2, color=SERIES[0])
            panel.plot(one.strength, one.system, "o", color=SERIES[0])
        panel.axvline(0, color=QUIET, linewidth=0.8)
        panel.set_title(f"{axis}, by votes", loc="left", fontsize=9)
        panel.set_xlabel("strength, log odds (95 %)")
    panels[0].invert_yaxis()
    return figure


def draw_accuracy(run: Path) -> Any:
    """Accuracy of the models and nulls on the votes of the test split."""
    cells = json.loads((run / "bench.json").read_text("utf-8"))["cells"]
    cells = [cell for cell in cells if cell["metric"] == "ACC" and cell["group"] == "all"]
    tasks = list(dict.fromkeys(cell["task"] for cell in cells))
    figure = new_figure(3 + 3 * len(tasks), 3.2)
    panels = new_panels(figure, columns=len(tasks), sharey=True)
    for panel, task in zip(panels, tasks, strict=True):
        for cell in (cell for cell in cells if cell["task"] == task):
            name = cell["model"].partition("@")[0]
            panel.barh(name, 100 * cell["value"], color=QUIET if cell["is_null"] else SERIES[0])
            panel.plot([100 * cell["low"], 100 * cell["high"]], [name, name], color="black")
        panel.axvline(50, color=QUIET, linestyle="--")
        panel.set_xlim(0, 100)
        panel.set_xticks([0, 50, 100])
        panel.set_title(task, loc="left", fontsize=9)
        panel.set_xlabel("accuracy, % (95 %)")
    panels[0].invert_yaxis()
    return figure


def _meeting(row: dict[str, Any]) -> str:
    return " and ".join(sorted((row["generator_a"], row["generator_b"])))


DRAWN = {
    "tutorial-prompts.svg": draw_prompts,
    "tutorial-takes.svg": draw_takes,
    "tutorial-pairs.svg": draw_pairs,
    "tutorial-agreement.svg": draw_agreement,
    "tutorial-ranking.svg": draw_ranking,
    "tutorial-accuracy.svg": draw_accuracy,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="the folder in which the tutorial's commands ran")
    parser.add_argument("out", type=Path, help="the folder for the pictures")
    given = parser.parse_args()
    make_folder(given.out)
    for name, draw in DRAWN.items():
        save_picture(draw(given.run), given.out / name)
    for name, source in OWN.items():
        shutil.copy(given.run / source, given.out / name)
    print(f"{len(DRAWN) + len(OWN)} pictures in {given.out}")


if __name__ == "__main__":
    main()
