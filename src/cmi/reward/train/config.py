"""What is trained, on what and how: a YAML file, checked field by field before anything else happens.

Every section is a frozen dataclass below; a field without a default must be stated. A field that is not known, has
another type or lies out of its range is an InputError that names the file, the field and what was expected.

Relative paths start at the file's folder. The configurations that come with cmi are named without a path
(`paper-stage1`); theirs start at the current folder.
"""

import re
import types
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from cmi._util.errors import InputError
from cmi._util.yaml_files import read_yaml
from cmi.reward.engine.windows import WINDOWS
from cmi.reward.model.head import DOWNSAMPLERS, Downsampling
from cmi.reward.train.loss import Mapping

Section = TypeVar("Section")

# One section of a recording is judged in a step: windows that average over several are for scoring.
TRAINED_WINDOWS = tuple(name for name, window in WINDOWS.items() if window.section == window.limit)
_SCIENTIFIC = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+")  # 1e-4 is text to YAML 1.1, and a number to everybody else


def _number(least: float, most: float, default: Any = MISSING) -> Any:
    return field(default=default, metadata={"range": (least, most)})


@dataclass(frozen=True)
class Architecture:
    """Of a fresh head, where it differs from that of the checkpoint."""

    prompt_depth: int | None = _number(1, 64, None)
    joint_depth: int | None = _number(1, 64, None)
    heads: int | None = _number(1, 256, None)
    ff_hidden: int | None = _number(1, 65536, None)
    mlp_dim: int | None = _number(1, 65536, None)
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


@dataclass(frozen=True)
class Source:
    """A file of preferences or of ratings; of its rows those of a split, if one is named.

    In an epoch each example is drawn `weight` times; of a fraction, another random part in every epoch.
    """

    preferences: Path | None = None
    ratings: Path | None = None
    split: str = ""
    weight: float = _number(0.001, 1000, 1.0)

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

    label_smoothing: float = _number(0, 0.999, 0.2)
    mapping: Mapping = "tanh"
    confidence_weighting: bool = False
    rating_weight: float = _number(0, 1000, 1.0)
    wrong_prompts: float = _number(0, 1000, 0.0)


@dataclass(frozen=True)
class Optimizer:
    """AdamW: `lr` is reached after `warmup` steps and falls along a cosine to 0 at the last step."""

    lr: float = _number(0, 1, 1e-4)
    weight_decay: float = _number(0, 1, 0.01)
    warmup: int = _number(0, 10**7, 100)
    clip: float = _number(1e-6, 10**6, 1.0)  # the gradient's norm at most


@dataclass(frozen=True)
class ModalityDropout:
    """How probably a part of an example's prompt is left out of a step."""

    text: float = _number(0, 1, 0.0)
    lyrics: float = _number(0, 1, 0.0)
    reference: float = _number(0, 1, 0.0)


@dataclass(frozen=True)
class TrainConfig:
    model: Start
    data: tuple[Source, ...]
    validation: tuple[Source, ...] = ()
    loss: LossSettings = LossSettings()
    optimizer: Optimizer = Optimizer()
    modality_dropout: ModalityDropout = ModalityDropout()
    steps: int = _number(1, 10**7, 2000)
    batch: int = _number(1, 65536, 48)
    micro_batch: int | None = _number(1, 65536, None)  # examples in memory at a time; by default all of a batch
    validate_every: int = _number(1, 10**7, 50)  # steps; the run can be resumed from each validation
    early_stop: int | None = _number(1, 10**6, None)  # validations without a better one
    seed: int = _number(0, 2**63 - 1, 0)
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    window: str = "first120"
    memory_gb: float = _number(0, 10**6, 8.0)  # of tokens held in memory by a process; the rest is read from disk
    cache_gb: float = _number(0.001, 10**6, 1000.0)  # of tokens kept on disk


def bundled_configs() -> list[str]:
    """The names of the configurations that come with cmi."""
    folder = files("cmi.reward.train") / "configs"
    return sorted(Path(entry.name).stem for entry in folder.iterdir() if entry.name.endswith(".yaml"))


def load_config(name: str) -> TrainConfig:
    """The configuration in a file, or one of cmi's own by its bare name."""
    if name in bundled_configs() and not Path(name).exists():
        with as_file(files("cmi.reward.train") / "configs" / f"{name}.yaml") as path:
            return _read(path, f"{name}.yaml", Path())
    path = Path(name)
    if not path.is_file():
        raise InputError(f"{name}: no such file; expected a YAML file or one of {', '.join(bundled_configs())}")
    return _read(path, str(path), path.parent)


