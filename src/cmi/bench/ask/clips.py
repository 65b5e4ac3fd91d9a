"""The sound that a question is about: its span alone, as the authors' first scripts forgot to cut it."""

import math

from cmi.audio import Waveform
from cmi.bench.ask import Question
from cmi.llm.message import Sound, load_sound


def sound_of(question: Question) -> Sound:
    return Sound(question.audio, question.start, question.end)


def clip(question: Question, rate: int, longest: float = math.inf) -> Waveform:
    """The question's clip at `rate`, mono; of clips longer than `longest` seconds their beginning."""
    return load_sound(sound_of(question), rate, longest).waveform
