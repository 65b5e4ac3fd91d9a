"""The folder of `cmi generate`: takes with their provenance, and failures beside them.

    settings.json                       the length asked for; another length needs another folder
    takes.jsonl                         a manifest of takes, one line each (`cmi.take.TAKES`)
    failures.jsonl                      each failed attempt: id, generator, group, seed, reason, message
    skipped.jsonl                       prompts that a system cannot take: generator, group, reason
    audio/SYSTEM/PROMPT-SEED.flac       the takes

A file is on disk before its line is; lines are synced one by one (`cmi._util.runlog`), so that a killed run can be
resumed.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

from cmi._util.errors import InputError
from cmi._util.files import claim, whole_file
from cmi._util.runlog import RunLog, read_records
from cmi.generate.load import AboutGenerator
from cmi.take import Prompt, PromptRow, relative_path

TAKES, FAILURES, SKIPPED, AUDIO = "takes.jsonl", "failures.jsonl", "skipped.jsonl", "audio"
LONGEST_NAME = 80  # characters
LONGEST_MESSAGE = 500


class TakeJob(NamedTuple):
    """A take to make: a prompt as the system is given it, and a seed."""

    id: str
    asked: PromptRow
    given: Prompt
    seed: int


class TakeOutcome(NamedTuple):
    """The outcome of a take: its length and hash, or the reason why it failed."""

    took: float  # seconds of generating
    cost: float = 0.0
    seconds: float = 0.0  # of sound
    sha256: str = ""
    reason: str = ""
    message: str = ""


class SystemCounts:
    """The numbers of a system's takes and failures in the folder."""

    def __init__(self) -> None:
        self.takes = 0
        self.seconds = 0.0
        self.cost = 0.0
        self.version: tuple[str, Mapping[str, Any]] | None = None  # with its settings


