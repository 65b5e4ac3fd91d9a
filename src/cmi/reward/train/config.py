"""The training configuration: a YAML file that is validated before anything else happens.

Every section is a frozen dataclass below; a field without a default is required. An unknown field or a value of the
wrong type or range is an InputError that names the file, the field and what was expected.

Relative paths start at the file's folder. The configurations that come with cmi are named without a path
(`paper-stage1`); their paths start at the current folder.

A source of data may also be just a name: of a data set (`cmi-pref`, `cmi-pref=FOLDER`) or of a file. Its split is then
`train` for training and `valid` for validation, and `validation: {share: 0.2}` holds out training data.
"""

import json
import re
from collections.abc import Mapping as MappingLike
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, Field, ValidationInfo

from cmi._util.config import check_config, config_path, read_table
from cmi._util.errors import InputError
from cmi.preferences import AXES
from cmi.reward.engine.windows import WINDOWS
from cmi.reward.model.head import Downsampling
from cmi.reward.train.loss import Mapping
from cmi.take import Axis

_FACTOR = re.compile(r"(\d+(?:\.\d+)?) ?x")
VOTES = "own-votes"  # the configuration for preferences or ratings that are named instead of one
LABELS = (".jsonl", ".csv", ".parquet", ".gz")
MUQ_MULAN = ("muq-mulan", "OpenMuQ/MuQ-MuLan-large")
# A step scores one section of a recording; windows that average over several sections are for scoring only.
TRAINED_WINDOWS = tuple(name for name, window in WINDOWS.items() if window.section == window.limit)


def _resolve_set(given: str, info: ValidationInfo) -> str:
    """Resolve the path in NAME=FOLDER, or of a file, against the configuration's folder."""
    # Imported here because cmi.rewardbench imports cmi.reward; its readers of data sets do not.
    from cmi.rewardbench.data import data_sets, named

    name, equals, folder = given.partition("=")
    if given in data_sets():
        return given
    if not equals or name == "own":
        return str(config_path(Path(folder or given), info))
    try:
        return f"{named(name).name}={config_path(Path(folder), info)}"
    except InputError as error:
        raise ValueError(f"is {given!r}: {error}") from error


ConfigPath = Annotated[Path, AfterValidator(config_path)]
Count = Annotated[int, Field(ge=1, le=10**7)]
Size = Annotated[int, Field(ge=1, le=65536)]
Depth = Annotated[int, Field(ge=1, le=64)]
Heads = Annotated[int, Field(ge=1, le=256)]
Share = Annotated[float, Field(ge=0, le=1)]
Weight = Annotated[float, Field(ge=0, le=1000)]
Gigabytes = Annotated[float, Field(ge=0, le=10**6)]


@dataclass(frozen=True)
class Architecture:
    """The sizes of a fresh head, as far as they differ from the checkpoint's."""

    prompt_depth: Depth | None = None
    joint_depth: Depth | None = None
    heads: Heads | None = None
    ff_hidden: Size | None = None
    mlp_dim: Size | None = None
    take: Downsampling | None = None
    reference: Downsampling | None = None
    text: Downsampling | None = None


@dataclass(frozen=True)
class Start:
    """A checkpoint (a folder, a hub id at a revision, or `nano`): its encoder is frozen, its head is kept or new.

    `muq-mulan` (published) or `muq-mulan=FOLDER` is an encoder alone, for a fresh head.
    """

    checkpoint: str
    revision: str | None = None
    head: Literal["keep", "fresh"] = "keep"
    architecture: Architecture | None = None

    def __post_init__(self) -> None:
        if self.is_encoder and self.head != "fresh":
            raise ValueError(f"starts from {self.checkpoint!r}, which has no head to keep: set 'head' to fresh")
        if self.architecture is not None and self.head != "fresh":
            raise ValueError("has an 'architecture', which is for a fresh head: set 'head' to fresh")

    @property
    def is_encoder(self) -> bool:
        """True if the checkpoint is MuQ-MuLan, which has no head."""
        return self.checkpoint.partition("=")[0] in MUQ_MULAN


@dataclass(frozen=True)
class TrainingSource:
    """A data set, or a file of preferences or ratings; only the rows of `split`, if given.

    `limit` or `fraction` draws that many examples, or that share of them, by the `seed`. In an epoch each example is
    used `weight` times; of a fractional weight, the rest is another random subset in every epoch. A validation source
    may be a `share` of the training data instead: that share of the prompts, which are then not trained on.
    """

    preferences: ConfigPath | None = None
    ratings: ConfigPath | None = None
    dataset: Annotated[str, AfterValidator(_resolve_set)] | None = None
    share: Annotated[float, Field(ge=0.001, le=0.9)] | None = None
    split: str = ""
    weight: Annotated[float, Field(ge=0.001, le=1000)] = 1.0
    limit: Count | None = None
    fraction: Annotated[float, Field(ge=1e-6, le=1)] = 1.0
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.preferences, self.ratings, self.dataset, self.share)) != 1:
            raise ValueError("must name a file of 'preferences' or one of 'ratings', or a 'dataset'")
        if self.share is not None and (self.split or self.limit):
            raise ValueError("is a 'share' of the training data, which has no 'split' and no 'limit' of its own")

    @property
    def place(self) -> str:
        """The file or the data set, for messages."""
        return str(self.preferences or self.ratings or self.dataset or "validation")

    @property
    def name(self) -> str:
        """The name without folders, which model cards should not reveal."""
        if self.share is not None:
            return f"{100 * self.share:g} % of training"
        name = self.place.partition("=")[0] if self.dataset else self.place
        return Path(name).name + (f" ({self.split})" if self.split else "")


