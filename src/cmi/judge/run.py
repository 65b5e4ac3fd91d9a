"""Ask a judge about pairs: in one order or both, once or several times, each verdict on disk as it comes.

The folder of a run
    settings.json     who judges; another judge needs another folder
    verdicts.jsonl    a verdict for each asking, by the pair's own letters whatever the order was
    chat/             of a chat model: each request and answer (`cmi.llm`)

Runs over parts of the pairs are in a folder beside it, OUT.shards; what they hold is not asked again.

A verdict that can't be read off the answer is kept like any other. What failed is not: the same command asks again.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from cmi._util.errors import InputError
from cmi._util.files import SETTINGS, claim
from cmi._util.runlog import RunLog, read_records
from cmi.judge.judges import NamedJudge
from cmi.judge.verdict import Verdict, verdict_from_json
from cmi.preferences import NamedPair
from cmi.take import Audio, Pair

VERDICTS, SHARDS = "verdicts.jsonl", ".shards"

Order = Literal["forward", "reverse"]


class Asking(NamedTuple):
    """One question to a judge: a pair, the order in which its takes are heard, and which repeat it is, from 1."""

    pair: str
    order: Order = "forward"
    repeat: int = 1

    @property
    def key(self) -> str:
        return f"{self.pair}|{self.order}|{self.repeat}"


@dataclass
class Judged:
    """Verdicts by the pair's own letters, and why others are missing."""

    judge: str
    verdicts: dict[Asking, Verdict] = field(default_factory=dict)
    failures: dict[Asking, str] = field(default_factory=dict)

    @property
    def cut_note(self) -> str:
        """How many verdicts are about recordings that the judge did not get whole, in words; '' if none is."""
        cut = sum(bool(verdict.cut) for verdict in self.verdicts.values())
        if not cut:
            return ""
        count = f"{cut:,} of {len(self.verdicts):,} verdicts"
        return f"{count} are about the beginning of a recording only; {VERDICTS} says how much the judge got"


def askings(pairs: Sequence[NamedPair], both_orders: bool, repeats: int = 1) -> list[tuple[Asking, NamedPair]]:
    """All questions about the pairs; the orders of a pair are neighbours."""
    orders: tuple[Order, ...] = ("forward", "reverse") if both_orders else ("forward",)
    return [
        (Asking(pair.id, order, repeat), pair) for pair in pairs for repeat in range(1, repeats + 1) for order in orders
    ]


def as_heard(pair: Pair, order: Order) -> Pair:
    return pair if order == "forward" else Pair(pair.prompt, pair.b, pair.a)


def judge_pairs(
    asked: Sequence[tuple[Asking, NamedPair]],
    judge: NamedJudge,
    folder: Path,
    on_done: Callable[[int], None] = lambda count: None,
) -> Judged:
    """A verdict for each asking: those that the folder or its shards hold, and the others from the judge."""
    claim_run(folder, judge.name)
    judged = Judged(judge.name)
    wanted = {asking.key: (asking, pair) for asking, pair in asked}
    with RunLog(folder / VERDICTS) as log:
        for key, content, verdict in _kept(folder):
            if key in wanted:
                asking, pair = wanted[key]
                if content != _content(pair.pair):
                    raise InputError(f"{folder}: pair {pair.id!r} was judged with other words or files; choose another")
                judged.verdicts[asking] = verdict
        on_done(len(judged.verdicts))
        todo = [(asking, pair) for asking, pair in wanted.values() if asking not in judged.verdicts]
        questions = [(asking.key, as_heard(pair.pair, asking.order)) for asking, pair in todo]
        with closing(judge.verdicts(questions)) as verdicts:
            for key, told in verdicts:
                asking, pair = wanted[key]
                if isinstance(told, InputError):
                    judged.failures[asking] = str(told)
                else:
                    verdict = told if asking.order == "forward" else told.swapped
                    log.append({"id": key, "content": _content(pair.pair), **verdict.to_json()})
                    judged.verdicts[asking] = verdict
                on_done(1)
        if not judged.failures:
            log.finish()
    return judged


def claim_run(folder: Path, judge: str) -> None:
    """The folder is for that judge's verdicts; InputError if it is something else's."""
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
    """What a run holds about the pairs, asked nothing more."""
    by_key = {asking.key: asking for asking, _ in askings(pairs, both_orders=True)}
    try:
        name = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))["judge"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder}: not the folder of a `cmi judge` run") from error
    return Judged(name, {by_key[key]: verdict for key, _, verdict in _kept(folder) if key in by_key})


def _kept(folder: Path) -> Iterator[tuple[str, str, Verdict]]:
    """Key, content and verdict of all that the folder and its shards hold; what two hold comes once."""
    seen: set[str] = set()
    for place in (folder, *sorted(_shards(folder).glob("*/"))):
        if (place / VERDICTS).exists() or (place / f"{VERDICTS}.partial").exists():
            for record in read_records(place / VERDICTS):
                if record["id"] not in seen:
                    seen.add(record["id"])
                    yield record["id"], record["content"], verdict_from_json(record)


def _shards(folder: Path) -> Path:
    return folder.with_name(folder.name + SHARDS)


def _content(pair: Pair) -> str:
    """A pair's words and the names of its files, in sixteen digits."""
    parts = [pair.prompt.text, pair.prompt.lyrics, *map(_name, (pair.prompt.reference, pair.a, pair.b))]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _name(audio: Audio | None) -> str:
    return audio.name if isinstance(audio, Path) else ""
