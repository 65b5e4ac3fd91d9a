"""Clips to learn from and to measure with: short, mono, and small enough to be carried to another machine.

    python recipes/nano/clips.py music MUSIC OUT           excerpts of real recordings (`cmi studio fetch MUSIC ...`)
    python recipes/nano/clips.py studio OUT --pairs 600    the studio's pairs about musicality, train and test
    python recipes/nano/clips.py speech OUT                sentences read by espeak-ng: what is not music
    python recipes/nano/clips.py sounds MUSIC OUT          voices and noises of games: what is not music either

OUT/<name>-000.opus ...    64 clips each, one after the other, 24 kHz, 12 s
OUT/<name>.json            a line for each clip, in order: the song and its package; or the pair and its role

Whole packages are kept for testing (`TESTED`): no song of theirs is learned from. Their clips are the pack `tests`.
"""

import argparse
import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from cmi.studio.pairs import Material, plan_pair
from cmi.studio.recordings import RATE as STUDIO_RATE
from cmi.studio.recordings import record
from cmi.studio.tracks import Track, find_tracks
from cmi.studio.vocals import RATE as SPEECH_RATE
from cmi.studio.vocals import _speak

RATE, SECONDS = 24_000, 12
SIZE = RATE * SECONDS
TOGETHER = 64  # clips in a file
LEVEL, LOUDEST = 0.08, 0.98
SILENT = 0.003  # RMS
OPUS_LEVEL = 0.85  # of libsndfile's compression: about 40 kbit/s
PLACES = {
    "tests": 0.3,
    "music-b": 0.62,
    "music-c": 0.08,
    "music-d": 0.8,
}  # of a song, at which the excerpts of a pack begin
TESTED = frozenset(
    "naev-data hyperrogue-music supertuxkart-data fretsonfire-songs-muldjord singularity-music "
    "freedroidrpg-data".split()
)
VOICES = "/voices/ /voice/ /announcer/ fillets-ng/sound/".split()  # parts of the paths of recorded speech
SINGING = "/voices/Singer"
SOUNDS = {  # of games, to learn from and to measure with, and how many clips of each
    "sounds": {"hedgewars-data": 60, "megaglest-data": 60, "lugaru-data": 12},
    "sounds-test": dict.fromkeys(
        "fillets-ng-data warmux-data redeclipse-data unknown-horizons widelands-data tuxpaint-data".split(), 12
    ),
}
PAUSES = (0.05, 0.6)  # seconds between sounds
SENTENCES = (
    "The committee will meet again on Thursday to discuss the budget for next year.",
    "Please remember to close the windows before you leave the building tonight.",
    "He said that the train from the north would be late, and nobody was surprised.",
    "Water boils at a lower temperature on a high mountain than it does by the sea.",
    "Turn left after the bridge, then walk straight on until you come to the market.",
    "Our results differ from those of earlier studies in at least three respects.",
    "She opened the letter slowly, read it twice, and put it back into the drawer.",
    "The weather tomorrow will be cloudy at first, with rain in the afternoon.",
)

