"""The reference listener on GTZAN: beats, downbeats and keys, with madmom and without, beside a constant answer.

    python benchmarks/rhythm.py GTZAN/ BEATS/ KEYS/ [--clips 60] [--last 0 5] [--without-madmom]

GTZAN/  wav or au files called GENRE.NUMBER.*, in any folders
BEATS/  gtzan/annotations/beats of github.com/CPJKU/beat_this_annotations (c3c47fd was used)
KEYS/   gtzan_key/genres of github.com/alexanderlerch/gtzan_key (9ef1591 was used)

Clips are drawn from those whose numbers end in the digits of --last. F at 70 ms, and MIREX's weighted key score.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cmi.bench.ask import Question
from cmi.bench.ask.reference import MADMOM, version
from cmi.bench.ask.reference.rhythm import MadmomRhythm, NumpyRhythm
from cmi.bench.tasks._times import f_measure
from cmi.bench.tasks.key import weighted
from cmi.features.key import Key
from cmi.report.numbers import interval, number
from cmi.report.tables import Table, print_tables
from cmi.stats.intervals import bootstrap_interval

WINDOW = 0.07  # seconds
GRID = [0.5 * i for i in range(60)]
COMMON = Key(0, "minor")
DRAWS = 4000


class AnnotatedClip(NamedTuple):
    path: Path
    beats: list[float]
    downbeats: list[float]
    key: Key | None


def read_clips(audio: Path, beats: Path, keys: Path, last: set[str]) -> Iterator[AnnotatedClip]:
    for path in sorted(path for path in audio.rglob("*") if path.suffix.lower() in (".wav", ".au")):
        genre, number_of_clip = path.name.split(".")[:2]
        annotated = beats / f"gtzan_{genre}_{number_of_clip}.beats"
        if number_of_clip[-1:] not in last or not annotated.is_file():
            continue
        rows = [line.split() for line in annotated.read_text(encoding="utf-8").splitlines() if line.strip()]
        times = [float(row[0]) for row in rows]
        downbeats = [float(row[0]) for row in rows if len(row) > 1 and float(row[1]) == 1]
        yield AnnotatedClip(path, times, downbeats, _read_key(keys / genre / f"{genre}.{number_of_clip}.lerch.txt"))


def _read_key(path: Path) -> Key | None:
    """Majors from A are 0 to 11, minors 12 to 23; -1 is no key."""
    stated = int(path.read_text(encoding="utf-8")) if path.is_file() else -1
    return None if stated < 0 else Key((stated % 12 + 9) % 12, "major" if stated < 12 else "minor")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("audio", "beats", "keys"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--clips", type=int, default=60)
    parser.add_argument("--last", nargs="+", default=["0", "5"])
    parser.add_argument("--without-madmom", action="store_true")
    options = parser.parse_args()
    clips = list(read_clips(options.audio, options.beats, options.keys, set(options.last)))
    chosen = [clips[i] for i in np.random.default_rng(0).permutation(len(clips))[: options.clips]]
    models: dict[str, MadmomRhythm | NumpyRhythm] = {"without madmom": NumpyRhythm()}
    if not options.without_madmom and version(MADMOM) is not None:
        models["madmom"] = MadmomRhythm()
    scores: dict[tuple[str, str], list[float]] = {}
    for clip in chosen:
        for name, model in models.items():
            question = Question(clip.path.stem, "", clip.path, dataset="gtzan_beat")
            found = {"beats": model.beats(question), "downbeats": model.downbeats(question)}
            for what, times in found.items():
                if truth := getattr(clip, what):
                    scores.setdefault((what, name), []).append(f_measure(truth, list(times), WINDOW))
            if clip.key is not None:
                scores.setdefault(("key", name), []).append(weighted(clip.key, model.key(question)))
        for what in ("beats", "downbeats"):
            if truth := getattr(clip, what):
                scores.setdefault((what, "0.5 s grid"), []).append(f_measure(truth, GRID, WINDOW))
        if clip.key is not None:
            scores.setdefault(("key", "C minor"), []).append(weighted(clip.key, COMMON))
    rows = []
    rng = np.random.default_rng(0)
    for (what, name), values in sorted(scores.items()):
        own = np.array(values)
        draws = own[rng.integers(0, len(own), (DRAWS, len(own)))].mean(axis=1)
        span = interval(bootstrap_interval(draws, len(own)), 1, 100)
        rows.append([what, name, str(len(own)), number(float(own.mean()), 1, 100), span])
    print_tables([Table("GTZAN", ["task", "model", "n", "score", "95 %"], rows, labels=2)])


if __name__ == "__main__":
    main()
