"""Prints what `train.py` measured: how often a clean clip is above a flawed one, by scorer, family and flaw.

    python recipes/nano/table.py OUT/scores.pt

Of the same clip, and of any two clips, at strengths 0.3, 0.6 and 1; `fold0` and `fold1` were trained without the families
that `flaws.FOLDS` names. An ensemble is the mean of two scores, each divided by its spread over clean clips and flaws.
"""

import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

STRENGTHS = (0.3, 0.6, 1.0)
Row = tuple[int, str, float]


def main() -> None:
    found: dict[str, Any] = torch.load(sys.argv[1], weights_only=False)
    rows: list[Row] = found["rows"]
    families: dict[str, tuple[str, ...]] = found["families"]
    scorers = together(found)
    family_of = {flaw: family for family, own in families.items() for flaw in own}
    groups = sorted({family_of.get(name, name) for _, name, strength in rows if strength})
    for label, scores in scorers.items():
        print(f"\n{label}\n{'':22}same clip              any two clips")
        every = [name for name in family_of if any(row[1] == name for row in rows)]
        print(f"{'all':22}{line(scores, rows, every)}")
        print(f"{'studio, all':22}{line(scores, rows, [g for g in groups if g.startswith('studio')])}")
        for group in groups:
            if group != "not music":
                print(f"{group:22}{line(scores, rows, families.get(group, (group,)))}")
        strange, clean = pick(scores, rows, ["not music"], 1.0)[0], pick(scores, rows, [""], 0.0)[0]
        print(f"not music below {100 * (clean[:, None] > strange[None]).float().mean():.1f} % of clean clips")
        twin = pick(scores, rows, ["unhurt"], 0.0)[0]
        print(
            f"harmless changes move it by {float((twin - clean).abs().mean() / clean.std()):.2f} spreads of clean clips"
        )
    studio(found)


def together(found: dict[str, Any]) -> dict[str, Tensor]:
    """Scores of the tests by scorer, ensembles among them; families left out from the folds they were left out of."""
    named = {name: own["tests"] for name, own in found.items() if isinstance(own, dict) and "tests" in own}
    kinds = [name.removesuffix(" all") for name in named if name.endswith(" all")]
    scorers = {name: scores for name, scores in named.items() if name.startswith("nano")}
    scorers |= {f"{kind}, all seen": named[f"{kind} all"] for kind in kinds}
    for one, other in (("linear+", "critic from ear"), ("linear", "critic from ear"), ("linear+", "critic")):
        for fold in ("all", "fold0", "fold1"):
            if f"{one} {fold}" in named and f"{other} {fold}" in named:
                both = scaled(named[f"{one} {fold}"]) + scaled(named[f"{other} {fold}"])
                named[f"{one} & {other} {fold}"] = both
                if fold == "all":
                    scorers[f"{one} & {other}, all seen"] = both
    return scorers | unseen(found, named)


def unseen(found: dict[str, Any], named: dict[str, Tensor]) -> dict[str, Tensor]:
    """For each kind, a score in which every flaw and every clean clip come from one fold: told apart by their rows."""
    return {
        name: scores
        for name, scores in named.items()
        if name.endswith(("fold0", "fold1")) and ("&" in name or name.startswith("linear "))
    }


def scaled(scores: Tensor) -> Tensor:
    return (scores - scores.mean()) / scores.std()


def pick(scores: Tensor, rows: Sequence[Row], names: Sequence[str], strength: float) -> tuple[Tensor, Tensor]:
    places = [i for i, (_, name, own) in enumerate(rows) if name in names and own == strength]
    return scores[places], torch.tensor([rows[i][0] for i in places])


def line(scores: Tensor, rows: Sequence[Row], names: Sequence[str]) -> str:
    clean = pick(scores, rows, [""], 0.0)[0]
    same, across = [], []
    for strength in STRENGTHS:
        bad, owner = pick(scores, rows, names, strength)
        same.append(100 * float((clean[owner] > bad).float().mean()))
        across.append(100 * float((clean[:, None] > bad[None]).float().mean()))
    return "".join(f"{x:7.1f}" for x in same) + "  " + "".join(f"{x:7.1f}" for x in across)


def studio(found: dict[str, Any]) -> None:
    """The studio's own test pairs, about a part of each take."""
    about = found["studio rows"][::2]
    if not about:
        return
    print("\nstudio's pairs          test   heldout   same    across")
    named = {name: own["studio-test"] for name, own in found.items() if isinstance(own, dict) and "studio-test" in own}
    if "linear+ all" in named:
        named["ensemble"] = scaled(named["linear+ all"]) + scaled(named["critic from ear all"])
        named["ensemble & nano 1"] = named["ensemble"] + 0.7 * scaled(named["nano 1"])
    for name, scores in named.items():
        right = (scores[::2] > scores[1::2]).float()
        cells = [
            100 * float(right[[i for i, row in enumerate(about) if row[key] == value]].mean())
            for key, value in (("split", "test"), ("split", "heldout"), ("kind", "same"), ("kind", "across"))
        ]
        print(f"{name:22}" + "".join(f"{cell:8.1f}" for cell in cells) + f"   n {len(about)}")


if __name__ == "__main__":
    main()
