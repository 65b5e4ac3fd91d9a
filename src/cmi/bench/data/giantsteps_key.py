"""GiantSteps key: the key of electronic dance music, one of 24 (Knees et al. 2015).

Files, in one of two layouts
    annotations/key/<id>.LOFI.key, audio/<id>.LOFI.mp3      github.com/GiantSteps/giantsteps-key-dataset: the paper's
    keys_gs+/<id> <title>.txt, audio/<id> <title>.mp3       GiantSteps+ as mirdata lays it out: a later revision, whose
                                                            labels may differ from the paper's

A recording is a preview of about 2 min; its whole 30-second clips are the questions. All are the test split. Labels
that are not one of the 24 keys (GiantSteps+ has some) make no question.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from cmi._util.errors import InputError
from cmi._util.records import read_text
from cmi.bench.catalog import describe
from cmi.bench.data._reading import LabelledClip, Sounds, clips_of_recording, find_files
from cmi.bench.tasks.key import KEYS, parse
from cmi.features.key import Key

SECONDS = 30.0

_ID = re.compile(r"(\d{1,9})(?:\.LOFI| .*)?")
_LABEL = re.compile(r"[A-Ga-g][#b]?\s+(?:major|minor)", re.I)


def read(folder: Path, sounds: Sounds) -> Iterator[LabelledClip]:
    for path in find_files(folder, "key/*.key", "keys_gs+/*.txt"):
        named = _ID.fullmatch(path.stem)
        if not named:
            raise InputError(f"{path}: its name does not begin with the track's number")
        key = label(read_text(path))
        if key is not None:
            # The numbers of the repository's annotations were zero-padded at times, those of its audio at others.
            names = dict.fromkeys((path.stem, f"{int(named[1]):07d}.LOFI", f"{int(named[1])}.LOFI"))
            audio = sounds.find(*names)
            for i, clip in enumerate(clips_of_recording(sounds, audio, SECONDS)):
                yield LabelledClip("GS_key", f"{int(named[1]):07d}-{i}", str(key), audio, clip.start, clip.end)


def label(text: str) -> Key | None:
    """Return the key in a label file; None if it is not exactly one of the 24."""
    words = text.strip().partition("\n")[0].partition("\t")[0].strip()
    return parse(words) if _LABEL.fullmatch(words) else None


CORPUS = describe("giantsteps-key", read, KEYS)
