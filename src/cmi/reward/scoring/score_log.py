"""Score many takes and log each score at once, so that no command scores a take twice.

The log has one JSON line for each score:

    key            32 hex digits for the take (its prompt and files), and 12 for the settings of the scorer
    audio          the file, or the hash of a waveform
    model, ...     the settings: the model's name with its revision, and for a reward model its window
    validated_on   what the model was validated on, if it comes with cmi
    musicality, alignment, and, if the scorer gives them, seconds and notes

A file is identified by its path, size and modification time, or by its URL and the store's metadata; hashing it would
be slower than scoring it on a GPU. A take that could not be scored is not logged, so that the next command tries again.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import islice, repeat, tee
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cmi._util.errors import InputError
from cmi._util.remote import RemotePath, stamp
from cmi._util.runlog import RunLog, read_records
from cmi.audio import Waveform, content_hash
from cmi.report.tables import Table, notes_about
from cmi.reward.model.validation import validation_notes, validation_record
from cmi.reward.scoring.scorers import NamedScorer, ScoredTake
from cmi.take import Audio, Prompt, Score, Take

if TYPE_CHECKING:
    from cmi.reward.scoring.calibration import Calibration

Identify = Callable[[Path], str]  # tells a file from another, and from what it was before it was written to
Results = list[ScoredTake | InputError]

QUESTIONS = 32  # about files at addresses, at once
_KEY = re.compile(r"[0-9a-f]{32}-[0-9a-f]{12}")


def file_stamp(path: Path) -> str:
    try:
        if isinstance(path, RemotePath):
            return f"{path} {stamp(path)}"
        about = path.stat()
    except (InputError, OSError, ValueError):
        return f"{path.absolute()} cannot be read"
    return f"{path.absolute()} {about.st_size} {about.st_mtime_ns}"


def take_key(take: Take, identify: Identify = file_stamp) -> str:
    """Return 32 hex digits that depend on the prompt and on all files."""
    sounds = [_identify(sound, identify) for sound in (take.audio, take.prompt.reference) if sound]
    return _digest([take.prompt.text, take.prompt.lyrics, *sounds])[:32]


def _take_keys(takes: Sequence[Take], identify: Identify) -> list[str]:
    """Return the key of each take; the metadata of remote files are requested in parallel."""
    if not any(isinstance(sound, RemotePath) for take in takes for sound in (take.audio, take.prompt.reference)):
        return [take_key(take, identify) for take in takes]
    with ThreadPoolExecutor(QUESTIONS) as pool:
        return list(pool.map(lambda take: take_key(take, identify), takes))


def _identify(sound: Audio, identify: Identify = str) -> str:
    return content_hash(sound) if isinstance(sound, Waveform) else identify(sound)


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


class ScoreLog(RunLog):
    """Scores by key. A log of an earlier version of cmi is an InputError."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, key="key")
        try:
            self._scored = {record["key"]: _scored(record) for record in read_scores(path)}
        except InputError:
            self.close()
            raise

    def find(self, key: str) -> ScoredTake | None:
        return self._scored.get(key)

    def append(self, record: Mapping[str, Any], sync: bool = True) -> None:
        super().append(record, sync)
        self._scored[record["key"]] = _scored(record)


def read_scores(path: Path) -> Iterable[dict[str, Any]]:
    """Yield the records of a log; InputError for one of an earlier version."""
    for record in read_records(path):
        if not _KEY.fullmatch(str(record.get("key"))) or not {"model", *Score._fields} <= record.keys():
            raise InputError(
                f"{path}: not a score log, or one of an earlier version of cmi, which cannot be resumed; "
                "name another file to score the takes again"
            )
        yield record


def score_takes(
    takes: Sequence[Take],
    scorer: NamedScorer,
    logs: Sequence[Path] = (),
    on_scored: Callable[[int], None] = lambda done: None,
    identify: Identify = file_stamp,
    hide_prompt: bool = False,
) -> Results:
    """Return each take's score, or the error if it has none, as `stream_scores` yields them."""
    return list(stream_scores(takes, scorer, logs, on_scored, identify, hide_prompt))


