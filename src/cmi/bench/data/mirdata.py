"""Data sets that `mirdata` reads: beats, downbeats, keys and melodies of tracks, as questions.

Files
    <name>/...      the folder of a data set in mirdata's layout, called as mirdata calls the data set: beatles

Beats are those of the first 30 s, downbeats where mirdata knows the place in the bar. A key that holds for the whole
track is asked about in its whole 30-second clips; of keys with intervals, the first 30 s of each that lasts 10 s.
Melodies are asked about in clips of 10 s. All tracks are the test split; a track whose files are missing makes no
question. Ballroom, GiantSteps, GTZAN and MedleyDB have readers of their own, with the paper's splits.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError, reason_of
from cmi._util.hub import require_packages
from cmi.bench.catalog import describe
from cmi.bench.data._reading import (
    BEAT_SECONDS,
    Beat,
    LabelledClip,
    Sounds,
    ask_beats,
    clips_of_events,
    clips_of_recording,
)
from cmi.bench.data.medleydb import SECONDS as MELODY_SECONDS
from cmi.bench.data.medleydb import Frame, written
from cmi.bench.tasks.key import KEYS, parse

KEY_SECONDS, SHORTEST_KEY = 30.0, 10.0
_AUDIO = ("audio_path", "audio_path_mono", "mix_path")
_KEYS, _MELODIES = ("key", "key_mode"), ("melody2", "melody", "f0")


def read(folder: Path, sounds: Sounds) -> Iterator[LabelledClip]:
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    require_packages(f"reading {folder} with mirdata", "plugs", "mirdata")
    import mirdata

    name = folder.resolve().name
    if name not in mirdata.list_datasets():
        raise InputError(f"{folder}: mirdata has no data set {name!r}; name the folder as mirdata does: beatles")
    dataset = mirdata.initialize(name, data_home=str(folder))
    try:
        ids = dataset.track_ids
    except FileNotFoundError as error:
        how = f"mirdata.initialize('{name}').download(['index'])"
        raise InputError(f"{folder}: mirdata has no index of it yet: run {how} in Python") from error
    for track_id in ids:
        try:
            yield from _questions(dataset.track(track_id), folder, sounds)
        except InputError:
            raise
        except Exception as error:  # each data set of mirdata has a reader of its own
            raise InputError(f"{folder}: mirdata cannot read track {track_id!r}: {reason_of(error)}") from error


def _questions(track: Any, folder: Path, sounds: Sounds) -> Iterator[LabelledClip]:
    id_, audio = str(track.track_id), _audio(track, folder, sounds)
    if beats := _find(track, "beats"):
        yield from ask_beats(_beats(beats), "mirdata", id_, audio, "test")
    key = _find(track, *_KEYS)
    spans = _whole_key(key, sounds, audio) if isinstance(key, str) else _keys(key) if hasattr(key, "intervals") else ()
    for i, (start, end, label) in enumerate(spans):
        yield LabelledClip("mirdata_key", f"{id_}-{i}", label, audio, start, end)
    if melody := _find(track, *_MELODIES):
        frames = _frames(melody)
        for clip, places in clips_of_events([time for time, _ in frames], MELODY_SECONDS):
            if places:
                truth = written([frames[place] for place in places])
                yield LabelledClip("mirdata_melody", f"{id_}-{clip.start:.0f}", truth, audio, clip.start, clip.end)


def _audio(track: Any, folder: Path, sounds: Sounds) -> str:
    """Return the track's recording relative to the audio folder; its name if it is missing."""
    stated = next((path for name in _AUDIO if (path := getattr(track, name, None))), str(track.track_id))
    path = Path(stated)
    inside = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.name
    return inside if sounds.has(inside) else sounds.find(path.stem)


def _find(track: Any, *names: str) -> Any:
    """Return the first annotation of these names that the track has on disk."""
    for name in names:
        try:
            if (found := getattr(track, name, None)) is not None:
                return found
        except FileNotFoundError:
            continue
    return None


def _beats(found: Any) -> list[Beat]:
    """Return the beats of the first seconds, with their places in the bar if mirdata counts these."""
    _require_seconds(found.time_unit)
    is_placed = found.positions is not None and found.position_unit == "bar_index"
    places = [int(place) for place in found.positions] if is_placed else [None] * len(found.times)
    beats = (Beat(float(time), place) for time, place in zip(found.times, places, strict=True))
    return [beat for beat in beats if beat.time < BEAT_SECONDS]


def _keys(found: Any) -> Iterator[tuple[float, float, str]]:
    _require_seconds(found.interval_unit)
    for (start, end), label in zip(found.intervals.tolist(), found.keys, strict=True):
        key = parse(label.replace(":", " "))
        if key is not None and end - start >= SHORTEST_KEY:
            yield start, min(end, start + KEY_SECONDS), str(key)


def _whole_key(label: str, sounds: Sounds, audio: str) -> Iterator[tuple[float, float, str]]:
    key = parse(label.strip())
    for clip in clips_of_recording(sounds, audio, KEY_SECONDS) if key is not None else ():
        yield clip.start, clip.end, str(key)


def _frames(found: Any) -> list[Frame]:
    _require_seconds(found.time_unit)
    if found.frequency_unit != "hz":
        raise InputError(f"its melody is in {found.frequency_unit}, expected hz")
    voiced = zip(found.times.tolist(), found.frequencies.tolist(), found.voicing.tolist(), strict=True)
    return [(time, hertz if voicing else 0.0) for time, hertz, voicing in voiced]


def _require_seconds(unit: str) -> None:
    if unit != "s":
        raise InputError(f"its times are in {unit}, expected s")


CORPUS = describe("mirdata", read)
CORPUS = replace(
    CORPUS, datasets=tuple(replace(one, classes=KEYS if one.task == "key" else ()) for one in CORPUS.datasets)
)