class TakeLog:
    """The logs of a folder, open for appending by this process alone."""

    def __init__(self, folder: Path, seconds: float | None, prompts: Sequence[PromptRow]) -> None:
        claim(folder, {"seconds": seconds}, "cmi generate")
        self.folder = folder
        self._content = {asked.id: self._fields(asked.prompt) for asked in prompts}
        self._systems: dict[str, SystemCounts] = {}
        self._failures: dict[str, tuple[int, str, str]] = {}  # attempts, and the last one's reason and message
        self._takes = RunLog(folder / TAKES)
        try:
            self._failed = RunLog(folder / FAILURES, key="key")
        except BaseException:
            self._takes.close()
            raise
        try:
            self._read()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._takes.close()
        self._failed.close()

    def finish(self) -> None:
        """Give the logs their final names; the next run may add to them."""
        self._takes.finish()
        self._failed.finish()

    @property
    def takes(self) -> int:
        return sum(counts.takes for counts in self._systems.values())

    @property
    def cost(self) -> float:
        """The cost of all takes and failures."""
        return sum(counts.cost for counts in self._systems.values())

    def counts(self, system: str) -> SystemCounts:
        return self._systems.setdefault(system, SystemCounts())

    def has_take(self, take_id: str) -> bool:
        return take_id in self._takes

    def failure(self, take_id: str) -> tuple[str, str] | None:
        """The reason and message of the last failure of something that has not become a take."""
        if take_id in self._takes or take_id not in self._failures:
            return None
        _, reason, message = self._failures[take_id]
        return reason, message

    def require_same_system(self, generator: AboutGenerator) -> None:
        """InputError if the folder has takes of another version of a system, or with other settings."""
        now = generator.version, json.loads(json.dumps(generator.settings))
        before = self.counts(generator.name).version
        if before is not None and before != now:
            raise InputError(
                f"{self.folder}: its takes of {generator.name} are of version {before[0]} with settings "
                f"{json.dumps(before[1])}, not {now[0]} with {json.dumps(now[1])}; choose another folder"
            )

    def append(self, generator: AboutGenerator, job: TakeJob, outcome: TakeOutcome) -> None:
        """Add a take, whose file is on disk, or a failure."""
        named = {"generator": generator.name, "group": job.asked.id, "seed": job.seed}
        when = datetime.now(UTC).isoformat(timespec="seconds")
        cost = {"cost": round(outcome.cost, 6)} if outcome.cost else {}
        if outcome.reason:
            attempt = self._failures.get(job.id, (0, ""))[0] + 1
            why = {"reason": outcome.reason, "message": outcome.message[:LONGEST_MESSAGE]}
            failed = {"key": f"{job.id}#{attempt}", "id": job.id, **named, **why}
            self._failed.append({**failed, "made": when, "took": round(outcome.took, 3), **cost})
            self._note_failure({"id": job.id, **named, **why, **cost})
            return
        row = {
            "id": job.id,
            "audio": audio_file(generator.name, job.asked.id, job.seed),
            **self._content[job.asked.id],
            **named,
            "version": generator.version,
            "settings": generator.settings,
            **({} if job.given == job.asked.prompt else {"given": self._fields(job.given)}),
            "made": when,
            "seconds": round(outcome.seconds, 3),
            "took": round(outcome.took, 3),
            **cost,
            "licence": generator.licence,
            "sha256": outcome.sha256,
            **({"split": job.asked.split} if job.asked.split else {}),
            **job.asked.own,
        }
        self._takes.append(row)
        self._note_take(row)

    def write_skipped(self, systems: Iterable[str], skipped: Iterable[Mapping[str, str]]) -> None:
        """Replace the list of what was skipped for some systems; that for others stays."""
        path, now = self.folder / SKIPPED, set(systems)
        before = [row for row in read_records(path) if row.get("generator") not in now] if path.exists() else []
        with whole_file(path) as unfinished, unfinished.open("w", encoding="ascii") as file:
            for row in (*before, *skipped):
                file.write(json.dumps(row) + "\n")

    def _read(self) -> None:
        for row in read_records(self.folder / TAKES):
            expected = self._content.get(str(row.get("group")))
            if expected is not None and any(row.get(field) != expected.get(field) for field in _PROMPT):
                what = f"prompt {row['group']!r} had another text, lyrics or reference"
                raise InputError(f"{self.folder}: {what}; choose another folder")
            self._note_take(row)
        for row in read_records(self.folder / FAILURES):
            self._note_failure(row)

    def _note_take(self, row: Mapping[str, Any]) -> None:
        counts = self.counts(str(row.get("generator")))
        counts.takes += 1
        counts.seconds += float(row.get("seconds", 0))
        counts.cost += float(row.get("cost", 0))
        counts.version = counts.version or (str(row.get("version")), row.get("settings", {}))

    def _note_failure(self, row: Mapping[str, Any]) -> None:
        attempts = self._failures.get(row["id"], (0, ""))[0] + 1
        self._failures[row["id"]] = attempts, str(row.get("reason")), str(row.get("message"))
        self.counts(str(row.get("generator"))).cost += float(row.get("cost", 0))

    def _fields(self, prompt: Prompt) -> dict[str, str]:
        """Text, lyrics and reference, as far as they are there; the reference's path is relative to the folder."""
        found = {"text": prompt.text, "lyrics": prompt.lyrics}
        if prompt.reference is not None:
            found["reference"] = relative_path(prompt.reference, self.folder)
        return {name: value for name, value in found.items() if value}


_PROMPT = ("text", "lyrics", "reference")


def take_id(system: str, prompt: str, seed: int) -> str:
    return f"{system}/{prompt}-{seed}"


def audio_file(system: str, prompt: str, seed: int) -> str:
    """The path of a take in its folder, with '/' on every system."""
    return f"{AUDIO}/{file_name(system)}/{file_name(prompt)}-{seed}.flac"


def file_name(text: str) -> str:
    """Return a name that a file can have on any system, different for different texts.

    >>> file_name("rock-7"), file_name("../7")
    ('rock-7', '7-beae2509')
    """
    plain = re.sub(r"[^A-Za-z0-9_.+-]+", "-", text).strip("-.")[:LONGEST_NAME]
    if plain == text:
        return text
    return f"{plain}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}".lstrip("-")


def count_failures(log: TakeLog, ids: Iterable[str]) -> Counter[str]:
    """How many of these failed, by reason."""
    found = (log.failure(one) for one in ids)
    return Counter(failure[0] for failure in found if failure is not None)
