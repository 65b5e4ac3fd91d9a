"""The matrix of an ablation: a TOML file with variants of a training configuration, and the tables they belong to.

    reference = "all"                  # the variant that the others are compared with

    [variants.all]                     # the base configuration as it is

    [variants.no-smoothing]
    loss.label_smoothing = 0.0         # any setting of `cmi train`

    [variants.quarter]
    train.0.fraction = 0.25            # of the first source
    steps = "0.25x"                    # times the base's

    [variants.experts]
    after = "all"                      # a second stage: begins with the model of that variant
    train = ["cmi-pref"]

    [variants.experts-linear]
    like = "experts"                   # the settings of that variant, and these
    loss.mapping = "linear"

`test` lists sources as `train` does, their split being `test`; without it, variants are tested on what the base
validates on. Paths start at the file's folder. The matrices that come with cmi are named without a path; theirs start
at the current folder.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from cmi._util.config import check_config, read_table
from cmi._util.errors import InputError
from cmi.preferences import AXES
from cmi.reward.train.config import Start, TrainConfig, TrainingSource, change_config, full_sources
from cmi.take import Axis

Measure = Literal["mean", "musicality", "alignment", "overall", "cross-entropy"]
Settings = dict[str, Any]

_FOLDER = "matrices"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class MatrixTable:
    """Rows that are shown together; `paper` has printed numbers by test set and variant, shown beside ours."""

    title: str
    variants: tuple[str, ...]
    reference: str = ""  # by default the matrix's
    axes: tuple[Axis, ...] = AXES
    by: Literal["", "modality"] = ""
    paper: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """The claim that one variant is better than another by a measure, or that they are equal."""

    text: str
    better: str
    worse: str
    section: str = ""
    measure: Measure = "mean"
    on: Literal["", "pairs", "ratings"] = ""  # test sets; '' for both kinds
    same: bool = False


@dataclass(frozen=True)
class Matrix:
    reference: str
    variants: dict[str, Settings]
    test: tuple[TrainingSource, ...] = ()
    tables: tuple[MatrixTable, ...] = ()
    findings: tuple[Claim, ...] = ()

    def __post_init__(self) -> None:
        for name in self.variants:
            if not _NAME.fullmatch(name):
                raise ValueError(f"variant {name!r}: expected letters, digits, '.', '_' and '-', as in a folder's name")
        for name, settings in self.variants.items():
            for field_name in ("like", "after"):
                if settings.get(field_name):
                    self._require(settings[field_name], f"{field_name!r} of variant {name!r}")
        self._require(self.reference, "'reference'")
        for table in self.tables:
            for name in (*table.variants, *([table.reference] if table.reference else [])):
                self._require(name, f"table {table.title!r}")
        for claim in self.findings:
            for name in (claim.better, claim.worse):
                self._require(name, f"finding {claim.text!r}")
        if any(source.share is not None for source in self.test):
            raise ValueError("'test' has a 'share', which is for 'validation'")

    def _require(self, name: object, where: str) -> None:
        if not isinstance(name, str) or name not in self.variants:
            raise ValueError(f"{where}: {unknown_variant(name, self.variants)}")


@dataclass(frozen=True)
class Variant:
    """`after` names the variant from whose model it starts, '' for none; `changes` describes the differences."""

    name: str
    config: TrainConfig
    after: str = ""
    changes: str = ""


def unknown_variant(name: object, known: Iterable[str]) -> str:
    near = get_close_matches(str(name), list(known), n=1)
    meant = f"did you mean {near[0]!r}? There" if near else "there"
    return f"no variant is called {name!r}; {meant} are {', '.join(known)}"


def bundled_matrices() -> list[str]:
    """The names of the matrices that come with cmi."""
    entries = (files("cmi.ablate") / _FOLDER).iterdir()
    return sorted(Path(entry.name).stem for entry in entries if entry.name.endswith(".toml"))


def load_matrix(name: str) -> tuple[Matrix, Path]:
    """Load a matrix from a file, or a bundled one by its name; also return the folder that its paths are relative to.

    The folder is absolute, so that configurations can be changed again (`change_config`).
    """
    path = Path(name)
    if name in bundled_matrices() and not path.exists():
        table, folder = read_table(files("cmi.ablate") / _FOLDER / f"{name}.toml", f"{name}.toml"), Path.cwd()
    elif path.is_file():
        table, folder = read_table(path), path.absolute().parent
    else:
        raise InputError(f"{name}: no such file; expected a TOML file or one of {', '.join(bundled_matrices())}")
    if "test" in table:
        table["test"] = full_sources(table["test"], "test")
    return check_config(table, Matrix, name, folder), folder


def plan_variants(base: TrainConfig, matrix: Matrix, name: str, folder: Path, runs: Path) -> list[Variant]:
    """Return all variants, each after the one it starts from; their models go to folders in `runs`.

    `name` and `folder` are those of the matrix. InputError for an unknown setting or a cycle of variants.
    """
    found: dict[str, Variant] = {}

    def plan(wanted: str, waiting: tuple[str, ...]) -> Variant:
        if wanted in waiting:
            raise InputError(f"{name}: {' -> '.join((*waiting, wanted))}: a variant is like or after itself")
        if wanted not in found:
            own = dict(matrix.variants[wanted])
            like, after = own.pop("like", ""), own.pop("after", None)
            start = plan(like, (*waiting, wanted)) if like else Variant("", base)
            after = start.after if after is None else after
            config = start.config
            if after:
                plan(after, (*waiting, wanted))
                config = replace(config, model=Start(str(runs / after)))
            elif start.after:
                config = replace(config, model=base.model)
            config = change_config(config, own, f"{name}: variant {wanted!r}", folder)
            found[wanted] = Variant(wanted, config, after, ", ".join([*([f"as {like}"] if like else []), *flat(own)]))
        return found[wanted]

    for each in matrix.variants:
        plan(each, ())
    return list(found.values())


def flat(settings: Mapping[str, Any], above: str = "") -> list[str]:
    """Return settings as text, such as `loss.mapping = none`."""
    words: list[str] = []
    for key, value in settings.items():
        if isinstance(value, dict):
            words += flat(value, f"{above}{key}.")
        else:
            words.append(f"{above}{key} = {_word(value)}")
    return words


def _word(value: Any) -> str:
    if isinstance(value, list):
        return " + ".join(map(_word, value))
    if isinstance(value, dict):
        return " ".join(str(one) for one in value.values())
    return str(value)


def choose_variants(variants: list[Variant], only: Iterable[str], reference: str) -> list[Variant]:
    """Return the named variants, the reference, and those that they start from; all if none is named."""
    known = {variant.name: variant for variant in variants}
    names = list(only)
    for name in names:
        if name not in known:
            raise InputError(unknown_variant(name, known))
    chosen: set[str] = set()
    waiting = [*names, reference] if names else list(known)
    while waiting:
        name = waiting.pop()
        if name and name not in chosen:
            chosen.add(name)
            waiting.append(known[name].after)
    return [variant for variant in variants if variant.name in chosen]


def scale_steps(config: TrainConfig, factor: float) -> TrainConfig:
    """Multiply the steps, the warmup and the steps between validations by a factor."""
    warmup = round(factor * config.optimizer.warmup)
    return replace(
        config,
        steps=max(1, round(factor * config.steps)),
        validate_every=max(1, round(factor * config.validate_every)),
        optimizer=replace(config.optimizer, warmup=warmup),
    )
