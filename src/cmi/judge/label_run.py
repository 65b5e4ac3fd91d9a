"""Write pseudo-labels for `cmi train`.

preferences.jsonl    the labels, in the common format
labels.json          win rates in both orders, and how many pairs were kept
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cmi._util.errors import InputError
from cmi._util.files import write_whole
from cmi.audio import Waveform
from cmi.judge.consensus import Answers, davidson, dawid_skene
from cmi.judge.labels import Retention, axes_of, label_preferences, retained
from cmi.judge.load_judge import Spec, open_judge
from cmi.judge.prompt_file import DEFAULT
from cmi.judge.report import label_record
from cmi.judge.run import Judged, askings, judge_pairs, read_run
from cmi.preferences import AXES, NamedPair, Preference, read_pairs, read_preferences, write_preferences
from cmi.take import Audio, Axis, Choice

PREFERENCES, LABELS = "preferences.jsonl", "labels.json"
Method = Literal["dawid-skene", "davidson"]
CLASS_OF: dict[Choice, int] = {"a": 0, "b": 1, "both": 2, "neither": 2}
CHOICE_OF: tuple[Choice, ...] = ("a", "b", "both")

Soft = dict[str, dict[str, float]]


def label(
    pairs: Path | str, judge: str, out: Path | str, retention: Retention = "axis", prompt: str = DEFAULT
) -> list[Preference]:
    """Ask a judge about each pair in both orders, and keep the labels on which both orders agree.

    `judge` is a name as `cmi judge --model` takes it: `scorer:nano`, `omni:music-flamingo`, `module:Class`. Verdicts
    and labels are kept in `out`; the same call resumes. For a judge behind an endpoint use `cmi judge label`.
    """
    asked, folder = read_pairs(pairs), Path(out)
    with open_judge(Spec(judge, prompt=prompt), folder, asked) as opened:
        judged = judge_pairs(askings(asked, both_orders=True), opened, folder, lambda count: None)
    write_labels(asked, judged, folder, retention)
    return list(read_preferences(folder / PREFERENCES))


def write_labels(pairs: Sequence[NamedPair], judged: Judged, folder: Path, retention: Retention) -> int:
    """Write one judge's labels for pairs on which both orders agree; return their number."""
    kept = retained(judged, retention)
    return _write(pairs, kept, judged.judge, folder, {"retention": retention, **label_record(judged)})


def write_consensus(
    pairs: Sequence[NamedPair], judged: Judged, others: Sequence[Path], folder: Path, method: Method
) -> int:
    """Write the consensus labels of several judges' runs, with their probabilities; return their number."""
    runs = [judged, *(read_run(other, pairs) for other in others)]
    if len({run.judge for run in runs}) < len(runs):
        raise InputError("two of the runs are by the same judge, expected different ones")
    soft = consensus(runs, pairs, method)
    kept = {axis: _likeliest(found) for axis, found in soft.items()}
    rater = f"{method} of {'; '.join(run.judge for run in runs)}"
    record = {"method": method, "judges": [label_record(run) for run in runs]}
    return _write(pairs, kept, rater, folder, record, soft)


def _write(
    pairs: Sequence[NamedPair],
    kept: Mapping[Axis, Mapping[str, Choice]],
    rater: str,
    folder: Path,
    record: Mapping[str, Any],
    soft: Mapping[Axis, Soft] | None = None,
) -> int:
    labels = list(label_preferences(pairs, kept, rater, soft))
    write_preferences(labels, folder / PREFERENCES)
    write_whole(folder / LABELS, json.dumps({"labels": len(labels), **record}, indent=1) + "\n")
    return len(labels)


def consensus(runs: Sequence[Judged], pairs: Sequence[NamedPair], method: Method) -> dict[Axis, Soft]:
    """Probabilities of a, b and tie, by axis and pair, for pairs with a verdict."""
    axes = [axis for axis in AXES if any(axis in axes_of(run) for run in runs)]
    if not axes:
        raise InputError("the runs have no verdicts")
    return {axis: _one_axis(runs, pairs, axis, method) for axis in axes}


def _likeliest(soft: Soft) -> dict[str, Choice]:
    order = ("a", "b", "tie")
    return {pair: CHOICE_OF[max(range(3), key=lambda i: chances[order[i]])] for pair, chances in soft.items()}


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
    """Identify a take: the same recording for the same prompt."""
    prompt = pair.pair.prompt
    name = id(sound) if isinstance(sound, Waveform) else Path(sound)
    return prompt.text, prompt.lyrics, prompt.reference, name