def stream_scores(
    takes: Iterable[Take],
    scorer: NamedScorer,
    logs: Sequence[Path] = (),
    on_scored: Callable[[int], None] = lambda done: None,
    identify: Identify = file_stamp,
    hide_prompt: bool = False,
) -> Iterator[ScoredTake | InputError]:
    """Yield each take's score, or the error if it has none; few takes are in memory at once.

    Takes that are in a log are not scored again, and are added to the other logs. Equal takes are scored once if there
    is a log or if they are at most `scorer.at_once` takes apart. `on_scored` is called with the number of takes that
    were scored since its last call. With `hide_prompt` the scorer gets an empty prompt.
    """
    settings = {**scorer.settings, **({"prompt": "hidden"} if hide_prompt else {})}
    ending = _digest(sorted(settings.items()))[:12]
    about = {**settings, **validation_record(scorer.name)}
    rest = iter(takes)
    with ExitStack() as stack:
        opened = [stack.enter_context(ScoreLog(path)) for path in logs]

        def score(some: Sequence[Take]) -> Iterator[ScoredTake | InputError]:
            keys = [f"{key}-{ending}" for key in _take_keys(some, identify)]
            by_key, counts = dict(zip(keys, some, strict=True)), Counter(keys)
            found: dict[str, ScoredTake | InputError] = {}

            def keep(key: str, scored: ScoredTake | InputError) -> None:
                found[key] = scored
                if isinstance(scored, ScoredTake):
                    record = {"key": key, "audio": _identify(by_key[key].audio), **about, **_record(scored)}
                    for log in opened:
                        if key not in log:
                            log.append(record)

            for key in by_key:
                known = next((known for log in opened if (known := log.find(key))), None)
                if known is not None:
                    keep(key, known)
            on_scored(sum(counts[key] for key in found))
            pending = [key for key in by_key if key not in found]
            asked = [Take(Prompt(), by_key[key].audio) if hide_prompt else by_key[key] for key in pending]
            for key, scored in zip(pending, scorer.judge(asked), strict=True):
                keep(key, scored)
                on_scored(counts[key])
            return (found[key] for key in keys)

        while some := list(islice(rest, scorer.at_once)):
            yield from score(some)
        for log in opened:
            log.finish()


def _record(scored: ScoredTake) -> dict[str, Any]:
    return {
        **scored.score._asdict(),
        **({} if scored.seconds is None else {"seconds": round(scored.seconds, 3)}),
        **({"notes": list(scored.notes)} if scored.notes else {}),
    }


def _scored(record: Mapping[str, Any]) -> ScoredTake:
    score = Score(record["musicality"], record["alignment"])
    return ScoredTake(score, record.get("seconds"), notes=tuple(record.get("notes", ())))


def score_records(
    takes: Iterable[tuple[str, Take]],
    scorer: NamedScorer,
    log: Path | None,
    on_scored: Callable[[int], None],
    calibration: "Calibration | None" = None,
    generators: Iterable[str] = (),
) -> Iterator[dict[str, Any]]:
    """Return a JSON record for each take: its id, and its score or the reason why it has none.

    With a calibration, scores are corrected; `generators` names what made each take.
    """
    for_records, for_scores = tee(takes)  # which are ahead by at most `scorer.at_once`
    results = stream_scores((take for _, take in for_scores), scorer, [log] if log else [], on_scored)
    corrected = {"calibration": calibration.digest} if calibration else {}
    about = {**scorer.settings, **corrected, **validation_record(scorer.name)}
    made_by = generators if calibration else repeat("")
    for ((name, take), result), generator in zip(zip(for_records, results, strict=True), made_by, strict=False):
        scored = calibration.apply(result, generator) if calibration else result
        yield {
            **{"id": name, "audio": str(take.audio), **about},
            **({"error": str(scored)} if isinstance(scored, InputError) else _record(scored)),
        }


def scores_table(records: Iterable[dict[str, Any]], model: str) -> Table:
    """Return the records as a table; notes below list takes that could not be scored or were truncated."""
    rows, notes, remarks = list[list[str]](), list[str](), list[tuple[str, str]]()
    for record in records:
        if "error" in record:
            named = record["error"].startswith(record["id"])  # files named on the command line are their own ids
            notes.append(record["error"] + "." if named else f"{record['id']}: {record['error']}.")
            rows.append([record["id"], "-", "-", "-"])
        else:
            heard = f"{record['seconds']:.1f}" if "seconds" in record else "-"
            rows.append([record["id"], f"{record['musicality']:.3f}", f"{record['alignment']:.3f}", heard])
            remarks += [(record["id"], remark) for remark in record.get("notes", ())]
    headers = ["take", "musicality", "alignment", "seconds heard"]
    return Table(f"Scored by {model}", headers, rows, notes=[*notes, *notes_about(remarks), *validation_notes(model)])
