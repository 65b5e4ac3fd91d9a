"""Pairs that nano's head learns from beside the studio's own, in the common format.

tags      alignment: a prompt of what musicnn hears in a take more than usual, and another take that has less of it
degraded  musicality: a clean take, and one degraded (`degrade.py`), of the same piece or of another
"""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from degrade import DEGRADATIONS
from torch import Tensor

from cmi.preferences import Preference, preference_row
from cmi.reward.model.encoders.nano import TAGS
from cmi.studio.pairs import TEXTS

EAR_SHARE = 0.6  # of the studio's pairs to train on
APART = 1.0  # standard deviations of a tag between the takes of a pair about it
ACROSS = 0.6  # of degraded pairs are of two pieces
WEAKEST = 0.15
SLIGHTLY = 0.25  # of degraded pairs set two degraded takes against each other
TEMPLATES = (
    "{0}", "{0} music", "{0} track", "Some {0} music", "music that sounds {0}", "{0}, {1}", "{0} with {1}",
    "{0} track with {1}", "{0} {1} music", "tags: {0}, {1}", "something {0}, {1}, {2}", "{0}, {1} and {2}",
    "a {0} song", "A piece of {0}", "a {0} song with {1}", "genre: {0}", "This is {0} music with {1} and {2}",
)  # fmt: skip


def shared_out(rows: Sequence[Preference]) -> tuple[set[str], set[str], set[str]]:
    """The ids of the pairs for the ear to learn from, for the head to learn from, and to validate on.

    No real recording is heard by both: a pair of one for the ear and one for the head is left out.
    """
    train = [row for row in rows if row.about["split"] == "train"]
    owners = {row.id: {_is_for_the_ear(piece) for piece in _pieces(row)} for row in train}
    ear, head = ({name for name, own in owners.items() if own == {wanted}} for wanted in (True, False))
    return ear, head, {row.id for row in rows if row.about["split"] == "valid"}


def _pieces(row: Preference) -> list[str]:
    """The recordings that a pair is made of; what was composed is in no other pair."""
    tracks = [piece for piece in row.about["truth"]["pieces"] if piece.startswith("track ")]
    return tracks or [row.id]


def _is_for_the_ear(piece: str) -> bool:
    return random.Random(f"cmi.reward.train.nano ear {piece}").random() < EAR_SHARE  # noqa: S311


def studio_rows(rows: Sequence[Preference], folder: Path) -> Iterator[Any]:
    """With whole paths."""
    for labelled in rows:
        row = preference_row(labelled, folder)
        yield row | {name: str((folder / row[name]).resolve()) for name in ("reference", "a", "b") if row[name]}


class DegradedPair(NamedTuple):
    """A clean take, and how another (or itself) is degraded; both as places among all takes."""

    better: int
    worse: int
    kind: str
    strength: float
    slight: float = 0.0  # the strength to which the better one is degraded too


def plan_degraded(clean: Sequence[int], count: int) -> list[DegradedPair]:
    rng = random.Random("cmi.reward.train.nano spoilt")  # noqa: S311
    found = []
    for _ in range(count):
        better = rng.choice(clean)
        worse = rng.choice(clean) if rng.random() < ACROSS else better
        strength = rng.uniform(WEAKEST, 1)
        slight = rng.uniform(0, 0.7) * strength if rng.random() < SLIGHTLY else 0.0
        found.append(DegradedPair(better, worse, rng.choice(list(DEGRADATIONS)), strength, slight))
    return found


def degraded_rows(
    plans: Sequence[DegradedPair], texts: Sequence[str], files: Sequence[tuple[Path, Path]]
) -> Iterator[Any]:
    """A row for each plan, under what was asked of its better take, or under a text that asks for nothing."""
    rng = random.Random("cmi.reward.train.nano spoilt rows")  # noqa: S311
    for plan, (better, worse) in zip(plans, files, strict=True):
        text = texts[plan.better] if rng.random() < 0.5 else rng.choice(TEXTS)
        yield _row(better.stem, text, better, worse, "musicality", plan.kind, rng)


def tag_rows(names: Sequence[Path], tags: Tensor) -> Iterator[Any]:
    """`tags` are in spreads: (takes, 100)."""
    rng = random.Random("cmi.reward.train.nano")  # noqa: S311
    for place, name in enumerate(names):
        found = _tag_pair(place, tags, rng)
        if found is not None:
            text, other = found
            yield _row(name.stem, text, name, names[other], "alignment", "musicnn", rng)


def _tag_pair(place: int, tags: Tensor, rng: random.Random) -> tuple[str, int] | None:
    own = tags[place]
    usual = [int(i) for i in own.argsort(descending=True)[:8] if own[i] > 0.5]
    if len(usual) < 3:
        return None
    said = rng.sample(usual, 3)
    template = rng.choice(TEMPLATES)
    said = said[: 1 + max(int(c) for c in "012" if f"{{{c}}}" in template)]
    for _ in range(20):
        other = rng.randrange(len(tags))
        if float((own[said] - tags[other][said]).mean()) > APART:
            return template.format(*(TAGS[i].lower() for i in said)), other
    return None


def _row(name: str, text: str, better: Path, worse: Path, axis: str, rater: str, rng: random.Random) -> dict[str, str]:
    first = rng.random() < 0.5
    a, b = (better, worse) if first else (worse, better)
    row = {"id": name, "text": text, "a": str(a), "b": str(b)}
    return row | {"axis": axis, "choice": "a" if first else "b", "rater": rater}
