"""Emotion tagging: name the moods and themes of a track. Data set: MTG-Jamendo (MTG_emotion).

Metrics and protocols are those of `cmi.bench.tasks._tags`.
"""

from collections.abc import Iterable

from cmi.bench.evaluation import Evaluation, Item, Setting
from cmi.bench.tasks import _tags
from cmi.bench.tasks._tags import nulls

__all__ = ["TAGS", "evaluate", "nulls"]

TAGS = tuple(
    "action adventure advertising background ballad calm children christmas commercial cool corporate dark deep"
    " documentary drama dramatic dream emotional energetic epic fast film fun funny game groovy happy heavy holiday"
    " hopeful inspiring love meditative melancholic melodic motivational movie nature party positive powerful"
    " relaxing retro romantic sad sexy slow soft soundscape space sport summer trailer travel upbeat uplifting".split()
)


def evaluate(items: Iterable[Item], setting: Setting) -> Evaluation:
    return _tags.evaluate(items, setting, TAGS)
