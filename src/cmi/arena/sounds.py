"""Sounds: audio files that a project's pages may play, known by an opaque id.

Loudness    integrated, ITU-R BS.1770-4, as it is played: a mono file comes out of both loudspeakers, and counts twice.
Gain        to LEVEL, and no more than keeps the peak below full scale: what level-matched playback applies.
Peaks       the largest sample of each of PEAKS equal stretches: the waveform that the page draws.

Only formats that browsers play are taken: WAV, FLAC, MP3 and OGG (Vorbis, Opus). The file's bytes tell, not its name.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import soundfile
from numpy.typing import NDArray
from sqlalchemy import Connection, insert, select, update

from cmi.arena.database import Database, require_id
from cmi.arena.errors import NotFound
from cmi.arena.loudness import LoudnessMeter
from cmi.arena.originals import Original
from cmi.arena.pairs import mark_broken
from cmi.arena.schema import new_id, sounds
from cmi.audio import LONGEST, SHORTEST, content_hash, duration
from cmi.errors import InputError

PEAKS = 400
BLOCK = 2**17  # frames that are decoded at once, about
LEVEL = -23.0  # LUFS, as in EBU R 128
HIGHEST_PEAK = -1.0  # dBFS
MOST_CHANNELS = 8  # what FLAC holds, as which sounds are played
MEDIA_TYPES = {
    "WAV": "audio/wav",
    "WAVEX": "audio/wav",
    "FLAC": "audio/flac",
    "MP3": "audio/mpeg",
    "OGG": "audio/ogg",
}


class Measured(NamedTuple):
    """What is known of a file once it was decoded."""

    digest: str
    seconds: float
    rate: int
    channels: int
    lufs: float | None  # None: silent, or shorter than 0.4 s
    gain_db: float
    peaks: list[float]
    media_type: str


def measure(path: Path) -> Measured:
    """Decode a file once, a stretch at a time. It touches no database, so that it can run in another process.

    InputError: it can't be decoded to its end, is too short or too long, or browsers can't play it.
    """
    claimed = duration(path)
    if not SHORTEST <= claimed <= LONGEST:
        raise InputError(f"{path}: {claimed:g} s of sound, expected {SHORTEST:g} s to {LONGEST / 3600:g} h")
    try:
        with soundfile.SoundFile(path) as file:
            return _measure(path, file)
    except soundfile.SoundFileError as error:
        raise InputError(f"{path}: can't be decoded to its end; make it again") from error


def register(connection: Connection, project: str, path: Path, measured: Measured | None = None) -> str:
    """The id of a file in a project; the same bytes have the same id. `measured` saves decoding it here."""
    return register_all(connection, project, [(path, measured or measure(path))])[0]


def register_all(connection: Connection, project: str, files: Sequence[tuple[Path, Measured]]) -> list[str]:
    """As `register`, for many files at once. A sound whose file is lost is found again in a file of the same bytes."""
    ids = known(connection, project)
    lost = _lost(connection, project)
    rows: list[dict[str, Any]] = []
    for path, measured in files:
        if measured.digest in lost:
            _find_again(connection, project, ids[measured.digest], path)
        if measured.digest not in ids:
            ids[measured.digest] = new_id()
            row = {"id": ids[measured.digest], "project": project, "path": str(path.resolve())}
            rows.append({**row, **measured._asdict()})
    if rows:
        connection.execute(insert(sounds), rows)
    return [ids[measured.digest] for _, measured in files]


def known(connection: Connection, project: str) -> dict[str, str]:
    """The ids of a project's sounds, by the digests of their bytes."""
    rows = connection.execute(select(sounds.c.digest, sounds.c.id).where(sounds.c.project == project))
    return {row.digest: row.id for row in rows}


def _lost(connection: Connection, project: str) -> set[str]:
    """The digests of sounds whose files are gone or were changed."""
    columns = sounds.c.digest, sounds.c.path, sounds.c.problem
    rows = connection.execute(select(*columns).where(sounds.c.project == project))
    return {row.digest for row in rows if row.problem is not None or not Path(row.path).exists()}


def _find_again(connection: Connection, project: str, sound: str, path: Path) -> None:
    values = {"path": str(path.resolve()), "size": None, "modified": None, "problem": None}
    connection.execute(update(sounds).where(sounds.c.id == sound).values(values))
    mark_broken(connection, project, sound)


def find(database: Database, project: str, sound: str) -> Original:
    """The file of a sound of the project: NotFound for any other project's."""
    ours = (sounds.c.project == project) & (sounds.c.id == require_id(sound, "sound"))
    with database.reading() as connection:
        row = connection.execute(select(*(sounds.c[name] for name in Original._fields)).where(ours)).one_or_none()
    if row is None:
        raise NotFound("there is no such sound")
    return Original._make(row)


def _measure(path: Path, file: soundfile.SoundFile) -> Measured:
    if file.format not in MEDIA_TYPES:
        raise InputError(f"{path}: {file.format}, which browsers can't play; make it WAV, FLAC, MP3 or OGG")
    if file.channels > MOST_CHANNELS:
        raise InputError(f"{path}: {file.channels} channels, expected {MOST_CHANNELS} at most; mix it down")
    meter = LoudnessMeter(file.samplerate, file.channels)
    peaks: list[float] = []
    edges = np.arange(PEAKS + 1) * file.frames // PEAKS
    step = max(1, BLOCK * PEAKS // file.frames)  # stretches that are read at once
    for i in range(0, PEAKS, step):
        here = edges[i : i + step + 1]
        samples: NDArray[np.float32] = file.read(int(here[-1] - here[0]), dtype="float32", always_2d=True)
        if len(samples) < here[-1] - here[0]:
            raise InputError(f"{path}: cut off after {(here[0] + len(samples)) / file.samplerate:.1f} s; make it again")
        if not np.isfinite(samples).all():
            raise InputError(f"{path}: samples that are NaN or infinite; make it again")
        meter.hear(samples)
        peaks.extend(_peaks(samples, here[:-1] - here[0]))
    lufs = meter.integrated()
    return Measured(
        digest=content_hash(path),
        seconds=file.frames / file.samplerate,
        rate=file.samplerate,
        channels=file.channels,
        lufs=None if lufs is None else round(lufs, 2),
        gain_db=_gain(lufs, max(peaks)),
        peaks=[round(min(peak, 1.0), 3) for peak in peaks],
        media_type=MEDIA_TYPES[file.format],
    )


def _peaks(samples: NDArray[np.float32], starts: NDArray[np.int64]) -> list[float]:
    """The largest sample of each stretch from one start to the next; a very short file has fewer samples than those."""
    if not len(samples):
        return [0.0] * len(starts)
    loudest = np.abs(samples).max(axis=1)
    found: list[float] = np.maximum.reduceat(loudest, np.minimum(starts, len(samples) - 1)).tolist()
    return found


def _gain(lufs: float | None, peak: float) -> float:
    if lufs is None or not peak:
        return 0.0
    return round(min(LEVEL - lufs, HIGHEST_PEAK - 20 * float(np.log10(peak))), 2)
