"""Arousal and valence from 1 to 9, out of tags that plainly say so: loud and fast against soft and slow, happy
against sad. Nothing was fitted: no rated music is at hand offline. Only the order of the ratings means anything.
"""

import math
from collections.abc import Sequence

from cmi.bench.ask import Question
from cmi.bench.ask.reference.tags import Lifts, Tagger

AROUSED = ("loud", "fast", "drums", "beat", "rock", "metal", "dance", "party")
CALM = ("slow", "soft", "quiet", "ambient", "new age", "mellow", "chillout", "solo")
GLAD = ("happy", "party", "catchy", "dance", "funk", "pop")
SAD = ("sad", "ambient", "metal", "experimental", "slow", "weird")
MIDDLE, REACH = 5.0, 4.0
SPREAD = 3.0  # the difference in lift that takes a rating three quarters of the way to the end of the scale


class EmotionSkill:
    def __init__(self, tagger: Tagger) -> None:
        self._tagger = tagger

    def answer(self, question: Question) -> str:
        up, down = (GLAD, SAD) if asks_for_valence(question) else (AROUSED, CALM)
        return f"{rating(self._tagger.lifts(question), up, down):.1f}"


def asks_for_valence(question: Question) -> bool:
    """By its words; by its data set if they name both or neither. (The released valence files ask for arousal.)"""
    named = {word for word in ("valence", "arousal") if word in question.text.lower()}
    return named == {"valence"} or (len(named) != 1 and question.dataset == "EMO_valence")


def rating(lifts: Lifts, up: Sequence[str], down: Sequence[str]) -> float:
    difference = sum(lifts[tag] for tag in up) / len(up) - sum(lifts[tag] for tag in down) / len(down)
    return MIDDLE + REACH * math.tanh(difference / SPREAD)
