"""cmi judges music made or heard by machines under compositional multimodal instruction."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cmi.audio import Waveform as Waveform
    from cmi.preferences import Preference as Preference
    from cmi.preferences import read_preferences as read_preferences
    from cmi.preferences import write_preferences as write_preferences
    from cmi.reward.model.reward_model import RewardModel as RewardModel
    from cmi.take import Pair as Pair
    from cmi.take import Prompt as Prompt
    from cmi.take import Score as Score
    from cmi.take import Take as Take

__version__ = "0.1.0"

_HOMES = {
    "RewardModel": "cmi.reward.model.reward_model",
    "Waveform": "cmi.audio",
    **dict.fromkeys(("Preference", "read_preferences", "write_preferences"), "cmi.preferences"),
    **dict.fromkeys(("Pair", "Prompt", "Score", "Take"), "cmi.take"),
}


def __getattr__(name: str) -> Any:
    """What users import from here is loaded when they ask for it: `import cmi` stays light."""
    if name not in _HOMES:
        raise AttributeError(f"module 'cmi' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
