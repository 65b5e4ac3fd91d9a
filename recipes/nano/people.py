"""The clips that listeners' and systems' questions of cmi-real are about, packed as `clips.py` packs.

    python recipes/nano/people.py REAL OUT

REAL is the folder of `cmi data get cmi-real`. Measure with these clips; pass none of them on. Of a long piece ten
seconds at two places, of a short one the first ten; silence fills the twelve that a clip has.
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

from cmi.rewardbench.data import cmi_real

SECONDS = 10
LONG = 20.0
PLACES = (0.25, 0.6)  # of a long piece
ASKED = (cmi_real.PEOPLE, cmi_real.SYSTEMS, cmi_real.REWARDS)


def main() -> None:
    real, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    write(out, "people", people_clips(real))


def people_clips(real: Path) -> Iterator[tuple[Clip, dict[str, Any]]]:
    paths = sorted(
        {Path(str(take)) for item in cmi_real.DATA_SET.read(real) if item.dataset in ASKED for take in item.takes}
    )
    jobs = [
        (path, place)
        for path in paths
        for place in (PLACES if soundfile.info(path).duration > LONG else (0.0,))
    ]  # fmt: skip
    with ThreadPoolExecutor(2) as pool:
        for (path, place), clip in zip(jobs, pool.map(lambda job: _ten_seconds(*job), jobs), strict=True):
            if clip is not None:
                yield clip, {"clip": str(path.relative_to(real)), "place": place}


def _ten_seconds(path: Path, place: float) -> Clip | None:
    with soundfile.SoundFile(path) as file:
        file.seek(int(place * max(0, file.frames - SECONDS * file.samplerate)))
        sound = file.read(SECONDS * file.samplerate, "float32", always_2d=True).mean(axis=1)
        rate = file.samplerate
    own = soxr.resample(sound, rate, RATE)[: SECONDS * RATE]
    rms = float(np.sqrt(np.mean(own**2))) if len(own) else 0.0
    if len(own) < 5 * RATE or rms < 1e-3:
        return None
    clip = np.zeros(SIZE, np.float32)
    clip[: len(own)] = own * min(LEVEL / rms, LOUDEST / float(np.abs(own).max()))
    return clip


if __name__ == "__main__":
    main()
