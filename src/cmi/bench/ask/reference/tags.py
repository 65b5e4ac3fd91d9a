"""Tags, captions, emotions and instruments: musicnn's two networks (Pons and Serra), 100 tags with their log-odds.

Lift        A tag's log-odds minus the log-odds of its share in the training data, because `rock` is likely everywhere.
            Shares fall with a tag's rank; the two curves below are within a factor of 1.5 of the published counts.
Labels      A label's evidence is the largest lift among the tags of its own name and of those in `standing_for.toml`,
            which count a little less. A label without tags is never answered; the documentation lists these.
Captions    A template of tags: genre, pace, instruments, voice, mood.
Emotion     Arousal and valence from 1 to 9 from tags: loud and fast against soft and slow, happy against sad. Nothing
            was fitted; only the order of the ratings is meaningful.
Family      The instrument of a single note, from its decay, its stacked octaves and tags. musicnn has tags for few
            families: brass, reeds and mallets are recognised by little more than their envelope.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files

import numpy as np
import torch
from numpy.typing import NDArray

from cmi._util.config import read_config
from cmi.bench.ask import Question
from cmi.bench.ask.ask import clip
from cmi.bench.ask.reference.pitch import LOWEST, NOTE_RATE, OCTAVE, STACKED, NoteNetwork, load_if_installed
from cmi.bench.catalog import DATASETS
from cmi.bench.metrics.text import mentions, squash
from cmi.reward.model.encoders.musicnn import MSD_TAGS, MTT_TAGS, RATE, SHORTEST, load_musicnn, mel

LONGEST = 60.0  # seconds
Lifts = Mapping[str, float]  # by tag, in lower case; of a tag that both networks know, the mean
MOST, LEAST = 8, 3  # labels in an answer where any number may be given
STAND_IN = 0.5  # subtracted from the lift of a tag that has another name than the label
CLEAR = 0.7  # the least lift of a label in an answer: twice as likely as usual

STANDING_FOR = read_config(files(__package__).joinpath("standing_for.toml"), dict[str, tuple[str, ...]])
GENRES = (
    "rock", "pop", "electronic", "jazz", "metal", "folk", "blues", "country", "classical", "techno", "ambient", "funk",
    "soul", "hip-hop", "house", "dance", "new age", "indian", "punk", "experimental",
)  # fmt: skip
INSTRUMENTS = {
    "guitar": "guitar", "piano": "piano", "drums": "drums", "strings": "strings", "violin": "violin", "synth": "synths",
    "flute": "flute", "harp": "harp", "cello": "cello", "sitar": "sitar", "harpsichord": "harpsichord", "beat": "beats",
}  # fmt: skip
MOODS = {
    "happy": "happy", "sad": "sad", "mellow": "mellow", "beautiful": "beautiful", "party": "lively", "loud": "loud",
    "soft": "soft", "quiet": "quiet", "chill": "relaxing", "sexy": "sensual", "catchy": "catchy", "weird": "strange",
}  # fmt: skip
SUNG = ("vocal", "singing", "voice", "vocals")
UNSUNG = ("no vocals", "no vocal", "no voice", "instrumental")
AROUSED = ("loud", "fast", "drums", "beat", "rock", "metal", "dance", "party")
CALM = ("slow", "soft", "quiet", "ambient", "new age", "mellow", "chillout", "solo")
GLAD = ("happy", "party", "catchy", "dance", "funk", "pop")
SAD = ("sad", "ambient", "metal", "experimental", "slow", "weird")
MIDDLE, REACH = 5.0, 4.0
SPREAD = 3.0  # the difference in lift that takes a rating three quarters of the way to the end of the scale
LONGEST_NOTE = 4.0  # seconds
HELD = 0.35  # of its loudest level after a second: below it was struck or plucked
LOW = 48  # MIDI pitch below which a plucked string is most likely a bass
MOST_LISTED = 6  # families in a prompt from which on its list is taken as the choice

STRUCK = {"guitar": ("guitar", "sitar"), "keyboard": ("piano", "harpsichord"), "mallet": ("harp",)}
HELD_TAGS = {
    "flute": ("flute",),
    "string": ("violin", "cello", "strings"),
    "vocal": ("voice", "vocal", "choir", "singing"),
    "synth_lead": ("synth", "techno", "electronic"),
    "reed": ("jazz",),
    "brass": ("soul", "funk"),
}


def _prior(place: int, first: float, half: float) -> float:
    """Return the log-odds of the tag at `place`, whose share is `first` at 0 and half of it at `half`."""
    share = first / (1 + place / half)
    return math.log(share / (1 - share))


class MusicnnTagger:
    def __init__(self) -> None:
        self._networks = [  # each with its tags and the last two arguments of `_prior`
            (load_musicnn("MTT_musicnn"), MTT_TAGS, 0.19, 6.0),
            (load_musicnn("MSD_musicnn"), MSD_TAGS, 0.42, 3.0),
        ]

    def lifts(self, question: Question) -> Lifts:
        samples = torch.from_numpy(clip(question, RATE, LONGEST).samples)
        samples = torch.nn.functional.pad(samples, (0, max(0, SHORTEST - len(samples))))
        heard = mel(samples[None])
        found: dict[str, list[float]] = {}
        for network, tags, first, half in self._networks:
            odds = network.odds(network.frames(heard))[0].tolist()
            for place, (tag, value) in enumerate(zip(tags, odds, strict=True)):
                found.setdefault(tag.lower(), []).append(value - _prior(place, first, half))
        return {tag: float(np.mean(values)) for tag, values in found.items()}


class TagSkill:
    """A skill that answers from tags."""

    def __init__(self, tagger: MusicnnTagger) -> None:
        self._tagger = tagger


class LabelSkill(TagSkill):
    """Answers one label, or several for multi-label data sets."""

    def answer(self, question: Question) -> str:
        dataset = DATASETS[question.dataset]
        ranked = rank(self._tagger.lifts(question), dataset.classes)
        if not dataset.is_multi_label:
            return ranked[0][0]
        clear = sum(lift >= CLEAR for _, lift in ranked)
        return ", ".join(label for label, _ in ranked[: max(LEAST, min(MOST, clear))])


def rank(lifts: Lifts, labels: Iterable[str]) -> list[tuple[str, float]]:
    """Return the labels that have tags, with their evidence, the strongest first."""
    by_form = {squash(tag): lift for tag, lift in lifts.items()}
    found = {label: evidence(by_form, label) for label in labels}
    heard = [(label, lift) for label, lift in found.items() if lift is not None]
    return sorted(heard, key=lambda item: -item[1])


def evidence(by_form: Mapping[str, float], label: str) -> float | None:
    """Return a label's evidence; None if it has no tags."""
    own = [by_form[form] for form in (squash(label),) if form in by_form]
    others = [by_form[form] - STAND_IN for form in map(squash, STANDING_FOR.get(label, ())) if form in by_form]
    return max(own + others, default=None)


