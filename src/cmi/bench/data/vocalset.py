"""VocalSet: one of ten singing techniques (Wilkins et al. 2018).

Files, in one of two layouts
    FULL/<singer>/<exercise>/<technique>/<file>.wav     VocalSet 1.1 as published
    <technique>/<singer>_..._<clip>.wav                 the 3-second clips that the paper's preparation cuts from it

Five singers (f2, f8, m3, m5, m10) are the test split, as VocalSet's authors have it; the others are train. The paper's
dev split, a random 40 % of the latter, is not made.

Its preparation also cuts off the silence before each recording by a voice detector. From the published layout we cut
whole 3-second clips from the very start: labels and splits agree with the paper's, places and counts of clips do not.
"""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from cmi._util.errors import InputError
from cmi.bench.catalog import describe
from cmi.bench.data._reading import LabelledClip, Sounds, clips_of_recording

SECONDS = 3.0
TECHNIQUES = (
    "belt", "breathy", "inhaled", "lip_trill", "spoken", "straight", "trill", "trillo", "vibrato", "vocal_fry",
)  # fmt: skip
TEST_SINGERS = frozenset({"f2", "f8", "m3", "m5", "m10"})
# A copy of another file, and songs that VocalSet's paper does not list.
LEFT_OUT = frozenset({"f2_scales_vibrato_a(1)", "caro_vibrato", "dona_vibrato", "row_vibrato", "slow_vibrato_arps"})

_SINGER_FOLDER = re.compile(r"(f|m)(?:em)?ale(\d{1,2})")
_SINGER_PREFIX = re.compile(r"([fm]\d{1,2})_")


def read(folder: Path, sounds: Sounds) -> Iterator[LabelledClip]:
    found = [path for path in map(PurePosixPath, sounds.paths) if path.parent.name in TECHNIQUES]
    if not found:
        raise InputError(f"{sounds.folder}: no recordings in folders named for techniques ({', '.join(TECHNIQUES)})")
    for path in found:
        if path.stem not in LEFT_OUT:
            yield from _examples(path, sounds)


def _examples(path: PurePosixPath, sounds: Sounds) -> Iterator[LabelledClip]:
    technique, audio = path.parent.name, str(path)
    if singer := singer_of_folders(path):
        for i, clip in enumerate(clips_of_recording(sounds, audio, SECONDS)):
            id_ = f"{singer}/{technique}/{path.stem}_{i:02d}"
            yield LabelledClip("VocalSet_tech", id_, technique, audio, clip.start, clip.end, _split(singer))
    elif prefix := _SINGER_PREFIX.match(path.name):
        yield LabelledClip("VocalSet_tech", f"{technique}/{path.stem}", technique, audio, split=_split(prefix[1]))
    else:
        raise InputError(f"{sounds.folder / path}: neither its folders nor its name say who sings")


def singer_of_folders(path: PurePosixPath) -> str | None:
    """'f2' for a file under `female2`."""
    named = (_SINGER_FOLDER.fullmatch(part) for part in path.parts[:-1])
    return next((f"{name[1]}{name[2]}" for name in named if name), None)


def _split(singer: str) -> str:
    return "test" if singer in TEST_SINGERS else "train"


CORPUS = describe("vocalset", read, TECHNIQUES)
