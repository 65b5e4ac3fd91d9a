"""Sing lyrics: words by a speech synthesizer on a melody's notes.

espeak-ng speaks each word; WORLD gives each syllable the note's pitch and stretches its vowel to the note's length. It
sounds like a robot singing in tune, without vibrato or expression. Words are intelligible at moderate tempo and below
about C5.

Each note gets one syllable, whose vowel begins with the note and whose first consonants come before it. Words without a
note are not sung, and notes without a word are silent: see `sung`.

`synthesize` does the same as `pyworld.synthesize`, several times as fast, because a word's frames become filters only
once. Each pulse of the voice triggers the minimum-phase response of its frame; the aperiodic part is filtered noise.
"""

import ctypes
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import soxr
from numpy.typing import ArrayLike, NDArray
from scipy import fft

from cmi._util.errors import InputError, MissingExtra
from cmi.studio.piece import Note
from cmi.studio.render import levelled

STEPS = 64  # sub-sample positions of a pulse: a hundredth of a cent at middle C
QUIETEST = 1e-12  # power, to avoid the logarithm of 0

Filters = NDArray[np.complex64]  # (frames, bins)


class Frames(NamedTuple):
    """A voice in frames of `hop` samples."""

    pitch: NDArray[np.float64]  # hertz, 0 if unvoiced: (frames,)
    periodic: Filters
    noise: Filters


def periodic_filters(power: NDArray[np.float64], aperiodicity: NDArray[np.float64]) -> Filters:
    """From WORLD's spectral envelope and aperiodicity, both (frames, bins)."""
    filters = minimum_phase(power * (1 - aperiodicity**2))
    filters[:, 0] = 0  # no DC offset
    return filters


def noise_filters(power: NDArray[np.float64], aperiodicity: NDArray[np.float64]) -> Filters:
    return minimum_phase(power * aperiodicity**2)


