"""What the studio knows of its takes, for the ear to learn, read from a set's `made.jsonl`; and their sounds."""

import json
import math
from collections.abc import Collection, Sequence
from mmap import mmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import soundfile
import torch
from numpy.typing import NDArray
from torch import Tensor

from cmi._util.errors import InputError
from cmi._util.workers import process_pool
from cmi.studio.captions import WORDS, facts
from cmi.studio.corpus import KINDS
from cmi.studio.flaws import FLAWS
from cmi.studio.recordings import RATE, SECONDS, TakeSource, piece_of
from cmi.studio.styles import STYLES

SAMPLES = RATE * SECONDS
NAMES: dict[str, tuple[str, ...]] = {
    "flaw": tuple(FLAWS),
    "style": (*STYLES, *(kind.style for kind in KINDS.values())),
    "instrument": tuple(WORDS.instruments),
    "density": ("sparse", "moderate", "busy"),
    "mode": ("major", "minor"),
    "voice": ("voice",),
}
UNKNOWN = -1.0


class StudioTake(NamedTuple):
    name: str
    recipe: dict[str, Any]


class Targets(NamedTuple):
    """Takes, their answers by subject, and the pairs (better, worse) about musicality, as places in `takes`."""

    takes: list[StudioTake]
    answers: dict[str, Tensor]  # (takes, names); UNKNOWN where nothing is known
    pairs: Tensor  # (pairs, 2)


def read_targets(folder: Path, wanted: Collection[str]) -> Targets:
    """Of the pairs of a set that have these ids."""
    lines = (json.loads(line) for line in (folder / "made.jsonl").read_text(encoding="utf-8").splitlines())
    made = [line for line in lines if line["pair"] in wanted]
    takes = list({t["take"]: StudioTake(t["take"], t) for line in made for t in line["takes"].values()}.values())
    place = {take.name: i for i, take in enumerate(takes)}
    pairs = [
        [place[line["takes"][role]["take"]] for role in ("better", "worse")]
        for line in made
        if line["row"]["axis"] == "musicality"
    ]
    if not takes:
        raise InputError(f"{folder}: too few pairs to learn from; make more with cmi studio make")
    with process_pool() as pool:
        known = list(pool.map(answers, [take.recipe for take in takes], chunksize=32))
    columns = {subject: torch.tensor(np.stack([one[subject] for one in known])) for subject in known[0]}
    return Targets(takes, columns, torch.tensor(pairs).view(-1, 2))


def answers(recipe: dict[str, Any]) -> dict[str, NDArray[np.float32]]:
    """Each subject's names as 0 to 1, and the tempo in octaves from 100 beats a minute."""
    flaw = np.array([recipe.get("strength", 0.0) * (name == recipe.get("flaw")) for name in FLAWS], np.float32)
    found = {subject: np.full(len(names), UNKNOWN, np.float32) for subject, names in NAMES.items()}
    found |= {"flaw": flaw, "tempo": np.full(1, np.nan, np.float32)}
    source = recipe["source"]
    if not source.get("track"):
        wishes = tuple((name, value) for name, value in source.get("wishes", ()))
        known = facts(piece_of(TakeSource(**{**source, "wishes": wishes})), vocals=bool(recipe.get("lyrics")))
        heard: dict[str, set[str]] = {
            "style": {known.style},
            "instrument": set(known.instruments),
            "density": {known.density},
            "mode": {known.mode},
            "voice": {"voice"} if known.vocals else set(),
        }
        for subject, values in heard.items():
            found[subject] = np.array([name in values for name in NAMES[subject]], np.float32)
        found["tempo"][0] = math.log2(known.tempo / 100)
    return found


def read_sounds(folder: Path, takes: Sequence[StudioTake]) -> Tensor:
    """All takes in mono, as 16-bit integers: (takes, 960,000), in memory that processes share."""
    memory = np.frombuffer(mmap(-1, max(1, 2 * SAMPLES * len(takes))), np.int16)[: SAMPLES * len(takes)]
    sounds = memory.reshape(len(takes), SAMPLES)
    _shared.append(sounds)
    with process_pool() as pool:  # forked only now, with the memory
        paths = [folder / "audio" / f"{take.name}.flac" for take in takes]
        list(pool.map(_read, range(len(takes)), paths, chunksize=16))
    _shared.clear()
    return torch.from_numpy(sounds)


_shared: list[NDArray[np.int16]] = []


def _read(place: int, path: Path) -> None:
    """In numpy alone: torch's threads do not survive a fork."""
    sound, _ = soundfile.read(path, dtype="int16", always_2d=True)
    mono = (sound[:, 0].astype(np.int32) + sound[:, -1]) // 2
    _shared[0][place, : len(mono)] = mono
