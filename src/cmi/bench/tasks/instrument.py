"""Instrument classification: the family of one note (NSynth, Nsynth_instrument), or any number of instrument tags
(MTG-Jamendo, MTG_instrument).

Metrics and protocols are those of `cmi.bench.tasks._labels` for NSynth and of `cmi.bench.tasks._tags` for MTG-Jamendo.

The published NSynth prompt lists instruments (piano, violin, trumpet, ...) of which only bass, guitar and flute are
labels: a model that obeys it can reach 40.9 at most.
"""

from collections.abc import Iterable

from cmi.bench.evaluation import Evaluation, Item, Setting
from cmi.bench.scoring.nulls import Null
from cmi.bench.tasks import _labels, _tags

NSYNTH = (
    "bass", "brass", "flute", "guitar", "keyboard", "mallet", "organ", "reed", "string", "synth_lead", "vocal",
)  # fmt: skip

MTG_INSTRUMENT = tuple(
    "accordion acousticbassguitar acousticguitar bass beat bell bongo brass cello clarinet classicalguitar computer"
    " doublebass drummachine drums electricguitar electricpiano flute guitar harmonica harp horn keyboard oboe"
    " orchestra organ pad percussion piano pipeorgan rhodes sampler saxophone strings synthesizer trombone trumpet"
    " viola violin voice".split()
)


def evaluate(items: Iterable[Item], setting: Setting) -> Evaluation:
    if setting.dataset == "Nsynth_instrument":
        return _labels.evaluate(items, setting, NSYNTH)
    return _tags.evaluate(items, setting, MTG_INSTRUMENT)


def nulls(items: Iterable[Item]) -> list[Null]:
    return _labels.nulls(items)