class CaptionSkill(TagSkill):
    def answer(self, question: Question) -> str:
        return caption(self._tagger.lifts(question))


def caption(lifts: Lifts) -> str:
    genre = _top(lifts, GENRES, 1)[0]
    pace = "slow" if lifts["slow"] > lifts["fast"] else "fast"
    played = " and ".join(INSTRUMENTS[tag] for tag in _top(lifts, INSTRUMENTS, 2))
    moods = " and ".join(MOODS[tag] for tag in _top(lifts, MOODS, 2))
    return f"A {pace} {genre} song with {played}{_voice(lifts)}. The mood is {moods}."


def _voice(lifts: Lifts) -> str:
    if sum(lifts[tag] for tag in UNSUNG) >= sum(lifts[tag] for tag in SUNG):
        return ", without vocals"
    return ", sung by a female voice" if lifts["female"] > lifts["male"] else ", sung by a male voice"


def _top(lifts: Lifts, tags: Iterable[str], count: int) -> list[str]:
    return sorted(tags, key=lambda tag: -lifts[tag])[:count]


class EmotionSkill(TagSkill):
    def answer(self, question: Question) -> str:
        up, down = (GLAD, SAD) if asks_for_valence(question) else (AROUSED, CALM)
        return f"{rating(self._tagger.lifts(question), up, down):.1f}"


def asks_for_valence(question: Question) -> bool:
    """Decide by the question's words, or by the data set if they name both or neither.

    (The released valence files ask for arousal.)
    """
    named = {word for word in ("valence", "arousal") if word in question.text.lower()}
    return named == {"valence"} or (len(named) != 1 and question.dataset == "EMO_valence")


def rating(lifts: Lifts, up: Sequence[str], down: Sequence[str]) -> float:
    difference = sum(lifts[tag] for tag in up) / len(up) - sum(lifts[tag] for tag in down) / len(down)
    return MIDDLE + REACH * math.tanh(difference / SPREAD)


class InstrumentSkill(LabelSkill):
    """The family of a single note if one is asked for, tags otherwise."""

    def __init__(self, tagger: MusicnnTagger) -> None:
        super().__init__(tagger)
        self._notes = load_if_installed(NoteNetwork)

    def answer(self, question: Question) -> str:
        dataset = DATASETS[question.dataset]
        if dataset.is_multi_label:
            return super().answer(question)
        waveform = clip(question, NOTE_RATE, LONGEST_NOTE)
        strength = None if self._notes is None else self._notes.activations(waveform).mean(axis=0)
        held = held_level(waveform.samples, waveform.rate)
        listed = mentions(question.text, dataset.classes)
        choice = listed if len(listed) >= MOST_LISTED else set(dataset.classes) - {"synth_lead"}
        return family(self._tagger.lifts(question), held, strength, choice)


def held_level(samples: NDArray[np.float32], rate: int) -> float:
    """Return the level one second after the loudest moment, as a share of it."""
    block = rate // 10
    blocks = samples[: len(samples) // block * block].reshape(-1, block)
    levels = np.sqrt((blocks.astype(np.float64) ** 2).mean(axis=1)) if len(blocks) else np.zeros(1)
    peak = int(levels.argmax())
    later = levels[peak + 10 : peak + 15]
    return float(later.mean() / max(levels[peak], 1e-9)) if len(later) else 1.0


def family(lifts: Lifts, held: float, strength: NDArray[np.float32] | None, choice: set[str]) -> str:
    """Return the likeliest of `choice`; `strength` are the activations of 88 notes, if known."""
    note = None if strength is None else int(strength.argmax())
    if held < HELD:
        if note is not None and LOWEST + note < LOW and "bass" in choice:
            return "bass"
        return _strongest(lifts, STRUCK, choice)
    if strength is not None and note is not None and "organ" in choice:
        stack = strength[note : note + OCTAVE + 1 : OCTAVE]
        if len(stack) == 2 and stack[1] > STACKED / 2:
            return "organ"
    return _strongest(lifts, HELD_TAGS, choice)


def _strongest(lifts: Lifts, tags: dict[str, tuple[str, ...]], choice: set[str]) -> str:
    known = {name: max(lifts[tag] for tag in stands) for name, stands in tags.items() if name in choice}
    return max(known, key=lambda name: known[name]) if known else sorted(choice)[0]
