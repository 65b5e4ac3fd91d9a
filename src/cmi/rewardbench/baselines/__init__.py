"""Published metrics of generated music as scorers, by short names.

    muq-mulan, muq-mulan-all               MuQ-MuLan similarity
    clap, clap-music                       LAION CLAP similarity
    clamp3                                 CLaMP 3 similarity
    audiobox-ce, -cu, -pc, -pq             Audiobox Aesthetics
    songeval, songeval-coherence, ...      SongEval
    pam                                    PAM
    tags                                   musicnn's tags and MiniLM, untrained (`cmi.reward.scoring.tags`)
    cmi-rm, nano                           reward models of `cmi.reward`

A name alone fetches the published checkpoint at a pinned revision. `NAME=FOLDER` reads it from a folder (or another hub
id) instead; where a metric stands on two checkpoints, they are `NAME=FOLDER,FOLDER` in the order of docs/baselines.md,
and an empty one is the published one.

An axis that a metric says nothing about is 0 for every take: a tie, never a guess. `axes_of` tells which axes count.
"""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi._util.hub import require_packages
from cmi.reward.scoring.load_scorer import TAGS, NamedScorer, load_scorer
from cmi.take import Axis

MUSICALITY: tuple[Axis, ...] = ("musicality",)
ALIGNMENT: tuple[Axis, ...] = ("alignment",)
BOTH: tuple[Axis, ...] = ("musicality", "alignment")


class Baseline(NamedTuple):
    """A metric: `load(places, device, **options)` of a module in this package, and the axes that it speaks about."""

    module: str
    axes: tuple[Axis, ...]
    options: Mapping[str, Any] = {}

    def load(self, name: str, places: Sequence[str], device: str) -> NamedScorer:
        """From `places`, folders or hub ids; the published checkpoints where there is none."""
        require_packages(f"the baseline {name}", "reward", "torch", "transformers", "safetensors", "huggingface_hub")
        module = importlib.import_module(f"{__name__}.{self.module}")
        if len(places) > len(module.SOURCES):
            raise InputError(f"{name} stands on {len(module.SOURCES)} checkpoints, and {len(places)} were given")
        loaded: NamedScorer = module.load(places, device, **self.options)
        loaded.name = f"{name} ({loaded.name})"
        return loaded


BASELINES: dict[str, Baseline] = {
    "muq-mulan": Baseline("muq_mulan", ALIGNMENT),
    "muq-mulan-all": Baseline("muq_mulan", ALIGNMENT, {"whole_prompt": True}),
    "clap": Baseline("clap", ALIGNMENT),
    "clap-music": Baseline("clap", ALIGNMENT, {"music": True}),
    "clamp3": Baseline("clamp3", ALIGNMENT),
    # The paper gives Audiobox's four numbers on both axes (its tables 2 and 21), and no other metric's.
    **{f"audiobox-{axis.lower()}": Baseline("audiobox", BOTH, {"axis": axis}) for axis in ("CE", "CU", "PC", "PQ")},
    "songeval": Baseline("songeval", MUSICALITY),
    **{
        f"songeval-{dimension}": Baseline("songeval", MUSICALITY, {"dimension": dimension})
        for dimension in ("coherence", "memorability", "clarity", "naturalness")
    },
    "pam": Baseline("pam", MUSICALITY),
}
REWARD_MODELS = {"cmi-rm": "HaiwenXia/CMI-RM", "nano": "nano"}
NAMES: tuple[str, ...] = (*BASELINES, TAGS, *REWARD_MODELS)


def load_baseline(name: str, device: str = "auto") -> NamedScorer:
    """The baseline called `name`, or `name=places`; any other name is one for `cmi.reward.scoring.load_scorer`."""
    short, _, given = name.partition("=")
    if short in BASELINES:
        return BASELINES[short].load(short, given.split(",") if given else (), device)
    return load_scorer(REWARD_MODELS.get(name, name), device=device)


def axes_of(name: str) -> tuple[Axis, ...]:
    """The axes on which the scorer called `name` has something to say; both for a reward model or a class."""
    short = name.partition("=")[0]
    if name == TAGS:
        return ALIGNMENT
    return BASELINES[short].axes if short in BASELINES else BOTH
