"""The material of a probe: songs, each in many versions.

Songs are composed and rendered by the studio, so that the flaw of a version is known exactly; or they are the user's
own recordings, which have neither notes to change nor captions.

    unchanged    the same music in another file: a listener hears no difference, or hardly one
    flaws        the same music with one thing wrong, at four strengths
    prompts      the same recording under other prompts

A version is written to a file, because that is what users score: WAV, 44.1 kHz, 16 bits unless stated otherwise. All
random choices depend on the seed.
"""

import io
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile
import soxr

from cmi._util.errors import InputError, MissingExtra
from cmi._util.files import cannot_write
from cmi.audio import NOT_FINITE, SILENT, find_recordings, is_silent
from cmi.studio import recordings, vocals
from cmi.studio.captions import Caption, caption, facts, paraphrase, wrong_caption
from cmi.studio.compose import compose
from cmi.studio.flaws import FLAWS, Flaw, PieceFlaw, SoundFlaw
from cmi.studio.flaws.production import Sound
from cmi.studio.lyrics import write_lyrics
from cmi.studio.piece import Piece
from cmi.studio.render import render
from cmi.take import Prompt, Take

RATE = 44_100
HEADROOM = 0.5  # of full scale: the loudest peak of a clean song, so that 6 dB more do not clip
STRENGTHS = (0.25, 0.5, 0.75, 1.0)
OFFSET = 0.02  # seconds
SHORTEST = 1.0  # seconds, of a recording
FEWEST = 3  # songs: each is compared with two others
MOST = 1000
FIRST_SEED = 10**12  # beyond the seeds of the studio's data sets, so that no scorer was trained on these songs

CLEAN = "clean"
PARAPHRASE, EMPTY = "paraphrase", "empty prompt"
WRONG_STYLE, WRONG_CAPTION = "wrong style", "wrong caption"
SUNG, SHUFFLED_LYRICS = "sung", "shuffled lyrics"
OWN_REFERENCE, OTHER_REFERENCES = "the take itself", ("another song", "a third song")


class ProbeVersion(NamedTuple):
    """A version of a song. If `make` is None it is the clean recording, under this prompt."""

    song: int
    name: str
    prompt: Prompt
    make: Callable[[], Sound] | None = None
    strength: float = 0.0
    suffix: str = ".wav"
    rate: int = RATE

    def take(self, folder: Path, clean: Path) -> Take:
        """Return the version as a take; its file is written to `folder`."""
        if self.make is None:
            return Take(self.prompt, clean)
        path = folder / f"{self.song}-{self.name.replace(' ', '-')}-{self.strength:g}{self.suffix}"
        write_sound(path, self.make(), self.rate)
        return Take(self.prompt, path)


@dataclass(frozen=True)
class Composed:
    """A piece composed by the studio; its sound, like any song's, is (n, channels) at RATE."""

    seed: int
    seconds: float

    @cached_property
    def piece(self) -> Piece:
        return compose(self.seed, seconds=self.seconds)

    @property
    def name(self) -> str:
        return self.piece.name

    def sound(self) -> Sound:
        return _played(self.piece)


@dataclass(frozen=True)
class Recording:
    """The beginning of a user's recording."""

    path: Path
    seconds: float
    piece: None = None

    @property
    def name(self) -> str:
        return self.path.name

    def sound(self) -> Sound:
        return _read(self.path, self.seconds)


Song = Composed | Recording


def compose_songs(count: int, seconds: float, seed: int) -> list[Composed]:
    """Compose songs; probes with different seeds have different songs."""
    return [Composed(FIRST_SEED + seed * MOST + i, seconds) for i in range(count)]


def read_songs(folder: Path, count: int, seconds: float) -> list[Recording]:
    """Return the first `count` recordings of a folder and its subfolders, sorted by name."""
    paths = find_recordings(folder)[:count]
    if len(paths) < FEWEST:
        raise InputError(f"{folder}: {len(paths)} recordings, expected {FEWEST} or more (WAV, FLAC, MP3, OGG, AIFF)")
    return [Recording(path, seconds) for path in paths]


