"""Preference pairs for DPO: the best take of each prompt as `chosen` and the worst as `rejected`.

A row has TRL's columns for preferences, and the model's scores of both takes:

    prompt, chosen, rejected                     the text, and the paths of the takes relative to the file's folder
    lyrics, reference                            the rest of the prompt; empty if there is none
    score_chosen, score_rejected, margin         by the weights, and their difference
    musicality_chosen, ..., alignment_rejected   the model's scores
    group, takes, model                          the prompt's name, how many takes were ranked, and by which model

A prompt gives one pair. It gives none if fewer than two takes could be scored, if its takes have equal scores, or if
the best is not `margin` above the worst.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi._util.table_files import require_table_file
from cmi.preferences import write_rows
from cmi.report.numbers import count, number
from cmi.report.tables import Table
from cmi.reward.pick.pick import Pick, Ranked
from cmi.take import relative_path


class DpoPair(NamedTuple):
    """The best and the worst take of a prompt."""

    pick: Pick
    chosen: Ranked
    rejected: Ranked

    @property
    def margin(self) -> float:
        return self.chosen.mean - self.rejected.mean


class DpoPairs(NamedTuple):
    """The pairs, and the prompts without one: with too few takes, or with takes too close to each other."""

    pairs: list[DpoPair]
    too_few: list[str]
    too_close: list[str]


def require_margin(margin: float) -> None:
    if not 0 <= margin < math.inf:
        raise InputError(f"--dpo-margin {margin:g}: expected a number from 0 up")


def require_dpo_file(path: Path, inputs: Sequence[Path | None]) -> None:
    """Check before a long run that `write_dpo_pairs` can write the file and will not overwrite an input."""
    require_table_file(path)
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(f"{path}: {'a folder' if path.is_dir() else 'no such folder'}, expected a file in a folder")
    if any(one is not None and one.resolve() == path.resolve() for one in inputs):
        raise InputError(f"--dpo {path}: another option names this file; choose another one")


def dpo_pairs(picks: Sequence[Pick], margin: float = 0.0) -> DpoPairs:
    """Pair the best take of each prompt with the worst, if it is better by at least `margin`."""
    pairs, too_few, too_close = [], [], []
    for pick in picks:
        if len(pick.ranking) < 2:
            too_few.append(pick.group.name)
            continue
        pair = DpoPair(pick, pick.ranking[0], pick.ranking[-1])
        if 0 < pair.margin >= margin:
            pairs.append(pair)
        else:
            too_close.append(pick.group.name)
    return DpoPairs(pairs, too_few, too_close)


def write_dpo_pairs(pairs: Sequence[DpoPair], model: str, path: Path) -> None:
    """Write a .jsonl, .csv or .parquet file atomically."""
    write_rows(_rows(pairs, model, path.parent), path)


def _rows(pairs: Sequence[DpoPair], model: str, folder: Path) -> Iterator[dict[str, Any]]:
    for pair in pairs:
        prompt = pair.pick.prompt
        yield {
            "prompt": prompt.text,
            "chosen": relative_path(pair.chosen.audio, folder),
            "rejected": relative_path(pair.rejected.audio, folder),
            "lyrics": prompt.lyrics,
            "reference": "" if prompt.reference is None else relative_path(prompt.reference, folder),
            "score_chosen": pair.chosen.mean,
            "score_rejected": pair.rejected.mean,
            "margin": pair.margin,
            "musicality_chosen": pair.chosen.score.musicality,
            "musicality_rejected": pair.rejected.score.musicality,
            "alignment_chosen": pair.chosen.score.alignment,
            "alignment_rejected": pair.rejected.score.alignment,
            "group": pair.pick.group.name,
            "takes": len(pair.pick.ranking),
            "model": model,
        }


def dpo_table(found: DpoPairs, margin: float, path: Path) -> Table:
    """Return how many pairs there are, and how far apart their takes are."""
    margins = sorted(pair.margin for pair in found.pairs)
    spread = [number(margins[round((len(margins) - 1) * share)], 3) if margins else "" for share in (0, 0.5, 1)]
    notes = ["margin: the score of the best take minus that of the worst."]
    if found.too_close:
        least = f"differ by less than {margin:g}" if margin else "have equal scores"
        notes.append(f"Prompts without a pair because their takes {least}: {count(len(found.too_close))}.")
    if found.too_few:
        notes.append(f"Prompts without a pair because fewer than two takes were scored: {count(len(found.too_few))}.")
    headers = ["pairs", "least margin", "median", "greatest"]
    return Table(f"Best against worst in {path}", headers, [[count(len(margins)), *spread]], 0, notes)


def dpo_record(found: DpoPairs, margin: float, path: Path) -> dict[str, Any]:
    """Return the JSON record of the pairs."""
    left_out = {"too_few": found.too_few, "too_close": found.too_close}
    return {"file": str(path), "pairs": len(found.pairs), "margin": margin, **left_out}
