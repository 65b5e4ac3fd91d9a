"""The recipes' own modules are imported by name, as the scripts themselves do; and the fixtures of training."""

import sys
from pathlib import Path

from ..reward.train.conftest import checkpoint, music, settings, shared_cache, surroundings, write_config  # noqa: F401

RECIPES = Path(__file__).resolve().parents[2] / "recipes"
sys.path += [str(folder) for folder in (RECIPES, *sorted(RECIPES.iterdir())) if folder.is_dir()]
