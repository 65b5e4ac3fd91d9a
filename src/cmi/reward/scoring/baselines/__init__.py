"""Published metrics of generated music as scorers, by name; to add one, add its module to this folder.

    muq-mulan, muq-mulan-all               MuQ-MuLan similarity
    clap, clap-music                       LAION CLAP similarity
    clamp3                                 CLaMP 3 similarity
    audiobox-ce, -cu, -pc, -pq             Audiobox Aesthetics
    songeval, songeval-coherence, ...      SongEval
    pam                                    PAM
    tunejury, -no-prompt, -clap            TuneJury

A module named `my_metric` holds the metrics `my-metric` and `my-metric-...`, and has

    VARIANTS    the name, axes and options of each
    SOURCES     the published checkpoints that they need
    load        `load(places, device, **options)`, a NamedScorer named by its weights

A name alone fetches the published checkpoint at a pinned revision. `NAME=FOLDER` reads it from a folder (or another hub
id) instead. If a metric needs two checkpoints, they are `NAME=FOLDER,FOLDER` in the order of docs/baselines.md; an
empty one means the published one.

An axis that a metric does not measure is 0 for every take, which makes every pair a tie; `NamedScorer.axes` lists the
axes that it measures.
"""

import importlib
from collections.abc import Mapping, Sequence
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from cmi._util.errors import InputError
from cmi._util.hub import require_packages
from cmi.take import Axis

if TYPE_CHECKING:
    from cmi.reward.scoring.scorers import NamedScorer

MUSICALITY: tuple[Axis, ...] = ("musicality",)
ALIGNMENT: tuple[Axis, ...] = ("alignment",)
BOTH: tuple[Axis, ...] = ("musicality", "alignment")


class BaselineVariant(NamedTuple):
    """A metric of a module: the axes that it measures, and the options of the module's `load`."""

    axes: tuple[Axis, ...]
    options: Mapping[str, Any] = {}


class Baseline(NamedTuple):
    """A metric: its name, its module, and its variant in that module."""

    name: str
    module: ModuleType
    variant: BaselineVariant

    def load(self, places: Sequence[str], device: str) -> "NamedScorer":
        """Load the metric from `places` (folders or hub ids), or from the published checkpoints if there are none."""
        sources = len(self.module.SOURCES)
        if len(places) > sources:
            raise InputError(f"{self.name} needs {sources} checkpoints, but {len(places)} were given")
        loaded: NamedScorer = self.module.load(places, device, **self.variant.options)
        loaded.name, loaded.axes = f"{self.name} ({loaded.name})", self.variant.axes
        return loaded


def find_baseline(name: str) -> Baseline | None:
    """Return the metric called `name`; only modules that could contain it are imported."""
    for family in _families():
        if f"{name}-".startswith(f"{family.replace('_', '-')}-") and "/" not in name:
            module = _import(family)
            if name in getattr(module, "VARIANTS", ()):
                return Baseline(name, module, module.VARIANTS[name])
    return None


def list_baselines() -> list[str]:
    """Return the names of all metrics; this imports their modules."""
    modules = map(_import, _families())
    return [name for module in modules for name in getattr(module, "VARIANTS", ())]


def _families() -> list[str]:
    return [found.name for found in iter_modules(__path__)]


def _import(family: str) -> ModuleType:
    packages = ("torch", "transformers", "safetensors", "huggingface_hub")
    require_packages(f"the baseline {family.replace('_', '-')}", "reward", *packages)
    return importlib.import_module(f"{__name__}.{family}")
