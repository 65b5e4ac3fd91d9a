"""Ballroom: beats and downbeats of dance music (Gouyon et al. 2006; annotations by Krebs, Boeck and Widmer 2013).

Files
    *.beats     github.com/CPJKU/BallroomAnnotations, one file a recording
    *.wav       the recordings of the ISMIR 2004 tempo contest, in folders named for the dances

All 685 recordings are the test split: of each pair of replicas in the 698 the annotations' README names, the one that
it names second is left out.
"""

from collections.abc import Iterator
from pathlib import Path

from cmi.bench.catalog import describe
from cmi.bench.data._reading import LabelledClip, Sounds, beat_questions, find_files

REPLICAS = frozenset(
    "Albums-Chrisanne2-12 Albums-Fire-09 Albums-Latin_Jam2-13 Media-104705 Albums-AnaBelen_Veneo-15"
    " Albums-Ballroom_Magic-18 Albums-Latin_Jam-13 Albums-Latin_Jam-14 Albums-Latin_Jam-15 Albums-Latin_Jam2-14"
    " Albums-Latin_Jam2-15 Media-103414 Media-103415".split()
)


def read(folder: Path, sounds: Sounds) -> Iterator[LabelledClip]:
    for path in find_files(folder, "*.beats"):
        if path.stem not in REPLICAS:
            yield from beat_questions(path, "ballroom", path.stem, sounds.find(path.stem), "test")


CORPUS = describe("ballroom", read)
