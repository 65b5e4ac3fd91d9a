"""The folder of a run, which can be read without the audio.

    items.jsonl                    every item: its labels, its prompt, and the keys of its takes
    heard.jsonl                    loudness, length, brightness and density of each take, for nulls
    models/NAME/about.json         the model, its axes, its window, and whether it got the prompt
    models/NAME/scores.jsonl       one line per take, by its key
    models/NAME/pair_scores.jsonl  instead, for a judge and for calibrated scores: scores of an item's takes that hold
                                   in this item only, and the axes on which no answer could be read
    models/NAME/failures.jsonl     the takes that could not be scored, and why; written when the run ends

A take's key is a hash of its prompt and of its files' paths, sizes and times: a changed file is scored again. The keys
of scores.jsonl (`cmi.reward.scoring.score_log`) begin with the take's.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.config import read_config
from cmi._util.errors import InputError
from cmi._util.files import make_folder, write_whole
from cmi._util.records import read_records
from cmi._util.runlog import read_records as read_log
from cmi.audio import Waveform, content_hash
from cmi.features import TakeFeatures
from cmi.report.tables import to_plain
from cmi.reward.scoring.score_log import take_key
from cmi.rewardbench.items import RatedItem, Vote
from cmi.rewardbench.runs.judging import JudgedItem
from cmi.rewardbench.tasks import Key, Scores, Unread, key
from cmi.take import Audio, Axis, Prompt, Score

ITEMS, HEARD, MODELS, JUDGES = "items.jsonl", "heard.jsonl", "models", "judges"
ABOUT, SCORES, PAIR_SCORES, FAILURES = "about.json", "scores.jsonl", "pair_scores.jsonl", "failures.jsonl"


class AskedItem(NamedTuple):
    """An item and the keys of its takes."""

    item: RatedItem
    keys: tuple[str, ...]


class ScoringFailure(NamedTuple):
    """A take that could not be scored."""

    audio: str
    error: str


@dataclass(frozen=True)
class About:
    """A model and how it was run."""

    model: str
    axes: tuple[Axis, ...] = ("musicality", "alignment")  # that it scores
    window: str = ""  # '' for the model's default
    prompt: bool = True  # False: without the prompt
    is_judge: bool = False  # a tie is an answer, and an answer that cannot be read is a wrong one under `paper`
    hearing: str = ""  # how much of a clip a language model hears, if that was asked
    calibration: str = ""  # the digest of the offsets that were added to the scores, if any

    @property
    def name(self) -> str:
        corrected = f", calibrated {self.calibration}" if self.calibration else ""
        shown = self.model + (f", {self.window}" if self.window else "") + ("" if self.prompt else ", no prompt")
        return shown + corrected


class System(NamedTuple):
    """A model's scores of a run."""

    about: About
    scores: Scores
    unread: Unread = frozenset()


class Run(NamedTuple):
    items: tuple[RatedItem, ...]
    systems: tuple[System, ...]
    heard: dict[Key, tuple[TakeFeatures | None, ...]]  # empty if not measured


def question(item: RatedItem) -> AskedItem:
    return AskedItem(item, tuple(take_key(take) for take in item.asked))


def require_current(folder: Path) -> None:
    """InputError for a run that an earlier version wrote."""
    for log in (folder / MODELS).glob(f"*/{SCORES}"):
        if any("-" not in record["key"] for record in islice(read_log(log), 1)):
            raise InputError(
                f"{folder}: a run of an earlier version, which `table` can show but `run` cannot resume; "
                "choose another --out"
            )


def write_items(folder: Path, questions: Sequence[AskedItem]) -> None:
    """Add items to the folder; they replace those of the same data sets."""
    path = folder / ITEMS
    new = {one.item.dataset for one in questions}
    kept = [one for one in read_items(folder) if one.item.dataset not in new] if path.exists() else []
    seen: set[Key] = set()
    for one in questions:
        if key(one.item) in seen:
            raise InputError(
                f"{one.item.dataset}: item {one.item.id!r} occurs twice; were two data sets of the same name given?"
            )
        seen.add(key(one.item))
    write_whole(path, "".join(json.dumps(_record(one)) + "\n" for one in [*kept, *questions]))


def _record(one: AskedItem) -> dict[str, Any]:
    item = one.item
    other = {} if item.other_prompt is None else {"other_prompt": _prompt_record(item.other_prompt)}
    return {
        **{"dataset": item.dataset, "id": item.id, **_prompt_record(item.prompt), **other},
        "takes": [_named(audio) for audio in item.takes],
        "keys": list(one.keys),
        "ratings": dict(item.ratings),
        "votes": {axis: vote._asdict() for axis, vote in item.votes.items()},
        "about": dict(item.about),
    }