def minimum_phase(power: NDArray[np.float64]) -> Filters:
    """Minimum-phase filters with these power spectra, by folding cepstra."""
    size = 2 * (power.shape[1] - 1)
    cepstra = fft.irfft(np.log(np.maximum(power, QUIETEST)) / 2, size)
    cepstra[:, 1 : size // 2] *= 2
    cepstra[:, size // 2 + 1 :] = 0
    return np.exp(fft.rfft(cepstra)).astype(np.complex64)


def synthesize(frames: Frames, hop: int, rate: int) -> NDArray[np.float32]:
    """The voice: len(frames.pitch) * hop samples, the same in each run."""
    size, count = 2 * (frames.periodic.shape[1] - 1), len(frames.pitch) * hop
    sound = np.zeros(count + size, np.float32)
    places = pulses(frames.pitch, hop, rate)
    whole = np.floor(places).astype(int)
    at = whole // hop
    late = _delays(size)[np.floor((places - whole) * STEPS).astype(int)]
    louder = np.sqrt(rate / frames.pitch[at]).astype(np.float32)  # fewer pulses carry as much power
    responses = fft.irfft(frames.periodic[at] * late, size) * louder[:, None]
    for place, response in zip(whole.tolist(), responses, strict=True):
        sound[place : place + size] += response
    hiss = np.random.default_rng(0).standard_normal((len(frames.pitch), hop), dtype=np.float32)
    breaths = fft.irfft(fft.rfft(hiss, size) * frames.noise, size)
    for frame, breath in enumerate(breaths):
        sound[frame * hop : frame * hop + size] += breath
    return sound[:count]


@lru_cache(maxsize=2)
def _delays(size: int) -> Filters:
    """Filters that delay by fractions of a sample: (STEPS, bins)."""
    parts = np.arange(STEPS) / STEPS
    return np.exp(-2j * np.pi / size * parts[:, None] * np.arange(size // 2 + 1)).astype(np.complex64)


def pulses(pitch: NDArray[np.float64], hop: int, rate: int) -> NDArray[np.float64]:
    """Fractional sample positions of the voice's pulses, one per period."""
    steps = np.repeat(pitch / rate, hop)
    phase = np.cumsum(steps)
    turned = np.flatnonzero(np.floor(phase) > np.floor(phase - steps))
    return turned - (phase[turned] - np.floor(phase[turned])) / steps[turned] + 1


VOICE = "en-us+Denis"  # without flutter or roughness, whose state would leak between words
RATE = 22_050  # espeak-ng's
HOP = 110  # samples of a frame of WORLD
FRAME = HOP / RATE  # seconds
LONGEST_ONSET = 0.15  # seconds of consonants sung ahead of a note

_Clock = Callable[[ArrayLike], NDArray[np.float64]]
_SECTION_MARK = re.compile(r"\[[^\]]*\]")  # [Chorus]
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_VOWELS = frozenset("aeiouAEIOUV03@")  # first letters of espeak's vowels and syllabic consonants
_SYNCHRONOUS, _PHONEME_EVENTS, _UTF8 = 2, 1, 1
_DO_NOT_EXIT = 0x8000  # where its data are missing
_WORDS_A_MINUTE, _PITCH_RANGE = 1, 4  # parameters of espeak
_END, _PHONEME = 0, 7  # kinds of its events


class Phoneme(NamedTuple):
    name: str
    start: float  # seconds
    end: float

    @property
    def is_vowel(self) -> bool:
        return self.name.lstrip("',%=")[:1] in _VOWELS


class Syllable(NamedTuple):
    """A syllable's place in its spoken word, in seconds."""

    start: float
    vowel_start: float
    vowel_end: float
    end: float


class Spoken(NamedTuple):
    """A spoken word in frames."""

    syllables: tuple[Syllable, ...]
    voiced: NDArray[np.bool_]  # (frames,)
    periodic: Filters
    noise: Filters


def words(lyrics: str) -> list[str]:
    """The words to sing, without punctuation and marks such as [Chorus]."""
    return _WORD.findall(_SECTION_MARK.sub(" ", lyrics))


def syllables(lyrics: str) -> int:
    """The number of notes that the lyrics need."""
    return sum(len(_spoken(word).syllables) for word in words(lyrics))


def sung(notes: int, lyrics: str) -> list[str]:
    """The words that fit on so many notes."""
    return [word for word, _ in _set(notes, lyrics)]


def sing(melody: Sequence[Note], clock: _Clock, lyrics: str, rate: int = 44_100) -> NDArray[np.float32]:
    """Sing the lyrics on the melody: mono, from time 0 to the end of the last note; notes are cut at the next one."""
    if not melody:
        raise InputError("no notes to sing the lyrics on")
    if not words(lyrics):
        raise InputError("no words to sing in the lyrics")
    notes = sorted(melody)
    starts = clock([note.start for note in notes])
    ends = np.minimum(clock([note.start + note.length for note in notes]), np.append(starts[1:], np.inf))
    setting = [(spoken, syllable) for _, spoken in _set(len(notes), lyrics) for syllable in spoken.syllables]
    if not setting:
        raise InputError(f"{len(notes)} notes are too few for the first word of the lyrics, {words(lyrics)[0]!r}")
    onsets = _onsets([syllable for _, syllable in setting], starts[: len(setting)], ends)
    finishes = np.minimum(ends[: len(setting)], np.append(onsets[1:], np.inf))

    first = int(onsets[0] / FRAME)  # do not synthesize silence before the first word
    count = int(np.ceil(finishes[-1] / FRAME)) + 1 - first
    shape = (count, setting[0][0].periodic.shape[1])
    voice = Frames(np.zeros(count), np.zeros(shape, np.complex64), np.zeros(shape, np.complex64))
    for (spoken, syllable), note, onset, start, finish in zip(setting, notes, onsets, starts, finishes, strict=False):
        frames = np.arange(round(onset / FRAME) - first, min(round(finish / FRAME) - first, count))
        places, in_vowel = _places(syllable, onset, start, finish, (frames + first) * FRAME)
        heard = np.clip(np.rint(places / FRAME).astype(int), 0, len(spoken.voiced) - 1)
        voice.periodic[frames], voice.noise[frames] = spoken.periodic[heard], spoken.noise[heard]
        voice.pitch[frames] = np.where(spoken.voiced[heard] | in_vowel, 440 * 2 ** ((note.pitch - 69) / 12), 0)
    song = np.zeros(round(ends[-1] * rate), np.float32)
    begin = round(first * FRAME * rate)
    sung_part = soxr.resample(synthesize(voice, HOP, RATE), RATE, rate)[: song.size - begin]
    song[begin : begin + sung_part.size] = sung_part
    return levelled(song)


def _set(notes: int, lyrics: str) -> Iterator[tuple[str, Spoken]]:
    """Yield words while there are notes for all their syllables."""
    for word in words(lyrics):
        spoken = _spoken(word)
        notes -= len(spoken.syllables)
        if notes < 0:
            return
        yield word, spoken


def _onsets(
    syllables: Sequence[Syllable], starts: NDArray[np.float64], ends: NDArray[np.float64]
) -> NDArray[np.float64]:
    """When each syllable begins: its vowel falls on the note, but half of the previous note is left."""
    early = np.array([min(syllable.vowel_start - syllable.start, LONGEST_ONSET) for syllable in syllables])
    before = np.append(0, (starts[:-1] + ends[: len(starts) - 1]) / 2)
    return np.maximum(starts - early, before)


def _places(
    syllable: Syllable, onset: float, start: float, finish: float, times: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """For each time of the song, the time in the spoken word, and whether it is in the vowel.

    Final consonants take at most half of the note; initial ones that do not fit before the note, at most a quarter.
    """
    coda = min(syllable.end - syllable.vowel_end, (finish - start) / 2)
    squeezed = min((syllable.vowel_start - syllable.start) / 2, (finish - start) / 4)
    vowel = max(start, onset + squeezed)
    song = [onset, vowel, finish - coda, finish]
    return np.interp(times, song, syllable), (times >= vowel) & (times < finish - coda)


@lru_cache(maxsize=1000)  # half a megabyte each
def _spoken(word: str) -> Spoken:
    world = _world()
    sound, phonemes = _speak(word)
    pitch, times = world.dio(sound, RATE, frame_period=FRAME * 1000)
    pitch = world.stonemask(sound, pitch, times, RATE)
    power = world.cheaptrick(sound, pitch, times, RATE)
    aperiodicity = world.d4c(sound, pitch, times, RATE)
    filters = periodic_filters(power, aperiodicity), noise_filters(power, aperiodicity)
    return Spoken(_syllables(phonemes), pitch > 0, *filters)


def _syllables(phonemes: Sequence[Phoneme]) -> tuple[Syllable, ...]:
    """One syllable per vowel; the last consonant between two vowels begins the later syllable.

    A word without a vowel, such as 'hm', is one syllable whose longest sound is stretched.
    """
    vowels = [i for i, phoneme in enumerate(phonemes) if phoneme.is_vowel]
    if not vowels:
        vowels = [max(range(len(phonemes)), key=lambda i: phonemes[i].end - phonemes[i].start)]
    firsts = [0] + [max(later - 1, earlier + 1) for earlier, later in pairwise(vowels)]
    nexts = [*firsts[1:], len(phonemes)]
    return tuple(
        Syllable(phonemes[first].start, phonemes[vowel].start, phonemes[vowel].end, phonemes[following - 1].end)
        for first, vowel, following in zip(firsts, vowels, nexts, strict=True)
    )


def _world() -> Any:
    try:
        import pyworld
    except ImportError as error:
        raise MissingExtra("sung lyrics", "vocals") from error
    return pyworld


class _Name(ctypes.Union):
    _fields_ = (("number", ctypes.c_int), ("name", ctypes.c_char_p), ("string", ctypes.c_char * 8))


class _Event(ctypes.Structure):
    """espeak_EVENT of espeak-ng's speak_lib.h."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("unique_identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("id", _Name),
    )


_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event))


@lru_cache(maxsize=1)
def _espeak() -> ctypes.CDLL:
    try:
        import espeakng_loader

        library = ctypes.CDLL(espeakng_loader.get_library_path())
        data = espeakng_loader.get_data_path()
    except (ImportError, OSError, RuntimeError) as error:
        raise MissingExtra("sung lyrics", "vocals") from error
    rate = library.espeak_Initialize(_SYNCHRONOUS, 0, data.encode(), _PHONEME_EVENTS | _DO_NOT_EXIT)
    if rate != RATE or library.espeak_SetVoiceByName(VOICE.encode()) != 0:
        raise MissingExtra("sung lyrics", "vocals")
    library.espeak_SetParameter(_WORDS_A_MINUTE, 150, 0)
    library.espeak_SetParameter(_PITCH_RANGE, 0, 0)
    return library


def _speak(word: str) -> tuple[NDArray[np.float64], list[Phoneme]]:
    """Speak a word; return its sound and phonemes."""
    library = _espeak()
    chunks: list[NDArray[np.int16]] = []
    marks: list[tuple[str, int]] = []

    def hear(samples: Any, count: int, events: Any) -> int:
        if samples and count:
            chunks.append(np.ctypeslib.as_array(samples, (count,)).copy())
        index = 0
        while events[index].type != _END:
            if events[index].type == _PHONEME:
                marks.append((events[index].id.string.decode("utf-8", "replace"), events[index].sample))
            index += 1
        return 0

    callback = _Callback(hear)
    library.espeak_SetSynthCallback(callback)
    library.espeak_ng_SetRandSeed(ctypes.c_long(1))
    text = word.encode()
    library.espeak_Synth(text, len(text) + 1, 0, 1, 0, _UTF8, None, None)
    library.espeak_Synchronize()
    spoken = [(name, sample) for name, sample in marks if not name.startswith("_")]
    if not spoken:
        raise InputError(f"{word!r} cannot be sung: espeak-ng has no pronunciation for it")
    silence = next(sample for name, sample in reversed([*marks, ("_", sum(map(len, chunks)))]) if name.startswith("_"))
    bounds = [sample / RATE for _, sample in spoken] + [max(silence, spoken[-1][1] + 1) / RATE]
    phonemes = [Phoneme(name, bounds[i], bounds[i + 1]) for i, (name, _) in enumerate(spoken)]
    return np.concatenate(chunks).astype(np.float64) / 32_768, phonemes
