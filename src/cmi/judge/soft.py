"""Soft labels of pairs, by the consensus of several runs over them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from cmi._util.errors import InputError
from cmi.audio import Waveform
from cmi.judge.consensus import Answers, davidson, dawid_skene, hard
from cmi.judge.labels import axes_of
from cmi.judge.run import Judged
from cmi.preferences import AXES, NamedPair
from cmi.take import Audio, Axis, Choice

Method = Literal["dawid-skene", "davidson"]
CLASS_OF: dict[Choice, int] = {"a": 0, "b": 1, "both": 2, "neither": 2}
CHOICE_OF: tuple[Choice, ...] = ("a", "b", "both")

Soft = dict[str, dict[str, float]]


def consensus(runs: Sequence[Judged], pairs: Sequence[NamedPair], method: Method) -> dict[Axis, Soft]:
    """The chances of a, b and tie for each pair that any run speaks of, by axis."""
    axes = [axis for axis in AXES if any(axis in axes_of(run) for run in runs)]
    if not axes:
        raise InputError("no verdict in the runs, so there is nothing to agree on")
    return {axis: _one_axis(runs, pairs, axis, method) for axis in axes}


def hard_labels(soft: Soft) -> dict[str, Choice]:
    """The likeliest choice for each pair; ties are 'both'."""
    return {pair: CHOICE_OF[hard([chances[name] for name in ("a", "b", "tie")])] for pair, chances in soft.items()}


def _one_axis(runs: Sequence[Judged], pairs: Sequence[NamedPair], axis: Axis, method: Method) -> Soft:
    place = {pair.id: number for number, pair in enumerate(pairs)}
    rows = [
        (place[asking.pair], judge, int(asking.order == "reverse"), CLASS_OF[verdict.opinions[axis].choice])
        for judge, run in enumerate(runs)
        for asking, verdict in run.verdicts.items()
        if axis in verdict.opinions and asking.pair in place
    ]
    if not rows:
        return {}
    answers = Answers(*np.array(rows).T)
    if method == "dawid-skene":
        chances = dawid_skene(answers, len(pairs))
    else:
        takes: dict[object, int] = {}
        numbers = [
            [takes.setdefault(_take(pair, sound), len(takes)) for sound in (pair.pair.a, pair.pair.b)] for pair in pairs
        ]
        chances = davidson(answers, np.array(numbers))
    spoken = set(answers.item.tolist())
    return {
        pair.id: dict(zip(("a", "b", "tie"), (round(float(chance), 4) for chance in chances[number]), strict=True))
        for number, pair in enumerate(pairs)
        if number in spoken
    }


def _take(pair: NamedPair, sound: Audio) -> object:
    """A recording in answer to a prompt: the same take in another pair is the same object."""
    prompt = pair.pair.prompt
    name = id(sound) if isinstance(sound, Waveform) else Path(sound)
    return prompt.text, prompt.lyrics, prompt.reference, name
