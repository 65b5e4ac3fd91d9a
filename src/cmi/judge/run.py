"""Ask a judge about pairs, in one order or both, once or repeatedly; each verdict is stored as it comes.

The folder of a run
    settings.json     the judge; another judge needs another folder
    verdicts.jsonl    one verdict per question, in terms of the pair's own a and b
    hearing.json      how much of a clip a language model hears (`cmi.llm.hearing`)
    chat/             requests and answers of a chat model (`cmi.llm`)

Runs over shards of the pairs are in OUT.shards beside it; their verdicts are used and not asked for again. Unparsed
answers are stored like any other; failed questions are not, so the same command asks them again.
"""

import hashlib
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from cmi._util.errors import InputError
from cmi._util.files import SETTINGS, claim
from cmi._util.runlog import RunLog, read_records
from cmi.judge.judges import KeyedVerdict, LanguageModelJudge, NamedJudge, recordings_of
from cmi.judge.verdict import Opinion, Verdict, verdict_from_json
from cmi.llm.hearing import HEARING, ProbedHearing, read_hearing
from cmi.preferences import AXES, NamedPair
from cmi.take import Axis, Pair, Take

VERDICTS, SHARDS = "verdicts.jsonl", ".shards"

Order = Literal["forward", "reverse"]
ORDERS: tuple[Order, ...] = ("forward", "reverse")


class Asking(NamedTuple):
    """One question to a judge: a pair, the order of its takes, and the number of the repeat, from 1."""

    pair: str
    order: Order = "forward"
    repeat: int = 1

    @property
    def key(self) -> str:
        return f"{self.pair}|{self.order}|{self.repeat}"


@dataclass
class Judged:
    """Verdicts in terms of each pair's own a and b, and why others are missing."""

    judge: str
    verdicts: dict[Asking, Verdict] = field(default_factory=dict)
    failures: dict[Asking, str] = field(default_factory=dict)
    hearing: ProbedHearing | None = None  # how much of a clip the judge hears, if that was asked

    @property
    def axes(self) -> list[Axis]:
        """The axes on which there are opinions."""
        found = {axis for verdict in self.verdicts.values() for axis in verdict.opinions}
        return [axis for axis in AXES if axis in found]

    def opinion(self, pair: str, order: Order, axis: Axis) -> Opinion | None:
        verdict = self.verdicts.get(Asking(pair, order))
        return verdict.opinions.get(axis) if verdict else None

    def both_opinions(self, pair: str, axis: Axis) -> tuple[Opinion, Opinion] | None:
        """The opinions in forward and in reverse order; None if one is missing."""
        forward, reverse = (self.opinion(pair, order, axis) for order in ORDERS)
        return (forward, reverse) if forward and reverse else None

    @property
    def cut(self) -> int:
        """The number of verdicts about recordings that were not sent whole."""
        return sum(bool(verdict.cut) for verdict in self.verdicts.values())

    @property
    def cut_notes(self) -> list[str]:
        """How many verdicts are about recordings that were not sent whole, and how much of one the judge hears."""
        count = f"{self.cut:,} of {len(self.verdicts):,} verdicts"
        notes = [f"{count} used only the beginning of a recording; {VERDICTS} has the length that was sent"]
        return [*(notes if self.cut else []), *([f"hearing: {self.hearing.note}"] if self.hearing else [])]


def askings(pairs: Sequence[NamedPair], both_orders: bool, repeats: int = 1) -> list[tuple[Asking, NamedPair]]:
    """All questions about the pairs; both orders of a pair follow each other."""
    orders = ORDERS if both_orders else ORDERS[:1]
    return [
        (Asking(pair.id, order, repeat), pair) for pair in pairs for repeat in range(1, repeats + 1) for order in orders
    ]


def ordered_pair(pair: Pair, order: Order) -> Pair:
    return pair if order == "forward" else Pair(pair.prompt, pair.b, pair.a)


def judge_pairs(
    asked: Sequence[tuple[Asking, NamedPair]],
    judge: NamedJudge,
    folder: Path,
    on_done: Callable[[int], None] = lambda count: None,
) -> Judged:
    """Return a verdict for each question: stored in the folder or its shards, else asked from the judge."""
    return _ask(
        {asking: ordered_pair(pair.pair, asking.order) for asking, pair in asked},
        {asking: _content(pair.pair) for asking, pair in asked},
        judge,
        *(judge.verdicts, folder, on_done),
    )


