"""GTZAN-Rhythm: beats and downbeats of GTZAN's excerpts (Marchand, Fresnel and Peeters 2015).

Files
    gtzan_<genre>_<number>.beats    github.com/TempoBeatDownbeat/gtzan_tempo_beat
    <genre>.<number>.wav or .au     GTZAN's excerpts

Splits are those of `cmi.bench.data.gtzan`; what its filter leaves out is left out here.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from cmi.bench.catalog import describe
from cmi.bench.data._reading import LabelledClip, Sounds, beat_questions, find_files
from cmi.bench.data.gtzan import splits

_NAME = re.compile(r"gtzan_([a-z]+)_(\d{5})")


def read(folder: Path, sounds: Sounds) -> Iterator[LabelledClip]:
    for path in find_files(folder, "gtzan_*.beats"):
        named = _NAME.fullmatch(path.stem)
        name = f"{named[1]}.{named[2]}" if named else ""
        if name in splits():
            yield from beat_questions(path, "gtzan", name, sounds.find(name), splits()[name])


CORPUS = describe("gtzan-rhythm", read)