@dataclass(frozen=True)
class LossSettings:
    """Settings of `cmi.reward.train.loss`."""

    label_smoothing: Annotated[float, Field(ge=0, le=0.999)] = 0.2
    mapping: Mapping = "tanh"
    confidence_weighting: bool = False
    rating_weight: Weight = 1.0
    wrong_prompts: Weight = 0.0


@dataclass(frozen=True)
class Optimizer:
    """AdamW: `lr` is reached after `warmup` steps and falls along a cosine to 0 at the last step."""

    lr: Share = 1e-4
    weight_decay: Share = 0.01
    warmup: Annotated[int, Field(ge=0, le=10**7)] = 100
    clip: Annotated[float, Field(ge=1e-6, le=10**6)] = 1.0  # greatest norm of the gradient


@dataclass(frozen=True)
class ModalityDropout:
    """The probability that a part of an example's prompt is left out in a step."""

    text: Share = 0.0
    lyrics: Share = 0.0
    reference: Share = 0.0


@dataclass(frozen=True)
class TrainConfig:
    model: Start
    data: Annotated[
        tuple[TrainingSource, ...], Field(min_length=1, validation_alias=AliasChoices("train", "data"))
    ]  # `train` in a file; `data` is its older name
    validation: tuple[TrainingSource, ...] = ()
    loss: LossSettings = LossSettings()
    optimizer: Optimizer = Optimizer()
    modality_dropout: ModalityDropout = ModalityDropout()
    axes: Annotated[tuple[Axis, ...], Field(min_length=1)] = AXES  # labels on other axes are ignored
    prompts: bool = True  # False: all takes are scored with an empty prompt, also in validation
    steps: Count = 2000
    batch: Size = 48
    micro_batch: Size | None = None  # examples in memory at a time; by default all of a batch
    validate_every: Count = 50  # steps; the run can be resumed from each validation
    early_stop: Count | None = None  # number of validations without improvement
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    window: str = "first120"
    memory_gb: Gigabytes = 8.0  # for tokens in the memory of a process; the rest is read from disk
    cache_gb: Gigabytes = 1000.0  # for tokens on disk

    def __post_init__(self) -> None:
        if self.window not in TRAINED_WINDOWS:
            raise ValueError(f"'window' is {self.window!r}, expected one of {', '.join(TRAINED_WINDOWS)}")
        if any(source.share is not None for source in self.data):
            raise ValueError("'train' has a 'share', which is for 'validation'")
        if self.early_stop is not None and not self.validation:
            raise ValueError("'early_stop' needs 'validation', which is missing")


def bundled_configs() -> list[str]:
    """Return the names of the configurations that come with cmi."""
    folder = files("cmi.reward.train") / "configs"
    return sorted(Path(entry.name).stem for entry in folder.iterdir() if entry.name.endswith(".yaml"))


def _read_bundled(name: str) -> dict[str, Any]:
    return read_table(files("cmi.reward.train") / "configs" / f"{name}.yaml", f"{name}.yaml")


def load_config(name: str) -> TrainConfig:
    """Load a configuration from a file, or one that comes with cmi by its name.

    For a file or folder of preferences or ratings, it is VOTES with these as the data.
    """
    path = Path(name)
    if name in bundled_configs() and not path.exists():
        return check_config(_with_sources(_read_bundled(name)), TrainConfig, f"{name}.yaml", Path())
    if path.is_dir() or (path.is_file() and path.name.lower().endswith(LABELS)):
        return check_config(_with_sources({**_read_bundled(VOTES), "train": [str(path)]}), TrainConfig, name, Path())
    if not path.is_file():
        raise InputError(
            f"{name}: no such file; expected a YAML file, one of {', '.join(bundled_configs())}, or preferences"
        )
    return check_config(_with_sources(read_table(path)), TrainConfig, str(path), path.parent)


def change_config(base: TrainConfig, changes: MappingLike[str, Any], name: str, folder: Path) -> TrainConfig:
    """Return a configuration with changed settings; `name` is used in messages, and paths are relative to `folder`.

    Tables are merged. `{"train": {"0": {"limit": 500}}}` changes only the first source; a list replaces all sources. A
    factor such as "0.5x" multiplies a number. Paths in `base` must be absolute.
    """
    table = json.loads(json.dumps(asdict(base), default=str))
    table["train"] = table.pop("data")
    return check_config(_with_sources(_merge(table, changes, name)), TrainConfig, name, folder)


def _merge(old: Any, new: Any, name: str) -> Any:
    if isinstance(new, dict) and new and all(key.isdecimal() for key in new):
        count = len(old) if isinstance(old, list) else 0
        if too_high := next((key for key in new if int(key) >= count), None):
            raise InputError(f"{name}: source {too_high} is changed, but there are {count}, counted from 0")
        return [_merge(one, new[str(i)], name) if str(i) in new else one for i, one in enumerate(old)]
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: _merge(old.get(key), value, name) for key, value in new.items()}}
    if isinstance(old, int | float) and isinstance(new, str) and (factor := _FACTOR.fullmatch(new)):
        scaled = float(factor[1]) * old
        return max(min(1, old), round(scaled)) if isinstance(old, int) else scaled
    return new


def full_sources(given: Any, split: str) -> Any:
    """Expand the short forms of sources: a name alone, or a data set without its split."""
    if isinstance(given, str) or (isinstance(given, dict) and "share" in given):
        given = [given]
    if not isinstance(given, list):
        return given
    sources = [{"dataset": source} if isinstance(source, str) else source for source in given]
    return [
        {"split": split, **source} if isinstance(source, dict) and "dataset" in source else source for source in sources
    ]


def _with_sources(table: dict[str, Any]) -> dict[str, Any]:
    splits = {"train": "train", "data": "train", "validation": "valid"}
    return {part: full_sources(given, splits[part]) if part in splits else given for part, given in table.items()}