def rate_takes(
    takes: Mapping[str, Take],
    rater: LanguageModelJudge,
    folder: Path,
    on_done: Callable[[int], None] = lambda count: None,
) -> Judged:
    """Return a verdict with marks for each take: stored in the folder, else asked from the rater."""
    asked = {Asking(name): take for name, take in takes.items()}
    contents = {asking: _content(take) for asking, take in asked.items()}
    return _ask(asked, contents, rater, rater.verdicts, folder, on_done)


Subject = TypeVar("Subject", Pair, Take)


def _ask(
    asked: Mapping[Asking, Subject],
    contents: Mapping[Asking, str],
    judge: NamedJudge,
    ask: Callable[[Sequence[tuple[str, Subject]]], Generator[KeyedVerdict, None, None]],
    folder: Path,
    on_done: Callable[[int], None],
) -> Judged:
    claim_run(folder, judge.name)
    judged = Judged(judge.name)
    askings_by_key = {asking.key: asking for asking in asked}
    with RunLog(folder / VERDICTS) as log:
        for key, content, verdict in _kept(folder):
            if key in askings_by_key:
                asking = askings_by_key[key]
                if content != contents[asking]:
                    raise InputError(
                        f"{folder}: pair {asking.pair!r} had another prompt or other files; choose another folder"
                    )
                judged.verdicts[asking] = verdict
        on_done(len(judged.verdicts))
        questions = [(asking.key, one) for asking, one in asked.items() if asking not in judged.verdicts]
        if isinstance(judge, LanguageModelJudge):
            of_shards = folder.parent if folder.parent.name.endswith(SHARDS) else folder  # they share what is found
            judged.hearing = judge.find_hearing(of_shards, questions) or _read_hearing(folder)
        with closing(ask(questions)) as verdicts:
            for key, told in verdicts:
                asking = askings_by_key[key]
                if isinstance(told, InputError):
                    judged.failures[asking] = str(told)
                else:
                    verdict = told if asking.order == "forward" else told.swapped
                    log.append({"id": key, "content": contents[asking], **verdict.to_json()})
                    judged.verdicts[asking] = verdict
                on_done(1)
        if not judged.failures:
            log.finish()
    return judged


def claim_run(folder: Path, judge: str) -> None:
    """Claim the folder for a judge; InputError if it is used for another."""
    claim(folder, {"judge": judge}, "cmi judge")


def shard_of(pairs: Sequence[NamedPair], shard: str) -> list[NamedPair]:
    """The pairs of shard 'i/n', i from 1 to n: every n-th one."""
    index, _, count = shard.partition("/")
    if not index.isdecimal() or not count.isdecimal() or not 1 <= int(index) <= int(count):
        raise InputError(f"shard {shard!r}, expected i/n with i from 1 to n, such as 2/8")
    return list(pairs[int(index) - 1 :: int(count)])


def shard_folder(folder: Path, shard: str) -> Path:
    return _shards(folder) / shard.replace("/", "-of-")


def read_run(folder: Path, pairs: Sequence[NamedPair]) -> Judged:
    """Read the verdicts of an earlier run about the pairs."""
    by_key = {asking.key: asking for asking, _ in askings(pairs, both_orders=True)}
    try:
        name = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))["judge"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder}: not the folder of a `cmi judge` run") from error
    verdicts = {by_key[key]: verdict for key, _, verdict in _kept(folder) if key in by_key}
    return Judged(name, verdicts, hearing=_read_hearing(folder))


def _read_hearing(folder: Path) -> ProbedHearing | None:
    return read_hearing(folder / HEARING) or read_hearing(_shards(folder) / HEARING)


def _kept(folder: Path) -> Iterator[tuple[str, str, Verdict]]:
    """Yield key, content and verdict from the folder and its shards, each key once."""
    seen: set[str] = set()
    for place in (folder, *sorted(_shards(folder).glob("*/"))):
        for record in read_records(place / VERDICTS, missing_ok=True):
            if record["id"] not in seen:
                seen.add(record["id"])
                yield record["id"], record["content"], verdict_from_json(record)


def _shards(folder: Path) -> Path:
    return folder.with_name(folder.name + SHARDS)


def _content(asked: Pair | Take) -> str:
    """Hash the prompt and the names of the files."""
    names = [audio.name if isinstance(audio, Path) else "" for audio in recordings_of(asked)]
    parts = [asked.prompt.text, asked.prompt.lyrics, *names]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
