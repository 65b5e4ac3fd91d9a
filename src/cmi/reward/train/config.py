"""What is trained, on what and how: a YAML file, checked field by field before anything else happens.

Every section is a frozen dataclass below; a field without a default must be stated. A field that is not known, has
another type or lies out of its range is an InputError that names the file, the field and what was expected.

Relative paths start at the file's folder. The configurations that come with cmi are named without a path
(`paper-stage1`); theirs start at the current folder.
"""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from cmi._util.config import config_path, read_config
from cmi._util.errors import InputError
from cmi.reward.engine.windows import WINDOWS
from cmi.reward.model.head import Downsampling
from cmi.reward.train.loss import Mapping

# One section of a recording is judged in a step: windows that average over several are for scoring.
TRAINED_WINDOWS = tuple(name for name, window in WINDOWS.items() if window.section == window.limit)


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
    """Of a fresh head, where it differs from that of the checkpoint."""

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
    """A checkpoint (a folder, or a hub id at a revision) whose encoder is frozen, and whose head is kept or new."""

    checkpoint: str
    revision: str | None = None
    head: Literal["keep", "fresh"] = "keep"
    architecture: Architecture | None = None

    def __post_init__(self) -> None:
        if self.architecture is not None and self.head != "fresh":
            raise ValueError("has an 'architecture', which is for a fresh head: set 'head' to fresh")


@dataclass(frozen=True)
class TrainingSource:
    """A file of preferences or of ratings; of its rows those of a split, if one is named.

    In an epoch each example is drawn `weight` times; of a fraction, another random part in every epoch.
    """

    preferences: ConfigPath | None = None
    ratings: ConfigPath | None = None
    split: str = ""
    weight: Annotated[float, Field(ge=0.001, le=1000)] = 1.0

    def __post_init__(self) -> None:
        if (self.preferences is None) == (self.ratings is None):
            raise ValueError("must name a file of 'preferences' or one of 'ratings'")

    @property
    def path(self) -> Path:
        path = self.preferences or self.ratings
        assert path is not None
        return path

    @property
    def name(self) -> str:
        return self.path.name + (f" ({self.split})" if self.split else "")


@dataclass(frozen=True)
class LossSettings:
    """As `cmi.reward.train.loss` has them."""

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
    clip: Annotated[float, Field(ge=1e-6, le=10**6)] = 1.0  # the gradient's norm at most


@dataclass(frozen=True)
class ModalityDropout:
    """How probably a part of an example's prompt is left out of a step."""

    text: Share = 0.0
    lyrics: Share = 0.0
    reference: Share = 0.0


@dataclass(frozen=True)
class TrainConfig:
    model: Start
    data: Annotated[tuple[TrainingSource, ...], Field(min_length=1)]
    validation: tuple[TrainingSource, ...] = ()
    loss: LossSettings = LossSettings()
    optimizer: Optimizer = Optimizer()
    modality_dropout: ModalityDropout = ModalityDropout()
    steps: Count = 2000
    batch: Size = 48
    micro_batch: Size | None = None  # examples in memory at a time; by default all of a batch
    validate_every: Count = 50  # steps; the run can be resumed from each validation
    early_stop: Count | None = None  # validations without a better one
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    window: str = "first120"
    memory_gb: Gigabytes = 8.0  # of tokens held in memory by a process; the rest is read from disk
    cache_gb: Gigabytes = 1000.0  # of tokens kept on disk

    def __post_init__(self) -> None:
        if self.window not in TRAINED_WINDOWS:
            raise ValueError(f"'window' is {self.window!r}, expected one of {', '.join(TRAINED_WINDOWS)}")
        if self.early_stop is not None and not self.validation:
            raise ValueError("'early_stop' needs 'validation', which is missing")


def bundled_configs() -> list[str]:
    """The names of the configurations that come with cmi."""
    folder = files("cmi.reward.train") / "configs"
    return sorted(Path(entry.name).stem for entry in folder.iterdir() if entry.name.endswith(".yaml"))


def load_config(name: str) -> TrainConfig:
    """The configuration in a file, or one of cmi's own by its bare name."""
    if name in bundled_configs() and not Path(name).exists():
        return read_config(files("cmi.reward.train") / "configs" / f"{name}.yaml", TrainConfig, f"{name}.yaml", Path())
    path = Path(name)
    if not path.is_file():
        raise InputError(f"{name}: no such file; expected a YAML file or one of {', '.join(bundled_configs())}")
    return read_config(path, TrainConfig, folder=path.parent)