Clip = NDArray[np.float32]  # (SIZE,)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    kinds = parser.add_subparsers(dest="kind", required=True)
    music = kinds.add_parser("music")
    music.add_argument("music", type=Path, nargs="+")
    studio = kinds.add_parser("studio")
    studio.add_argument("--pairs", type=int, default=600)
    studio.add_argument("--seed", type=int, default=2101)
    speech = kinds.add_parser("speech")
    sounds = kinds.add_parser("sounds")
    sounds.add_argument("music", type=Path, nargs="+")
    for kind in (music, studio, speech, sounds):
        kind.add_argument("out", type=Path)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.kind == "music":
        tracks = [(track, folder) for folder in arguments.music for track in find_tracks(folder)]
        for name, place in PLACES.items():
            clips = music_clips(tracks, place)
            write(arguments.out, name, ((clip, about) for clip, about in clips if about["test"] == (name == "tests")))
    elif arguments.kind == "studio":
        write(arguments.out, "studio", studio_clips(arguments.pairs, arguments.seed, ("train",)))
        write(arguments.out, "studio-test", studio_clips(arguments.pairs // 2, arguments.seed + 1, ("test", "heldout")))
    elif arguments.kind == "sounds":
        for name, packages in SOUNDS.items():
            write(arguments.out, name, sound_clips(arguments.music, packages))
    else:
        write(arguments.out, "speech", speech_clips())


def write(out: Path, name: str, clips: Iterable[tuple[Clip, dict[str, Any]]]) -> None:
    rows: list[dict[str, Any]] = []
    waiting: list[Clip] = []
    for clip, about in clips:
        rows.append(about)
        waiting.append(clip)
        if len(waiting) == TOGETHER:
            _write_file(out, name, len(rows) // TOGETHER - 1, waiting)
            waiting = []
    if waiting:
        _write_file(out, name, len(rows) // TOGETHER, waiting)
    (out / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    print(f"{name}: {len(rows)} clips")


def _write_file(out: Path, name: str, number: int, clips: list[Clip]) -> None:
    path, sound = out / f"{name}-{number:03d}.opus", np.concatenate(clips)
    with soundfile.SoundFile(path, "w", RATE, 1, "OPUS", format="OGG", compression_level=OPUS_LEVEL) as file:
        for start in range(0, len(sound), SIZE):
            file.write(sound[start : start + SIZE])


def music_clips(tracks: list[tuple[Track, Path]], place: float) -> Iterator[tuple[Clip, dict[str, Any]]]:
    """One of each song, in an order of chance, so that every file holds a bit of everything."""
    mixed = sorted(tracks, key=lambda item: item[0].name)
    for track, folder in mixed:
        clip = _excerpt(track, place)
        if clip is not None:
            package = track.path.relative_to(folder).parts[0]
            yield clip, {"song": track.name[:16], "package": package, "test": package in TESTED}


def _excerpt(track: Track, place: float) -> Clip | None:
    try:
        with soundfile.SoundFile(track.path) as file:
            file.seek(min(int(place * file.frames), max(0, file.frames - SECONDS * file.samplerate)))
            sound = file.read(SECONDS * file.samplerate + 1, "float32", always_2d=True).mean(axis=1)
            rate = file.samplerate
    except soundfile.LibsndfileError:
        return None
    return levelled(soxr.resample(sound, rate, RATE))


def levelled(sound: NDArray[np.float32]) -> Clip | None:
    """Of the right length and at one level; None of what is too short or hardly heard."""
    if len(sound) < SIZE - 10:
        return None
    clip = np.resize(sound[:SIZE], SIZE)
    rms = float(np.sqrt(np.mean(clip**2)))
    if rms < SILENT:
        return None
    return (clip * min(LEVEL / rms, LOUDEST / float(np.abs(clip).max()))).astype(np.float32)


def studio_clips(count: int, seed: int, splits: Sequence[str]) -> Iterator[tuple[Clip, dict[str, Any]]]:
    """Better and worse take of each pair without a song's words, by turns."""
    plans = (plan_pair(number, seed, Material()) for number in range(40 * count))
    usable = (plan for plan in plans if plan.split in splits and plan.axis == "musicality" and not plan.lyrics)
    chosen = list(islice(usable, count))
    with ProcessPoolExecutor() as pool:
        for plan, clips in zip(chosen, pool.map(_studio_pair, chosen, chunksize=4), strict=True):
            for role, clip in zip(("better", "worse"), clips, strict=False):
                told = {"kind": plan.truth["kind"], "strength": plan.truth["strength"], "flaw": plan.worse.flaw}
                yield clip, {"pair": plan.id, "role": role, "split": plan.split, **told}


def _studio_pair(plan: Any) -> tuple[Clip, ...]:
    """Twelve seconds of each take: of the same piece, those in which the two differ most. Nothing if one is silent."""
    better, worse = (_mono(record(recipe)[0]) for recipe in (plan.better, plan.worse))
    step = RATE
    starts = range(0, len(better) - SIZE + 1, step)
    if plan.truth["kind"] == "same":
        unlike = np.abs(better - worse)
        start = max(starts, key=lambda at: float(unlike[at : at + SIZE].sum()))
    else:
        start = random.Random(plan.id).choice(starts)  # noqa: S311
    clips = [levelled(sound[start : start + SIZE]) for sound in (better, worse)]
    return tuple(clip for clip in clips if clip is not None) if all(clip is not None for clip in clips) else ()


def _mono(sound: NDArray[np.float32]) -> NDArray[np.float32]:
    return soxr.resample(sound.mean(axis=1), STUDIO_RATE, RATE)


def speech_clips() -> Iterator[tuple[Clip, dict[str, Any]]]:
    for place in range(48):
        rng = random.Random(place)  # noqa: S311
        said = np.concatenate([_speak(text)[0] for text in rng.sample(SENTENCES, 5)]).astype(np.float32)
        slower = rng.uniform(0.8, 1.2)  # and lower: another speaker
        clip = levelled(np.resize(soxr.resample(said, SPEECH_RATE, RATE * slower), SIZE))
        if clip is not None:
            yield clip, {"speech": place}


def sound_clips(music: Sequence[Path], packages: Mapping[str, int]) -> Iterator[tuple[Clip, dict[str, Any]]]:
    """Short sounds of one folder of a game after each other: people who speak, and by turns any other sounds."""
    rng = random.Random(18)  # noqa: S311
    for package, count in packages.items():
        paths = sorted(path for folder in music for path in (folder / package).rglob("*.[ow][ga][gv]"))
        short = [path for path in paths if SINGING not in str(path) and soundfile.info(path).duration < SECONDS]
        within = {path: "/" + str(path).rpartition(f"/{package}/")[2] for path in short}
        spoken = {path for path in short if any(part in within[path] for part in VOICES)}
        kinds = [kind for kind in (spoken, set(short) - spoken) if kind]
        for place in range(count):
            kind = sorted(kinds[place % len(kinds)])
            folder = rng.choice(kind).parent
            own = [path for path in kind if path.parent == folder]
            clip = levelled(_in_turn(own, rng))
            if clip is not None:
                yield clip, {"package": package, "speech": own[0] in spoken, "folder": folder.name}


def _in_turn(paths: Sequence[Path], rng: random.Random) -> NDArray[np.float32]:
    """Sounds drawn at random, each at one level, until there are enough seconds."""
    parts: list[NDArray[np.float32]] = []
    while sum(map(len, parts)) < SIZE:
        sound, rate = soundfile.read(rng.choice(paths), dtype="float32", always_2d=True)
        heard = soxr.resample(sound.mean(axis=1), rate, RATE)
        loudness = float(np.sqrt(np.mean(heard**2))) if len(heard) else 0.0
        parts += [heard * (LEVEL / max(loudness, SILENT)), np.zeros(int(rng.uniform(*PAUSES) * RATE), np.float32)]
    return np.concatenate(parts)


if __name__ == "__main__":
    main()
