"""Prints what `train.py fit` measured: flaws, what is not music, the studio's pairs, listeners and systems.

    python recipes/nano/table.py FITTED/scores.pt REAL      REAL is the folder of `cmi data get cmi-real`

Right of two in %, at strengths 0.3, 0.6 and 1: a clean clip against the same with a flaw / against any flawed one.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from scipy.stats import spearmanr
from torch import Tensor

from cmi.rewardbench.data import cmi_real

STRENGTHS = (0.3, 0.6, 1.0)
Row = tuple[int, str, float]  # clip, flaw, strength
Said = dict[str, Tensor]  # by pack


def main() -> None:
    named, rows = load_scores(Path(sys.argv[1]))
    for label, said in named.items():
        print(f"\n{label}")
        for pack in ("tests", "valid", "fresh"):
            own = sorted({name for _, name, strength in rows[pack] if strength and name != "not music"})
            studio = [name for name in own if name.startswith("studio")]
            print(f"  {pack}: studio's {line(said[pack], rows[pack], studio)}")
            if len(own) > len(studio):
                print(f"  {pack}: others {line(said[pack], rows[pack], set(own) - set(studio))}")
            for name in studio if pack == "tests" else ():
                print(f"    {name}: {line(said[pack], rows[pack], [name])}")
        clean, strange, twin = (
            pick(said["tests"], rows["tests"], [name], strength)[0]
            for name, strength in (("", 0.0), ("not music", 1.0), ("unhurt", 0.0))
        )
        others = {f", {name}": said[name] for name in ("speech", "sounds", "sounds-test") if name in said}
        below = "".join(f"{name} {100 * share(clean, own):.1f}" for name, own in {"": strange, **others}.items())
        moved = float((twin - clean).abs().mean() / clean.std())
        print(f"  what is not music is below:{below}; harmless changes move it by {moved:.2f} spreads of clean clips")
        print(f"  {studio_pairs(said['studio-test'], rows['studio-test'][::2])}")
        print(f"  {people(said['people'], rows['people'], Path(sys.argv[2]))}")


def load_scores(path: Path) -> tuple[dict[str, Said], dict[str, Any]]:
    """What each scorer said, and what every clip is."""
    found: dict[str, Any] = torch.load(path, weights_only=False)
    other = ("rows", "families", "nulls")
    return {name: said for name, said in found.items() if name not in other}, found["rows"]


def pick(scores: Tensor, rows: Sequence[Row], names: Collection[str], strength: float) -> tuple[Tensor, Tensor]:
    """The scores of clips with one of these flaws, and which clips they are of."""
    places = [i for i, (_, name, own) in enumerate(rows) if name in names and own == strength]
    return scores[places], torch.tensor([rows[i][0] for i in places])


def share(better: Tensor, worse: Tensor) -> float:
    """Of all pairs, those in which the better is above."""
    return float((better[:, None] > worse[None]).float().mean())


def rights(scores: Tensor, rows: Sequence[Row], names: Collection[str]) -> tuple[list[float], list[float]]:
    """By strength, of the same clip and of any two."""
    clean = pick(scores, rows, [""], 0.0)[0]
    flawed = [pick(scores, rows, names, strength) for strength in STRENGTHS]
    same = [float((clean[owner] > bad).float().mean()) for bad, owner in flawed]
    return same, [share(clean, bad) for bad, _ in flawed]


def accuracy(scores: Tensor, rows: Sequence[Row]) -> float:
    """The mean over strengths, of the same clip and of any two, of all flaws."""
    names = {name for _, name, strength in rows if strength and name != "not music"}
    same, apart = rights(scores, rows, names)
    return mean(same + apart)


def line(scores: Tensor, rows: Sequence[Row], names: Collection[str]) -> str:
    return " / ".join(" ".join(f"{100 * x:.1f}" for x in part) for part in rights(scores, rows, names))


def studio_pairs(scores: Tensor, about: Sequence[dict[str, Any]]) -> str:
    """The studio's own pairs, a part of each take."""
    right = (scores[::2] > scores[1::2]).float()
    cells = []
    for key, value in (("split", "test"), ("split", "heldout"), ("kind", "same"), ("kind", "across")):
        own = right[[i for i, row in enumerate(about) if row[key] == value]]
        cells.append(f"{value} {100 * float(own.mean()):.1f} (n {len(own)})")
    return "studio's pairs: " + ", ".join(cells)


def people(scores: Tensor, about: Sequence[dict[str, Any]], real: Path) -> str:
    """Rank correlation with ratings, and right of two, for each question of cmi-real."""
    parts: defaultdict[str, list[float]] = defaultdict(list)
    for row, score in zip(about, scores.tolist(), strict=True):
        parts[row["clip"]].append(score)
    said: dict[str, float] = {name: mean(own) for name, own in parts.items()}
    rated: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    right: defaultdict[str, list[bool]] = defaultdict(list)
    place: Callable[[Any], str] = lambda take: str(Path(str(take)).relative_to(real))  # noqa: E731
    for item in cmi_real.DATA_SET.read(real):
        own = [said.get(place(take)) for take in item.takes]
        if None in own or item.dataset not in (cmi_real.PEOPLE, cmi_real.SYSTEMS, cmi_real.REWARDS):
            continue
        for rating in item.ratings.values():
            rated[item.about["question"]].append((own[0] or 0.0, rating))
        for vote in item.votes.values():
            right[item.about["question"]].append(((own[0] or 0.0) > (own[1] or 0.0)) == (vote.choice == "a"))
    cells = [f"{name} {spearmanr(*zip(*own, strict=True)).statistic:.2f}" for name, own in rated.items()]
    return ", ".join(cells + [f"{name} {100 * mean(own):.1f} % of {len(own)}" for name, own in right.items()])


if __name__ == "__main__":
    main()
