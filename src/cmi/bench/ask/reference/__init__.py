"""The reference listener: supervised MIR models that answer in the format of each task.

It shows the tasks' ceiling under the protocol of the language models. A skill is loaded at its first question. If its
packages are missing, its questions fail with an error that says how to install them; `missing` lists them beforehand.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from cmi._util.errors import InputError, MissingExtra
from cmi.bench.ask import Answer, Question
from cmi.bench.ask.ask import failure
from cmi.bench.ask.reference.parts import PARTS, version

if TYPE_CHECKING:
    from cmi.bench.ask.reference.tags import MusicnnTagger

# By task: the module here and its class.
SKILLS: Mapping[str, tuple[str, str]] = {
    "beat": ("rhythm", "BeatSkill"),
    "downbeat": ("rhythm", "DownbeatSkill"),
    "key": ("rhythm", "KeySkill"),
    "pitch": ("pitch", "PitchSkill"),
    "melody": ("pitch", "MelodySkill"),
    "lyrics": ("lyrics", "LyricsSkill"),
    "singing_technique": ("pitch", "SingingSkill"),
}
TAGGED_SKILLS: Mapping[str, tuple[str, str]] = {  # these share one tagger
    "genre": ("tags", "LabelSkill"),
    "music_tagging": ("tags", "LabelSkill"),
    "emotion_tagging": ("tags", "LabelSkill"),
    "instrument": ("tags", "InstrumentSkill"),
    "captioning": ("tags", "CaptionSkill"),
    "emotion_regression": ("tags", "EmotionSkill"),
}


class Skill(Protocol):
    def answer(self, question: Question) -> str: ...


class ReferenceListener:
    batch = 1  # its models take one clip at a time

    def __init__(self) -> None:
        here = {part: version(part) for part in PARTS}
        self.missing = [f"{part} ({what})" for part, what in PARTS.items() if here[part] is None]
        self.name = "reference: " + ", ".join(f"{part} {found}" for part, found in here.items() if found)
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
        if task in SKILLS:
            return cast(Skill, _class(*SKILLS[task])())
        if task in TAGGED_SKILLS:
            return cast(Skill, _class(*TAGGED_SKILLS[task])(self._tagger))
        raise InputError(f"the reference listener has no model for {task.replace('_', ' ') or 'this data set'}")

    @cached_property
    def _tagger(self) -> "MusicnnTagger":
        try:
            from cmi.bench.ask.reference.tags import MusicnnTagger
        except ModuleNotFoundError as error:
            raise MissingExtra("recognising tags", "reward") from error
        return MusicnnTagger()


def _class(module: str, name: str) -> type:
    return cast(type, getattr(import_module(f"{__name__}.{module}"), name))