def _prompt_record(prompt: Prompt) -> dict[str, str | None]:
    reference = None if prompt.reference is None else _named(prompt.reference)
    return {"text": prompt.text, "lyrics": prompt.lyrics, "reference": reference}


def _read_prompt(row: Mapping[str, Any]) -> Prompt:
    reference = row["reference"]
    return Prompt(row["text"], row["lyrics"], None if reference is None else Path(reference))


def _named(audio: Audio) -> str:
    return f"waveform {content_hash(audio)}" if isinstance(audio, Waveform) else str(audio)


def read_items(folder: Path) -> Iterator[AskedItem]:
    path = folder / ITEMS
    if not path.exists():
        raise InputError(f"{folder}: no {ITEMS} in it, expected a folder of `cmi rewardbench run`")
    for place, row in read_records(path):
        try:
            other = row.get("other_prompt")
            takes = tuple(Path(name) for name in row["takes"])
            votes = {axis: Vote(vote["choice"], vote["confidence"]) for axis, vote in row["votes"].items()}
            item = RatedItem(
                *(row["id"], row["dataset"], _read_prompt(row), takes, row["ratings"], votes, row["about"]),
                None if other is None else _read_prompt(other),
            )
            yield AskedItem(item, tuple(row["keys"]))
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path} {place}: not an item of `cmi rewardbench run` ({error})") from error


def model_folder(folder: Path, about: About) -> Path:
    """Make the folder of a model's scores and write its about.json."""
    digest = hashlib.sha256(about.name.encode()).hexdigest()[:8]
    plain = "".join(letter if letter.isalnum() or letter in "@.-_" else "-" for letter in about.name)
    place = folder / MODELS / f"{plain[:80]}-{digest}"
    place.mkdir(parents=True, exist_ok=True)
    write_whole(place / ABOUT, json.dumps(asdict(about), indent=1) + "\n")
    return place


def judge_folder(folder: Path, spec: str) -> Path:
    """Return the folder of a judge's verdicts; its parent is made."""
    place = folder / JUDGES / hashlib.sha256(spec.encode()).hexdigest()[:12]
    make_folder(place.parent)
    return place


def write_pair_scores(folder: Path, about: About, judged: Mapping[Key, JudgedItem]) -> None:
    """Write a judge's scores of items; they replace earlier ones."""
    lines = [
        json.dumps({"dataset": dataset, "id": name, "scores": to_plain(one.scores), "unread": one.unread}) + "\n"
        for (dataset, name), one in judged.items()
    ]
    write_whole(model_folder(folder, about) / PAIR_SCORES, "".join(lines))


def _read_pair_scores(path: Path) -> tuple[dict[Key, tuple[Score | None, ...]], Unread]:
    scores: dict[Key, tuple[Score | None, ...]] = {}
    unread: set[tuple[Key, str]] = set()
    for _, row in read_records(path) if path.exists() else ():
        at = (row["dataset"], row["id"])
        scores[at] = tuple(Score(*(math.nan if value is None else value for value in one)) for one in row["scores"])
        unread |= {(at, axis) for axis in row.get("unread", ())}
    return scores, frozenset(unread)


def write_failures(place: Path, failures: Iterable[ScoringFailure]) -> None:
    """Write the takes that could not be scored, and why; the file is empty if there are none."""
    lines = (json.dumps(failure._asdict()) + "\n" for failure in failures)
    write_whole(place / FAILURES, "".join(lines))


def read_run(folder: Path) -> Run:
    """Read a run, finished or not."""
    questions = list(read_items(folder))
    systems = [_read_system(place, questions) for place in sorted((folder / MODELS).glob(f"*/{ABOUT}"))]
    features = {
        record["key"]: TakeFeatures(*(record.get(name, math.nan) for name in TakeFeatures._fields))
        for record in read_log(folder / HEARD, missing_ok=True)  # NaN: from before this null existed
    }
    heard = {key(one.item): tuple(map(features.get, one.keys)) for one in questions} if features else {}
    return Run(tuple(one.item for one in questions), tuple(systems), heard)


def _read_system(path: Path, questions: Iterable[AskedItem]) -> System:
    about = read_config(path, About)
    silent = {axis: float("nan") for axis in Score._fields if axis not in about.axes}
    by_key = {
        one["key"].partition("-")[0]: Score(one["musicality"], one["alignment"])._replace(**silent)
        for one in read_log(path.parent / SCORES, missing_ok=True)
    }
    by_take = {key(one.item): tuple(map(by_key.get, one.keys)) for one in questions}
    by_item, unread = _read_pair_scores(path.parent / PAIR_SCORES)
    return System(about, by_take | by_item, unread)
