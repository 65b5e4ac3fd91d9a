"""How the questions are worded: one plain file a question, in which each table is a variant.

    major, minor        what kind of task it is, as the authors' records have it
    [plain]             a variant by its name, with its `wording`; `few_shot = true` if it gives examples of answers

In a wording, {labels} stands for the labels that the data set's task scores by.

All wordings are ours. Those of the paper come with the authors' annotation files (`cmi bench data make released`).
"""

from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from cmi._util.config import check_config, read_table
from cmi._util.errors import InputError

QUESTIONS = {
    "GS_key": "key",
    "EMO_arousal": "arousal",
    "EMO_valence": "valence",
    "MTT": "music_tags",
    "MTG_genre": "genre_tags",
    "MTG_emotion": "emotion_tags",
    "MTG_instrument": "instrument_tags",
    "MTG_top50tags": "music_tags",
    "GTZAN": "genre",
    "VocalSet_tech": "singing_technique",
    "Nsynth_instrument": "instrument_family",
    "Nsynth_pitch": "pitch",
    "SDD": "caption",
    "MusicCaps": "caption",
    "DSing": "lyrics",
    "gtzan_beat": "beat",
    "gtzan_downbeat": "downbeat",
    "ballroom_beat": "beat",
    "ballroom_downbeat": "downbeat",
    "MedleyDB": "melody",
    "Guzheng_Tech": "playing_technique",
}

# Where each task keeps its labels, so that what is asked for and what is scored can't part.
_LABELS = {
    "MTT": ("music_tagging", "MTT"),
    "MTG_genre": ("genre", "MTG_GENRE"),
    "MTG_emotion": ("emotion_tagging", "TAGS"),
    "MTG_instrument": ("instrument", "MTG_INSTRUMENT"),
    "MTG_top50tags": ("music_tagging", "MTG_TOP50"),
    "GTZAN": ("genre", "GTZAN"),
    "VocalSet_tech": ("singing_technique", "CLASSES"),
    "Nsynth_instrument": ("instrument", "NSYNTH"),
    "Guzheng_Tech": ("playing_technique", "TECHNIQUES"),
}


@dataclass(frozen=True)
class TaskKind:
    major: str
    minor: str


@dataclass(frozen=True)
class VariantTable:
    wording: str
    few_shot: bool = False

    def __post_init__(self) -> None:
        if not self.wording.strip():
            raise ValueError("has an empty 'wording'")


@dataclass(frozen=True)
class Variant:
    name: str
    wording: str
    few_shot: bool = False


@dataclass(frozen=True)
class Question:
    """What is asked of one data set, in each of its wordings."""

    name: str
    major: str
    minor: str
    variants: dict[str, Variant]

    def variant(self, name: str) -> Variant:
        if name not in self.variants:
            raise InputError(f"no prompt variant {name!r} for {self.name}; there are {', '.join(self.variants)}")
        return self.variants[name]


def question_of(dataset: str, folder: Path | None = None) -> Question:
    """The question of a data set: ours, or as a file of that name in `folder` has it."""
    name = QUESTIONS[dataset]
    own = folder / f"{name}.toml" if folder else None
    if folder and not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    path = own if own and own.exists() else files("cmi.bench.prompts").joinpath(f"{name}.toml")
    return read_question(path, name, labels_of(dataset))


def labels_of(dataset: str) -> tuple[str, ...]:
    """The labels that the data set's answers are taken from; none where answers are free."""
    if dataset == "GS_key":
        tonics = import_module("cmi.bench.tasks.key").TONICS
        return tuple(f"{tonic} {mode}" for mode in ("major", "minor") for tonic in tonics)
    if dataset not in _LABELS:
        return ()
    task, name = _LABELS[dataset]
    return tuple(getattr(import_module(f"cmi.bench.tasks.{task}"), name))


def read_question(path: Path | Traversable, name: str, labels: tuple[str, ...]) -> Question:
    """A question from its file; InputError says which field is wrong."""
    where = str(path) if isinstance(path, Path) else path.name
    table = read_table(path, where)
    kind = check_config({key: table.pop(key) for key in ("major", "minor") if key in table}, TaskKind, where)
    stated = check_config(table, dict[str, VariantTable], where)
    if not stated:
        raise InputError(f"{where}: no variant, such as a table [plain] with a 'wording'")
    variants = {
        key: Variant(key, one.wording.strip().replace("{labels}", ", ".join(labels)), one.few_shot)
        for key, one in stated.items()
    }
    return Question(name, kind.major, kind.minor, variants)
