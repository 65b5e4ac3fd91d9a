"""How good the studio's takes are, by the settings they were made with: what the tutorial's judge and voters know.

A take's musicality is 1 minus the strength of its flaw, its alignment the share of wishes that its system follows.
"""

import hashlib
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from cmi.take import Axis

Quality = dict[Axis, float]  # from 0 to 1
WIDE = 0.4  # difference of qualities that is plain to hear


def read_qualities(takes: Path, recognise_by: Callable[[Path], str]) -> dict[str, Quality]:
    """Return the quality of every take in a folder of `cmi generate`, by what `recognise_by` says of its recording."""
    return {recognise_by(path): quality for path, quality in _qualities(takes)}


def chance_of_right(better: float, worse: float, at_best: float) -> float:
    """Return how probably the better take is named: from 0.5 for equal takes to `at_best` for a wide difference."""
    return 0.5 + (at_best - 0.5) * min(1.0, (better - worse) / WIDE)


def draws(*about: str) -> random.Random:
    """Return a generator that always draws the same for the same words."""
    return random.Random(hashlib.sha256("\n".join(about).encode()).hexdigest())  # noqa: S311


def _qualities(takes: Path) -> Iterator[tuple[Path, Quality]]:
    for line in (takes / "takes.jsonl").read_text("utf-8").splitlines():
        take = json.loads(line)
        settings = take["settings"]
        yield takes / take["audio"], {"musicality": 1 - settings["flaws"], "alignment": settings["follows"]}
