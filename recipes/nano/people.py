"""Clips to ask people's questions with, packed as `clips.py` packs: rated pieces, real and generated music.

    python recipes/nano/people.py REAL OUT

REAL is a folder with copies of the public repositories, each as <owner>+<name>. Measure with them; pass none of it on.
The first ten seconds of each file, or ten from the place given below; silence fills the twelve that a clip has.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import soxr
from clips import LEVEL, LOUDEST, RATE, SIZE, Clip, write

SECONDS = 10
MELODY = "Efficient-MeLoDy+Efficient-MeLoDy.github.io/wavs"
SOURCES = (  # the system, its files, and the places at which excerpts begin, as shares of a file
    ("davda54", "davda54+generating-music/Survey/Samples/*.mp3", (0.25, 0.6)),
    ("MusicCaps", "berkaygkv+muscall-1/music_data/*.wav", (0.0,)),
    ("audiomog GT", "audiomog+audiomog.github.io/demo_mc/GT/*.wav", (0.0,)),
    ("audiomog HG", "audiomog+audiomog.github.io/demo_mc/HG/*.wav", (0.0,)),
    ("audiomog CFG", "audiomog+audiomog.github.io/demo_mc/CFG/*.wav", (0.0,)),
    ("AudioLDM2", "audiomog+audiomog.github.io/demo_mc/AudioLDM2-music/*.wav", (0.0,)),
    ("MusicGen", "audiomog+audiomog.github.io/musicgen/*.wav", (0.0,)),
    ("MusicCaps 2", "audiomog+audiomog.github.io/gt_musiccaps/*.wav", (0.0,)),
    ("Noise2Music", "noise2music+noise2music.github.io/table1/*.wav", (0.0,)),
    ("MeLoDy and MusicLM", f"{MELODY}/prompts_from_musiclm/genres/*.wav", (0.0,)),
    ("MeLoDy and Noise2Music", f"{MELODY}/prompts_from_noise2music/musiccaps/*.wav", (0.0,)),
)  # fmt: skip


def main() -> None:
    real, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    write(out, "people", people_clips(real))


def people_clips(real: Path) -> Iterator[tuple[Clip, dict[str, Any]]]:
    jobs = [
        (system, path, place)
        for system, files, places in SOURCES
        for path in sorted(real.glob(files))
        for place in places
    ]
    with ThreadPoolExecutor(2) as pool:
        for (system, path, place), clip in zip(
            jobs, pool.map(lambda job: _ten_seconds(job[1], job[2]), jobs), strict=True
        ):
            if clip is not None:
                yield clip, {"system": system, "name": path.stem, "place": place}


def _ten_seconds(path: Path, place: float) -> Clip | None:
    try:
        with soundfile.SoundFile(path) as file:
            file.seek(int(place * max(0, file.frames - SECONDS * file.samplerate)))
            sound = file.read(SECONDS * file.samplerate, "float32", always_2d=True).mean(axis=1)
            rate = file.samplerate
    except soundfile.LibsndfileError:
        return None
    own = soxr.resample(sound, rate, RATE)[: SECONDS * RATE]
    rms = float(np.sqrt(np.mean(own**2))) if len(own) else 0.0
    if len(own) < 5 * RATE or rms < 1e-3:
        return None
    clip = np.zeros(SIZE, np.float32)
    clip[: len(own)] = own * min(LEVEL / rms, LOUDEST / float(np.abs(own).max()))
    return clip


if __name__ == "__main__":
    main()
