"""cmi judges music made or heard by machines under compositional multimodal instruction: text, lyrics, reference audio.

Three lines to each job:

    scores = cmi.load_scorer("nano").score([cmi.Take(cmi.Prompt("slow sad piano"), Path("take.wav"))])
    best = cmi.pick_best(takes, cmi.load_scorer("nano"))
    cells = cmi.bench.score("answers/", annotations="annotations/")
    cells = cmi.rewardbench.evaluate("nano", "votes.jsonl")
    ranking = cmi.stats.rank(cmi.read_preferences("votes.jsonl"))
    labels = cmi.judge.label("pairs.jsonl", "scorer:nano", "runs/labels")

Names are imported when they are first used: `import cmi` loads neither numpy nor torch.
"""

from typing import TYPE_CHECKING

from cmi._util.lazy import lazy_names

if TYPE_CHECKING:
    from cmi import bench, judge, llm, rewardbench, stats, studio, testing
    from cmi._util.errors import InputError
    from cmi.audio import Waveform
    from cmi.preferences import Preference, read_preferences, write_preferences
    from cmi.reward.model.reward_model import RewardModel
    from cmi.reward.pick.pick import pick_best
    from cmi.reward.scoring.rl import reward_function
    from cmi.reward.scoring.scorers import load_scorer
    from cmi.take import Pair, Prompt, Score, Take, read_takes

__version__ = "0.1.0"
__all__ = [
    "InputError",
    "Pair",
    "Preference",
    "Prompt",
    "RewardModel",
    "Score",
    "Take",
    "Waveform",
    "bench",
    "judge",
    "llm",
    "load_scorer",
    "pick_best",
    "read_preferences",
    "read_takes",
    "reward_function",
    "rewardbench",
    "stats",
    "studio",
    "testing",
    "write_preferences",
]
__getattr__, __dir__ = lazy_names(
    __name__,
    __all__,
    {
        "_util.errors": ("InputError",),
        "audio": ("Waveform",),
        "preferences": ("Preference", "read_preferences", "write_preferences"),
        "reward.model.reward_model": ("RewardModel",),
        "reward.pick.pick": ("pick_best",),
        "reward.scoring.rl": ("reward_function",),
        "reward.scoring.scorers": ("load_scorer",),
        "take": ("Pair", "Prompt", "Score", "Take", "read_takes"),
    },
)
