"""How often a scorer is right about a studio set: by split, axis and kind of pair, with intervals and the best null.

    python -m cmi.reward.accuracy MODEL SET

A pair is right if the better take has the higher score on its axis; an equal score counts half. Beside the pairs, as a
listener is asked only with a studio's truth: a take under its own prompt against the same under another pair's.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from cmi.errors import InputError
from cmi.preferences import Labelled, read_preferences
from cmi.report.tables import Table, print_tables
from cmi.reward.load_scorer import load_scorer
from cmi.stats.intervals import wilson
from cmi.studio.balance import null_accuracies
from cmi.studio.recordings import Heard
from cmi.take import Score, Scorer, Take

SPLITS = ("test", "heldout")


class Question(NamedTuple):
    """Two takes of which the first should score higher, and the groups it counts in."""

    better: Take
    worse: Take
    axis: str
    groups: tuple[str, ...]
    id: str


def questions(pairs: Sequence[Labelled]) -> Iterator[Question]:
    for one in pairs:
        preference, truth = one.preference, one.about["truth"]
        takes = [Take(preference.pair.prompt, audio) for audio in (preference.pair.a, preference.pair.b)]
        better, worse = takes if preference.choice == "a" else takes[::-1]
        source = "real" if truth["pieces"][0].startswith("track") else "rendered"
        groups = [f"{truth['kind']}, {source}"]
        if preference.axis == "musicality":
            strength = "weak" if truth["strength"] < 0.5 else "medium" if truth["strength"] < 0.8 else "strong"
            groups.append(f"{truth['kind']}, {strength}")
        yield Question(better, worse, preference.axis, ("all", *groups), one.id)


def prompt_questions(pairs: Sequence[Labelled]) -> Iterator[Question]:
    """Of alignment pairs whose text tells something: the better take, and another pair's prompt that is false of it."""
    told = [one for one in pairs if one.preference.axis == "alignment" and one.about["truth"].get("says")]
    for one, other in zip(told, [*told[1:], *told[:1]], strict=True):
        pair, wrong = one.preference.pair, other.preference.pair.prompt
        if (
            wrong.text == pair.prompt.text
            or wrong.lyrics
            or pair.prompt.lyrics
            or wrong.reference
            or pair.prompt.reference
        ):
            continue
        better = pair.a if one.preference.choice == "a" else pair.b
        yield Question(Take(pair.prompt, better), Take(wrong, better), "alignment", ("own prompt",), one.id)


def ask(asked: Sequence[Question], scorer: Scorer, on_scored: Callable[[int], None]) -> list[float]:
    """1, 0.5 or 0 for each question; every take is scored once."""
    takes = list(dict.fromkeys(take for question in asked for take in (question.better, question.worse)))
    scores: dict[Take, Score] = {}
    for start in range(0, len(takes), 64):
        part = takes[start : start + 64]
        scores |= dict(zip(part, scorer.score(part), strict=True))
        on_scored(len(part))
    rows = [(getattr(scores[q.better], q.axis), getattr(scores[q.worse], q.axis)) for q in asked]
    return [0.5 + ((better > worse) - (better < worse)) / 2 for better, worse in rows]


def table(
    split: str, asked: Iterable[Question], right: Iterable[float], heard: dict[str, tuple[Heard, Heard]]
) -> Table:
    groups: defaultdict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
    for question, value in zip(asked, right, strict=True):
        for group in question.groups:
            groups[question.axis, group].append((value, question.id))
    rows = []
    for (axis, group), values in sorted(groups.items()):
        n, total = len(values), sum(value for value, _ in values)
        low, high = wilson(round(total), n)
        nulls = null_accuracies([heard[name] for _, name in values]) if group != "own prompt" else {"chance": 0.5}
        best = max(nulls, key=lambda name: nulls[name])
        cells = [axis, group, str(n), f"{100 * total / n:.1f}", f"{100 * low:.0f} to {100 * high:.0f}"]
        rows.append([*cells, f"{100 * nulls[best]:.1f} ({best})"])
    return Table(split, ["axis", "pairs", "n", "right (%)", "95 %", "best null"], rows, labels=2)


def read_heard(folder: Path) -> dict[str, tuple[Heard, Heard]]:
    """What nulls know of the better and the worse take of each pair."""
    if not (folder / "made.jsonl").is_file():
        raise InputError(f"{folder}: no made.jsonl, expected a folder of `cmi studio make`")
    lines = (json.loads(line) for line in (folder / "made.jsonl").read_text(encoding="utf-8").splitlines())
    return {
        line["pair"]: (Heard(*line["takes"]["better"]["heard"]), Heard(*line["takes"]["worse"]["heard"]))
        for line in lines
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("set", type=Path, help="a folder of `cmi studio make`")
    parser.add_argument("--splits", nargs="+", default=SPLITS)
    arguments = parser.parse_args()
    pairs = list(read_preferences(arguments.set / "preferences.jsonl"))
    heard = read_heard(arguments.set)
    scorer = load_scorer(arguments.model)
    tables = []
    for split in arguments.splits:
        own = [one for one in pairs if one.about["split"] == split]
        asked = [*questions(own), *prompt_questions(own)]
        tables.append(table(f"{scorer.name}: {split}", asked, ask(asked, scorer, lambda count: None), heard))
    print_tables(tables, Console(width=110))


if __name__ == "__main__":
    from cmi.cli import run_plainly

    run_plainly(main)
