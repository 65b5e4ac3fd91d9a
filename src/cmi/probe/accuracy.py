"""The accuracy of a scorer on a studio set: by split, axis and kind of pair, with intervals and the best null.

    cmi probe MODEL --set SET

A pair is right if the better take has the higher score on its axis; equal scores count half. Besides the pairs, takes
are compared with themselves under a wrong prompt: that of another pair.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from cmi._util.errors import InputError
from cmi._util.runlog import read_records
from cmi.preferences import Preference, read_preferences
from cmi.report.numbers import interval, percent
from cmi.report.tables import Table
from cmi.reward.model.validation import validation_notes
from cmi.reward.scoring.score_log import score_takes
from cmi.reward.scoring.scorers import NamedScorer, require_scores
from cmi.stats.intervals import Interval, wilson
from cmi.studio.make import measured_pair, null_accuracies
from cmi.studio.recordings import MeasuredTake
from cmi.take import Score, Take

SPLITS = ("test", "heldout")
ALL, OWN_PROMPT = "all", "own prompt"  # groups of questions


class OrderedTakes(NamedTuple):
    """Two takes of which the first should score higher, and the groups in which the question counts."""

    better: Take
    worse: Take
    axis: str
    groups: tuple[str, ...]
    id: str


def questions(pairs: Sequence[Preference]) -> Iterator[OrderedTakes]:
    for one in pairs:
        truth = one.about["truth"]
        takes = one.pair.takes
        better, worse = takes if one.choice == "a" else takes[::-1]
        source = "real" if truth["pieces"][0].startswith("track") else "rendered"
        groups = [f"{truth['kind']}, {source}"]
        if one.axis == "musicality":
            strength = "weak" if truth["strength"] < 0.5 else "medium" if truth["strength"] < 0.8 else "strong"
            groups.append(f"{truth['kind']}, {strength}")
        yield OrderedTakes(better, worse, one.axis, (ALL, *groups), one.id)


def prompt_questions(pairs: Sequence[Preference]) -> Iterator[OrderedTakes]:
    """Yield the better take of each alignment pair with a caption, under its own prompt and under another pair's."""
    told = [one for one in pairs if one.axis == "alignment" and one.about["truth"].get("says")]
    for one, other in zip(told, [*told[1:], *told[:1]], strict=True):
        pair, wrong = one.pair, other.pair.prompt
        if (
            wrong.text == pair.prompt.text
            or wrong.lyrics
            or pair.prompt.lyrics
            or wrong.reference
            or pair.prompt.reference
        ):
            continue
        better = pair.a if one.choice == "a" else pair.b
        yield OrderedTakes(Take(pair.prompt, better), Take(wrong, better), "alignment", (OWN_PROMPT,), one.id)


def asked_takes(asked: Iterable[OrderedTakes]) -> list[Take]:
    """Return the distinct takes of the questions."""
    return list(dict.fromkeys(take for question in asked for take in (question.better, question.worse)))


def answers(asked: Iterable[OrderedTakes], scores: Mapping[Take, Score]) -> list[float]:
    """Return 1 (right), 0.5 (equal scores) or 0 (wrong) for each question."""
    rows = [(getattr(scores[q.better], q.axis), getattr(scores[q.worse], q.axis)) for q in asked]
    return [0.5 + ((better > worse) - (better < worse)) / 2 for better, worse in rows]


def ask(asked: Sequence[OrderedTakes], scorer: NamedScorer) -> list[float]:
    """Score the takes and return `answers`; raise InputError for the first take that cannot be scored."""
    takes = asked_takes(asked)
    return answers(asked, dict(zip(takes, require_scores(score_takes(takes, scorer)), strict=True)))


class Proportion(NamedTuple):
    """How often something is right, with Wilson's interval; an answer that counts half is rounded for the latter."""

    value: float
    interval: Interval


@dataclass(frozen=True)
class Accuracy:
    """The accuracy of a scorer and of each null on a group of questions."""

    axis: str
    group: str
    n: int
    scorer: Proportion
    nulls: dict[str, Proportion]

    @property
    def best_null(self) -> str:
        return max(self.nulls, key=lambda name: self.nulls[name].value)


def accuracies(
    asked: Iterable[OrderedTakes], right: Iterable[float], heard: Mapping[str, tuple[MeasuredTake, MeasuredTake]]
) -> list[Accuracy]:
    """Return the accuracies by axis and group, sorted by name."""
    groups: defaultdict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
    for question, value in zip(asked, right, strict=True):
        for group in question.groups:
            groups[question.axis, group].append((value, question.id))
    return [_accuracy(axis, group, values, heard) for (axis, group), values in sorted(groups.items())]


def _accuracy(
    axis: str, group: str, values: Sequence[tuple[float, str]], heard: Mapping[str, tuple[MeasuredTake, MeasuredTake]]
) -> Accuracy:
    n = len(values)
    nulls = null_accuracies([heard[name] for _, name in values]) if group != OWN_PROMPT else {"chance": 0.5}
    shares = {name: _share(null, n) for name, null in nulls.items()}
    return Accuracy(axis, group, n, _share(sum(value for value, _ in values) / n, n), shares)


def _share(value: float, n: int) -> Proportion:
    return Proportion(value, wilson(round(value * n), n))


def table(title: str, found: Iterable[Accuracy]) -> Table:
    rows = [
        [
            *(one.axis, one.group, str(one.n), percent(one.scorer.value), interval(one.scorer.interval, 0, 100)),
            f"{percent(one.nulls[one.best_null].value)} ({one.best_null})",
        ]
        for one in found
    ]
    return Table(title, ["axis", "pairs", "n", "right (%)", "95 %", "best null"], rows, labels=2)


def read_measurements(folder: Path) -> dict[str, tuple[MeasuredTake, MeasuredTake]]:
    """Return the measurements that nulls use, of the better and the worse take of each pair."""
    if not (folder / "made.jsonl").is_file():
        raise InputError(f"{folder}: no made.jsonl, expected a folder of `cmi studio make`")
    return {made["pair"]: measured_pair(made) for made in read_records(folder / "made.jsonl")}


def measure_accuracy(scorer: NamedScorer, folder: Path, splits: Sequence[str] = SPLITS) -> list[Table]:
    """Return one table for each split of a set from `cmi studio make`."""
    pairs = list(read_preferences(folder / "preferences.jsonl"))
    heard = read_measurements(folder)
    tables = []
    for split in splits:
        own = [one for one in pairs if one.about["split"] == split]
        asked = [*questions(own), *prompt_questions(own)]
        tables.append(table(f"{scorer.name}: {split}", accuracies(asked, ask(asked, scorer), heard)))
    return [*tables[:-1], *(replace(last, notes=validation_notes(scorer.name)) for last in tables[-1:])]
