"""Prints what `train.py` measured: how often a clean clip is above a flawed one, by scorer, family and flaw.

    python recipes/nano/table.py OUT/scores.pt [REAL]

Of the same clip, and of any two clips, at strengths 0.3, 0.6 and 1; `fold0` and `fold1` were trained without the
families that `flaws.FOLDS` names. An ensemble is the sum of scores, each over its spread. With REAL, the folder of
`people.py`: what listeners and systems of the pack `people` say of it.
"""

import csv
import sys
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from scipy.stats import spearmanr
from torch import Tensor

STRENGTHS = (0.3, 0.6, 1.0)
ENSEMBLES = (("linear", "critic from ear"), ("linear+", "critic from ear"), ("linear+", "critic from ear", "critic"))
RECORDED = ("MusicCaps", "MusicCaps 2", "audiomog GT")  # the systems of `people.py` that are real recordings
APART = 2  # points of a rating from 0 to 5
Row = tuple[int, str, float]
Said = dict[str, Tensor]  # by pack


def main() -> None:
    found: dict[str, Any] = torch.load(sys.argv[1], weights_only=False)
    rows: list[Row] = found["rows"]
    families: dict[str, tuple[str, ...]] = found["families"]
    family_of = {flaw: family for family, own in families.items() for flaw in own}
    groups = sorted({family_of.get(name, name) for _, name, strength in rows if strength and name != "not music"})
    for label, said in scorers(found).items():
        scores = said["tests"]
        print(f"\n{label}\n{'':22}same clip              any two clips")
        print(f"{'all':22}{line(scores, rows, list(family_of))}")
        print(f"{'studio, all':22}{line(scores, rows, [group for group in groups if group.startswith('studio')])}")
        for group in groups:
            print(f"{group:22}{line(scores, rows, families.get(group, (group,)))}")
        strange, clean = pick(scores, rows, ["not music"], 1.0)[0], pick(scores, rows, [""], 0.0)[0]
        below = [100 * share(clean, own) for own in (strange, said["speech"])]
        print(f"not music is below {below[0]:.1f} %, speech below {below[1]:.1f} %")
        twin = pick(scores, rows, ["unhurt"], 0.0)[0]
        print(
            f"harmless changes move it by {float((twin - clean).abs().mean() / clean.std()):.2f} spreads of clean clips"
        )
        if found["studio rows"]:
            print(studio(said["studio-test"], found["studio rows"][::2]))
        if len(sys.argv) > 2 and "people" in said:
            print(people(said["people"].tolist(), found["people rows"], Path(sys.argv[2])))


def scorers(found: dict[str, Any]) -> dict[str, Said]:
    """What each said of the tests and packs, and the ensembles of each training."""
    named: dict[str, Said] = {key: own for key, own in found.items() if isinstance(own, dict) and "tests" in own}
    for training in ("all", "last", "fold0", "fold1"):
        for kinds in ENSEMBLES:
            parts = [named.get(f"{kind} {training}") for kind in kinds]
            usable = [part for part in parts if part is not None]
            if len(usable) == len(kinds):
                named[f"{' & '.join(kinds)} {training}"] = {
                    pack: torch.stack(
                        [(part[pack] - part["tests"].mean()) / part["tests"].std() for part in usable]
                    ).sum(0)
                    for pack in usable[0]
                }
    return named


def pick(scores: Tensor, rows: Sequence[Row], names: Sequence[str], strength: float) -> tuple[Tensor, Tensor]:
    """The scores of clips with one of these flaws, and which clips they are of."""
    places = [i for i, (_, name, own) in enumerate(rows) if name in names and own == strength]
    return scores[places], torch.tensor([rows[i][0] for i in places])


def share(better: Tensor, worse: Tensor) -> float:
    """Of all pairs, those in which the better is above."""
    return float((better[:, None] > worse[None]).float().mean())


def line(scores: Tensor, rows: Sequence[Row], names: Sequence[str]) -> str:
    clean = pick(scores, rows, [""], 0.0)[0]
    same, across = [], []
    for strength in STRENGTHS:
        bad, owner = pick(scores, rows, names, strength)
        same.append(100 * float((clean[owner] > bad).float().mean()))
        across.append(100 * share(clean, bad))
    return "".join(f"{x:7.1f}" for x in same) + "  " + "".join(f"{x:7.1f}" for x in across)


def studio(scores: Tensor, about: Sequence[dict[str, Any]]) -> str:
    """The studio's own pairs, a part of each take."""
    right = (scores[::2] > scores[1::2]).float()
    cells = []
    for key, value in (("split", "test"), ("split", "heldout"), ("kind", "same"), ("kind", "across")):
        own = right[[i for i, row in enumerate(about) if row[key] == value]]
        cells.append(f"{value} {100 * float(own.mean()):.1f} (n {len(own)})")
    return "studio's pairs: " + ", ".join(cells)


def people(scores: Sequence[float], about: Sequence[dict[str, Any]], real: Path) -> str:
    """Agreement with listeners' ratings, and how often real recordings are above each system."""
    systems: defaultdict[str, list[float]] = defaultdict(list)
    pieces: defaultdict[str, list[float]] = defaultdict(list)
    for row, score in zip(about, scores, strict=True):
        if row["system"] == "davda54":
            pieces[row["name"]].append(score)
        else:
            other = f" ({row['name'].split('-')[-1]})" if row["system"].startswith("MeLoDy") else ""
            systems[row["system"] + other].append(score)
    recorded = torch.tensor([score for name in RECORDED for score in systems.pop(name)])
    above = [f"{name} {100 * share(recorded, torch.tensor(own)):.0f}" for name, own in systems.items()]
    return f"{_listeners(pieces, real)}\nreal recordings above: " + ", ".join(above)


def _listeners(pieces: dict[str, list[float]], real: Path) -> str:
    rated: defaultdict[str, dict[str, float]] = defaultdict(dict)
    by_piece: defaultdict[str, list[float]] = defaultdict(list)
    with (real / "davda54+generating-music" / "Survey" / "answers.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rated[row["USER_ID"]][row["SONG_ID"]] = float(row["RATING"])
            by_piece[row["SONG_ID"]].append(float(row["RATING"]))
    known = [name for name in pieces if name in by_piece]
    ours = {name: mean(pieces[name]) for name in known}
    rank = spearmanr([ours[name] for name in known], [mean(by_piece[name]) for name in known]).statistic
    right = [
        (ours[one] > ours[other]) == (own[one] > own[other])
        for own in rated.values()
        for one, other in combinations([name for name in own if name in ours], 2)
        if abs(own[one] - own[other]) >= APART
    ]
    return f"listeners: Spearman {rank:.2f} over {len(known)} pieces, {100 * mean(right):.1f} % of {len(right)} pairs"


if __name__ == "__main__":
    main()