def _read(path: Path, name: str, folder: Path) -> TrainConfig:
    try:
        config = _section(TrainConfig, read_yaml(path, name), "", folder)
        _check(config)
    except _Problem as problem:
        raise InputError(f"{name}: {problem}") from problem
    return config


class _Problem(Exception):
    """What is wrong with a field."""


def _section(kind: type[Section], value: Any, where: str, folder: Path) -> Section:
    if not isinstance(value, dict):
        raise _Problem(f"{_quoted(where)}{_kind(value)}, expected a mapping")
    hints = get_type_hints(kind)
    known = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    for key in value:
        if key not in known:
            raise _Problem(f"{str(_inside(where, key))!r} is not known, expected one of {', '.join(known)}")
    stated = {}
    for key, about in known.items():
        inside = _inside(where, key)
        if key in value:
            stated[key] = _value(hints[key], value[key], inside, folder)
            _check_range(stated[key], about.metadata.get("range"), inside)
        elif about.default is MISSING and about.default_factory is MISSING:
            raise _Problem(f"{inside!r} is missing")
    return kind(**stated)


def _value(hint: Any, value: Any, where: str, folder: Path) -> Any:
    """A value of the hint's type; whole numbers pass for numbers, and text in scientific notation does too."""
    if get_origin(hint) in (Union, types.UnionType):
        options = [option for option in get_args(hint) if option is not type(None)]
        return None if value is None else _value(options[0], value, where, folder)
    if is_dataclass(hint):
        assert isinstance(hint, type)
        return _section(hint, value, where, folder)
    if get_origin(hint) is tuple:
        if not isinstance(value, list) or not value:
            raise _Problem(f"{where!r} is {_kind(value)}, expected a list with one entry or more")
        return tuple(_value(get_args(hint)[0], each, f"{where}[{i}]", folder) for i, each in enumerate(value))
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            raise _Problem(f"{where!r} is {value!r}, expected one of {', '.join(get_args(hint))}")
        return value
    if hint is Path and isinstance(value, str) and value:
        return folder / Path(value).expanduser()
    if hint is float and isinstance(value, str) and _SCIENTIFIC.fullmatch(value):
        return float(value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint is Path or not isinstance(value, hint) or (hint is not bool and isinstance(value, bool)):
        raise _Problem(f"{where!r} is {_kind(value)}, expected {_WORDS[hint]}")
    return value


_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", Path: "a path"}


def _kind(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else f"a list of {len(value)}"
    return "nothing" if value is None else repr(value)


def _inside(where: str, key: object) -> str:
    return f"{where}.{key}" if where else str(key)


def _quoted(where: str) -> str:
    return f"{where!r} is " if where else ""


def _check_range(value: Any, limits: tuple[float, float] | None, where: str) -> None:
    if limits is not None and value is not None and not limits[0] <= value <= limits[1]:
        raise _Problem(f"{where!r} is {value}, expected {limits[0]:g} to {limits[1]:g}")


def _check(config: TrainConfig) -> None:
    """What holds between fields."""
    for part, sources in (("data", config.data), ("validation", config.validation)):
        for i, source in enumerate(sources):
            if (source.preferences is None) == (source.ratings is None):
                raise _Problem(f"'{part}[{i}]' must name a file of 'preferences' or one of 'ratings'")
    if config.model.architecture is not None:
        if config.model.head != "fresh":
            raise _Problem("'model.architecture' is for a fresh head: set 'model.head' to fresh")
        for part in ("take", "reference", "text"):
            _check_downsampling(getattr(config.model.architecture, part), f"model.architecture.{part}")
    if config.window not in TRAINED_WINDOWS:
        raise _Problem(f"'window' is {config.window!r}, expected one of {', '.join(TRAINED_WINDOWS)}")
    if config.early_stop is not None and not config.validation:
        raise _Problem("'early_stop' needs 'validation', which is missing")


def _check_downsampling(spec: Downsampling | None, where: str) -> None:
    if spec is None:
        return
    if spec.kind != "none" and spec.kind not in DOWNSAMPLERS:
        raise _Problem(f"'{where}.kind' is {spec.kind!r}, expected one of none, {', '.join(DOWNSAMPLERS)}")
    for name in ("factor", "kernel_size", "stage", "mlp_ratio"):
        if getattr(spec, name) <= 0:
            raise _Problem(f"'{where}.{name}' is {getattr(spec, name)}, expected more than 0")