def write_sound(path: Path, sound: Sound, rate: int) -> None:
    subtype = "PCM_16" if path.suffix == ".wav" else None
    encoded = io.BytesIO()
    soundfile.write(encoded, np.clip(sound, -1, 1), rate, subtype=subtype, format=path.suffix.removeprefix("."))
    try:
        path.write_bytes(encoded.getvalue())
    except OSError as error:
        raise cannot_write(path, error) from error


def plan(songs: Sequence[Song], clean: Sequence[Path], seed: int) -> Iterator[ProbeVersion]:
    """Yield every version of every song, song by song; `clean` are the files of the clean recordings.

    The first version of a song is the clean one, under its own caption, which all versions have that do not change the
    prompt.
    """
    for i, song in enumerate(songs):
        others = [clean[(i + step) % len(songs)] for step in (1, 2)]
        rng = random.Random(f"cmi.probe.versions {seed} {song.name}")  # noqa: S311
        fitting = None if song.piece is None else caption(facts(song.piece), rng)
        base = ProbeVersion(i, CLEAN, Prompt("" if fitting is None else fitting.text))
        yield base
        yield from _unchanged(base, song)
        yield from _flawed(base, song, seed)
        yield from _other_references(base, clean[i], others)
        if fitting is not None and isinstance(song, Composed):
            yield from _other_prompts(base, song, fitting, rng)
            if _can_sing():
                yield from _sung(base, song, rng)


def _unchanged(base: ProbeVersion, song: Song) -> Iterator[ProbeVersion]:
    for name, (change, suffix, rate) in UNCHANGED.items():
        yield base._replace(name=name, make=partial(_changed, song, change), suffix=suffix, rate=rate)


def _changed(song: Song, change: Callable[[Sound], Sound]) -> Sound:
    return change(_clean(song))


def _flawed(base: ProbeVersion, song: Song, seed: int) -> Iterator[ProbeVersion]:
    for flaw in FLAWS.values():
        if _applies(flaw, song.piece, [seed, base.song]):
            for strength in STRENGTHS:
                make = partial(_with_flaw, song, flaw, strength, [seed, base.song])
                yield base._replace(name=flaw.name, make=make, strength=strength)


def _applies(flaw: Flaw, piece: Piece | None, seed: list[int]) -> bool:
    """Tell whether the flaw changes the piece; a single part, for example, cannot be out of tune with others."""
    if isinstance(flaw, SoundFlaw):
        return True
    return piece is not None and flaw.measure(piece, flaw.apply(piece, 0.5, np.random.default_rng(seed))) > 0


def _with_flaw(song: Song, flaw: Flaw, strength: float, seed: list[int]) -> Sound:
    rng = np.random.default_rng(seed)  # the same at every strength, so that the flaw only grows
    if isinstance(flaw, PieceFlaw):
        assert song.piece is not None
        return _played(flaw.apply(song.piece, strength, rng))
    return flaw.apply(_clean(song), RATE, strength, rng)


def _other_references(base: ProbeVersion, itself: Path, others: Sequence[Path]) -> Iterator[ProbeVersion]:
    for name, reference in zip((OWN_REFERENCE, *OTHER_REFERENCES), (itself, *others), strict=True):
        yield base._replace(name=name, prompt=Prompt(base.prompt.text, reference=reference))


def _other_prompts(base: ProbeVersion, song: Composed, fitting: Caption, rng: random.Random) -> Iterator[ProbeVersion]:
    """Yield the clean recording under no caption, a paraphrase, and wrong captions."""
    known = facts(song.piece)
    texts = {
        EMPTY: "",
        PARAPHRASE: paraphrase(fitting, rng).text,
        WRONG_STYLE: wrong_caption(known, rng, about="style").text,
        WRONG_CAPTION: wrong_caption(known, rng).text,
    }
    for name, text in texts.items():
        yield base._replace(name=name, prompt=Prompt(text))


