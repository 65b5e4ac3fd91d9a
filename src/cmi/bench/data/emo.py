"""EMO: arousal and valence of songs, as listeners rated them (Soleymani et al. 2013; 744 of '1000 songs' differ).

Files
    songs_info.csv, static_annotations.csv      the annotations
    clips_45seconds/<id>.mp3                    one clip a song; <id> may be zero-padded

The truth is the mean rating (1 to 9), z-scored by mean and standard deviation of the development songs, each axis by
its own. Test is MediaEval's evaluation set; a fifth of the other artists, by their names' hash, is the dev split, as
jukemir has it.

Valence here is valence. In the authors' released files it is not: `CMI_EMO_valence` repeats the arousal question and
the arousal truth.
"""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cmi._util.errors import InputError
from cmi.bench.catalog import describe
from cmi.bench.data._reading import LabelledClip, Sounds, find_file, number, read_table

SECONDS = 45.0
AXES = ("arousal", "valence")

_SET = "Mediaeval 2013 set"
_DEV_OF_TEN = 2


class Song(NamedTuple):
    id: int
    split: str
    ratings: tuple[float, ...]  # by axis


def read(folder: Path, sounds: Sounds) -> Iterator[LabelledClip]:
    songs = _songs(find_file(folder, "songs_info.csv"), find_file(folder, "static_annotations.csv"))
    for column, axis in enumerate(AXES):
        is_development = [song.split != "test" for song in songs]
        scores = z_scores([song.ratings[column] for song in songs], is_development)
        for song, score in zip(songs, scores, strict=True):
            name = f"{song.id:04d}"
            audio = sounds.find(name, str(song.id))
            yield LabelledClip(f"EMO_{axis}", name, str(score), audio, 0.0, SECONDS, song.split)


def z_scores(ratings: Sequence[float], is_reference: Sequence[bool]) -> list[float]:
    """Ratings less the mean of the reference ones, by their population standard deviation."""
    values = np.asarray(ratings, dtype=float)
    reference = values[np.asarray(is_reference, dtype=bool)]
    if len(reference) < 2 or not reference.std():
        raise InputError("static_annotations.csv: no two development songs with different ratings to z-score by")
    return ((values - reference.mean()) / reference.std()).tolist()


def split_of(mediaeval: str, artist: str) -> str:
    if mediaeval == "evaluation":
        return "test"
    letters = "".join(c for c in artist.lower() if c.isascii() and (c.isalpha() or c.isspace()))
    digest = hashlib.sha1(" ".join(letters.split()).encode(), usedforsecurity=False).hexdigest()
    return "dev" if int(digest, 16) % 10 >= 10 - _DEV_OF_TEN else "train"


def _songs(info: Path, annotations: Path) -> list[Song]:
    splits = {}
    for place, row in read_table(info, ["song_id", "Artist", _SET]):
        splits[_id(row["song_id"], place)] = split_of(row[_SET], row["Artist"])
    songs = []
    for place, row in read_table(annotations, ["song_id", *(f"mean_{axis}" for axis in AXES)]):
        song = _id(row["song_id"], place)
        if song not in splits:
            raise InputError(f"{place}: song {song} is not in {info.name}")
        songs.append(Song(song, splits[song], tuple(number(row[f"mean_{axis}"], place) for axis in AXES)))
    return songs


def _id(text: str, place: str) -> int:
    return int(number(text, place))


CORPUS = describe("emo", read)
