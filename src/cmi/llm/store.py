"""A folder of answers, each written to disk with its request before it is used."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError
from cmi._util.files import make_folder, write_whole
from cmi._util.runlog import RunLog, read_records
from cmi.llm.budget import Usage
from cmi.llm.endpoint import FORMATS, Format
from cmi.llm.message import Answer, SentAudio

ANSWERS, TEXTS, ENDPOINT = "answers.jsonl", "texts.jsonl", "endpoint.json"
LONG = 200  # characters; longer texts are stored once, in a file of their own


class Store:
    """Answers by request and attempt number, from 1: a repaired request has several."""

    def __init__(self, folder: Path) -> None:
        make_folder(folder)
        self.folder = folder
        self._answers = RunLog(folder / ANSWERS)
        try:
            self._texts = RunLog(folder / TEXTS, key="sha256")
        except BaseException:
            self._answers.close()
            raise

    def close(self) -> None:
        self._answers.close()
        self._texts.close()

    def finish(self) -> None:
        """Give the files their final names after a complete run."""
        self._answers.finish()
        self._texts.finish()

    def askings(self, request_id: str) -> int:
        """Count the answers of a request."""
        count = 0
        while _record_id(request_id, count + 1) in self._answers:
            count += 1
        return count

    def answers(self) -> Iterator[tuple[str, int, Answer]]:
        """Yield (request, attempt number, answer) of everything stored."""
        for record in read_records(self.folder / ANSWERS):
            request_id, _, asking = str(record["id"]).rpartition("/")
            yield request_id, int(asking), _answer(record)

    def spent(self) -> Usage:
        total = Usage()
        for record in read_records(self.folder / ANSWERS):
            total += Usage(record["billed_calls"], record["input_tokens"], record["output_tokens"])
        return total

    def keep(
        self, request_id: str, asking: int, key: str, messages: list[dict[str, Any]], answer: Answer, billed: int
    ) -> None:
        """Store an answer; it is on disk when this returns."""
        record = {"id": _record_id(request_id, asking), "key": key, "messages": [self._shortened(m) for m in messages]}
        self._answers.append(record | asdict(answer) | {"billed_calls": billed})

    def _shortened(self, message: dict[str, Any]) -> dict[str, Any]:
        parts = []
        for part in message["parts"]:
            text = part.get("text", "")
            if len(text) > LONG:
                name = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
                if name not in self._texts:
                    self._texts.append({"sha256": name, "text": text})
                part = {"text_sha256": name}
            parts.append(part)
        return {"role": message["role"], "parts": parts}

    def read_format(self) -> Format:
        """Return the format that the endpoint was found to accept; the strictest if unknown."""
        path = self.folder / ENDPOINT
        if not path.exists():
            return FORMATS[0]
        try:
            found = json.loads(path.read_text(encoding="utf-8"))["format"]
        except (OSError, ValueError, KeyError, TypeError):
            found = None
        if found not in FORMATS:
            raise InputError(f"{path}: expected a 'format' of {', '.join(FORMATS)}; remove the file")
        return found

    def write_format(self, found: Format) -> None:
        write_whole(self.folder / ENDPOINT, json.dumps({"format": found}) + "\n")


def _record_id(request_id: str, asking: int) -> str:
    return f"{request_id}/{asking}"


def _answer(record: dict[str, Any]) -> Answer:
    names = Answer.__dataclass_fields__
    fields = {name: value for name, value in record.items() if name in names}
    return Answer(**fields | {"heard": tuple(SentAudio(**heard) for heard in record["heard"])})
