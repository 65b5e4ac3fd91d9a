"""Load the span of audio that a question is about."""

import math

from cmi.audio import Waveform
from cmi.bench.ask import Question
from cmi.llm.message import Sound, load_sound


def sound_of(question: Question) -> Sound:
    return Sound(question.audio, question.start, question.end)


def clip(question: Question, rate: int, longest: float = math.inf) -> Waveform:
    """Load the question's clip at `rate` in mono, at most its first `longest` seconds."""
    return load_sound(sound_of(question), rate, longest).waveform
