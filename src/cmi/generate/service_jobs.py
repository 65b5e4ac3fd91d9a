"""The jobs submitted to a service, recorded on disk, so that nothing is submitted (and billed) twice.

    jobs.jsonl      a line before each submission, with the job's id when it is known, and at its end
    KEY.audio       takes as they came, until they are certainly recorded

A take's key is made of the service, its settings, the prompt, the seed and the length. A later attempt of the same
take, which only `--retry-failed` makes, has another number.
"""

import tempfile
from collections import deque
from pathlib import Path
from typing import Literal, NamedTuple

from cmi._util.files import make_folder, write_whole
from cmi._util.runlog import RunLog, read_records

JOBS, AUDIO = "jobs.jsonl", ".audio"
KEPT = 4  # takes per concurrent call whose audio stays after it was returned

Stage = Literal["sent", "job", "ended"]


class JobState(NamedTuple):
    """The last attempt of a take: being sent, known to the service as `job`, or ended."""

    attempt: int
    stage: Stage
    job: str = ""


class JobStore:
    """The jobs of one service in one folder. Used by one thread; without a folder, nothing survives the process."""

    def __init__(self, folder: Path | None, concurrency: int) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="cmi-jobs-") if folder is None else None
        self.folder = folder or Path(self._temporary.name if self._temporary else "")
        make_folder(self.folder)
        self._returned: deque[str] = deque()
        self._kept = KEPT * concurrency
        self._states: dict[str, JobState] = {}
        self.billed = 0  # attempts that were billed, or may have been
        self._log = RunLog(self.folder / JOBS)
        try:
            for record in read_records(self.folder / JOBS):
                state = JobState(record["attempt"], record["stage"], record["job"])
                self._apply(record["key"], state, record["billed"])
        except BaseException:
            self._log.close()
            raise

    def close(self) -> None:
        self._log.finish()
        self._log.close()
        if self._temporary:
            self._temporary.cleanup()

    def state(self, key: str) -> JobState | None:
        return self._states.get(key)

    def note(self, key: str, state: JobState, billed: bool = True) -> None:
        """Record a state; it is on disk when this returns. `billed` is false if the attempt ended without a bill."""
        line = {"id": f"{key}/{state.attempt}/{state.stage}", "key": key, **state._asdict(), "billed": billed}
        self._log.append(line)
        self._apply(key, state, billed)

    def audio(self, key: str) -> Path | None:
        """The take as it came, if it is still here."""
        path = self.folder / f"{key}{AUDIO}"
        return path if path.exists() else None

    def keep_audio(self, key: str, content: bytes) -> Path:
        path = self.folder / f"{key}{AUDIO}"
        write_whole(path, content)
        return path

    def drop_audio(self, key: str) -> None:
        (self.folder / f"{key}{AUDIO}").unlink(missing_ok=True)

    def returned(self, key: str) -> None:
        """Note that the caller has a take. Its audio is dropped when many others were returned after it."""
        self._returned.append(key)
        if len(self._returned) > self._kept:
            self.drop_audio(self._returned.popleft())

    def _apply(self, key: str, state: JobState, billed: bool) -> None:
        self._states[key] = state
        self.billed += (state.stage == "sent") - (state.stage == "ended" and not billed)
