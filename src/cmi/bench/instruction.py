"""The annotation record of CMI-Bench: one instruction about one clip, in the authors' JSON-lines layout."""

from dataclasses import dataclass, field
from typing import Any

from cmi._util.errors import InputError

AUDIO_INPUT = "<|SOA|><AUDIO><|EOA|>"
TO_THE_END = -1


@dataclass(frozen=True)
class Instruction:
    """A question about a span of audio and its expected answer."""

    instruction: str
    output: str
    audio_path: str
    audio_start: float = 0.0
    audio_end: float | None = None  # seconds; None: to the end
    split: str = "test"
    source: str = ""
    task_type: dict[str, list[str]] = field(default_factory=dict)
    uuid: str = ""
    domain: str = "music"

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> "Instruction":
        """Read one line of an annotation file; the InputError names the wrong field."""
        end = _number(record, "audio_end", TO_THE_END)
        return cls(
            instruction=_text(record, "instruction"),
            output=_text(record, "output"),
            audio_path=_first(record, "audio_path"),
            audio_start=_number(record, "audio_start", 0.0),
            audio_end=None if end == TO_THE_END else end,
            split=_first(record, "split"),
            source=_text(record, "source", ""),
            task_type=record.get("task_type") or {},
            uuid=_text(record, "uuid", ""),
            domain=_text(record, "domain", "music"),
        )

    def to_record(self) -> dict[str, Any]:
        """Return one line of an annotation file."""
        return {
            "instruction": self.instruction,
            "input": AUDIO_INPUT,
            "output": self.output,
            "uuid": self.uuid,
            "split": [self.split],
            "task_type": self.task_type,
            "domain": self.domain,
            "audio_path": [self.audio_path],
            "audio_start": self.audio_start,
            "audio_end": TO_THE_END if self.audio_end is None else self.audio_end,
            "source": self.source,
            "other": {"tag": "null"},
        }


def _text(record: dict[str, Any], name: str, default: str | None = None) -> str:
    """Return a text field; NSynth's pitches are written as numbers."""
    value = record.get(name, default)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"'{name}' is {_kind(value)}, expected text")
    return str(value)


def _first(record: dict[str, Any], name: str) -> str:
    """Return a text field that the authors write as a list of one."""
    value = record.get(name)
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    if not isinstance(value, str):
        raise InputError(f"'{name}' is {_kind(value)}, expected text or a list of one text")
    return value


def _number(record: dict[str, Any], name: str, default: float) -> float:
    value = record.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise InputError(f"'{name}' is {_kind(value)}, expected seconds")
    return float(value)


def _kind(value: object) -> str:
    return "missing" if value is None else f"{type(value).__name__} {str(value)[:40]!r}"
