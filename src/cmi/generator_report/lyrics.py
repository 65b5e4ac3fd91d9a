"""Lyrics that are heard against lyrics that were asked for: word error rates by a speech recogniser.

The recogniser is moonshine's, small, English, trained on speech: singing over a band is mostly not understood. The
rate is therefore shown beside the rate against another prompt's lyrics; only the difference says something.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from cmi.audio import load
from cmi.take import Take

SECONDS = 120.0
COMMAND = "pip install 'cmi[listen]'"


class HeardLyrics(NamedTuple):
    text: str
    rate: float  # word errors over words asked for
    other_rate: float | None  # against another prompt's lyrics; None if all have the same


def transcribe_takes(takes: Sequence[Take], on_heard: Callable[[], None] = lambda: None) -> dict[Take, HeardLyrics]:
    """What is heard of each take whose prompt has lyrics; MissingExtra if no recogniser is installed."""
    from cmi.bench.ask.reference.lyrics import RATE, LyricsSkill
    from cmi.bench.tasks.lyrics import word_error_rate

    recogniser = LyricsSkill()
    texts = list(dict.fromkeys(take.prompt.lyrics for take in takes))
    found = {}
    for take in takes:
        assert isinstance(take.audio, Path)
        heard = recogniser.transcribe(load(take.audio, RATE, SECONDS))
        other = texts[(texts.index(take.prompt.lyrics) + 1) % len(texts)] if len(texts) > 1 else None
        rates = word_error_rate(take.prompt.lyrics, heard), None if other is None else word_error_rate(other, heard)
        found[take] = HeardLyrics(heard, *rates)
        on_heard()
    return found