def _can_sing() -> bool:
    try:
        vocals.syllables("la")
    except MissingExtra:
        return False
    return True


def _sung(base: ProbeVersion, song: Composed, rng: random.Random) -> Iterator[ProbeVersion]:
    """Yield the piece with a voice, under the sung lyrics and under the same words in random order."""
    lyrics = write_lyrics(rng)
    text = caption(facts(song.piece, vocals=True), rng).text
    for name, asked in ((SUNG, lyrics), (SHUFFLED_LYRICS, _shuffle_words(lyrics, rng))):
        make = partial(_with_voice, song.seed, lyrics)
        yield base._replace(name=name, prompt=Prompt(text, asked), make=make, rate=recordings.RATE)


def _shuffle_words(lyrics: str, rng: random.Random) -> str:
    """Shuffle all words; lines keep their number of words."""
    words = lyrics.split()
    rng.shuffle(words)
    rest = iter(words)
    return "\n".join(" ".join(next(rest) for _ in line.split()) for line in lyrics.splitlines())


@lru_cache(maxsize=1)
def _with_voice(seed: int, lyrics: str) -> Sound:
    return recordings.record(recordings.TakeRecipe(recordings.TakeSource(seed), lyrics=lyrics))[0]


@lru_cache(maxsize=1)  # versions come song by song
def _clean(song: Song) -> Sound:
    return song.sound()


def _played(piece: Piece) -> Sound:
    return render(piece, RATE) * np.float32(HEADROOM)


def _read(path: Path, seconds: float) -> Sound:
    """Read at most `seconds` of at most two channels, attenuated if the peak leaves no headroom."""
    try:
        with soundfile.SoundFile(path) as file:
            heard = file.read(round(seconds * file.samplerate), dtype="float32", always_2d=True)[:, :2]
            sound = soxr.resample(heard, file.samplerate, RATE) if file.samplerate != RATE else heard
    except soundfile.LibsndfileError as error:
        raise InputError(f"{path}: {error.error_string}") from error
    if len(sound) < SHORTEST * RATE:
        raise InputError(f"{path}: {len(sound) / RATE:.2f} s of sound, expected {SHORTEST:g} s or more")
    if not np.isfinite(sound).all():
        raise InputError(f"{path}: {NOT_FINITE}")
    if all(is_silent(channel) for channel in sound.T):
        raise InputError(f"{path}: {SILENT}")
    return sound * np.float32(min(1.0, HEADROOM / float(np.abs(sound).max())))


def _delayed(sound: Sound) -> Sound:
    """Delay the sound by OFFSET and keep its length."""
    silence = np.zeros((round(OFFSET * RATE), sound.shape[1]), np.float32)
    return np.concatenate([silence, sound])[: len(sound)]


def _other_channels(sound: Sound) -> Sound:
    """Average two channels to one, or copy one to two."""
    return sound.mean(axis=1, keepdims=True) if sound.shape[1] == 2 else np.repeat(sound, 2, axis=1)


def _as_it_is(sound: Sound) -> Sound:
    return sound


UNCHANGED: dict[str, tuple[Callable[[Sound], Sound], str, int]] = {
    "gain +6 dB": (lambda sound: sound * np.float32(10 ** (6 / 20)), ".wav", RATE),
    "gain -6 dB": (lambda sound: sound * np.float32(10 ** (-6 / 20)), ".wav", RATE),
    "polarity": (lambda sound: -sound, ".wav", RATE),
    "20 ms later": (_delayed, ".wav", RATE),
    "48 kHz": (lambda sound: soxr.resample(sound, RATE, 48_000), ".wav", 48_000),
    "mono or stereo": (_other_channels, ".wav", RATE),
    "mp3": (_as_it_is, ".mp3", RATE),
    "ogg": (_as_it_is, ".ogg", RATE),
}
