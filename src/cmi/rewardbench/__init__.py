"""CMI-RewardBench: how well does a scorer agree with people? Five tasks."""

from typing import TYPE_CHECKING

from cmi._util.lazy import lazy_names

if TYPE_CHECKING:
    from cmi.rewardbench.evaluation.cells import RewardCell
    from cmi.rewardbench.runs.run import evaluate

__all__ = ["RewardCell", "evaluate"]
__getattr__, __dir__ = lazy_names(__name__, __all__, {"evaluation.cells": ("RewardCell",), "runs.run": ("evaluate",)})
