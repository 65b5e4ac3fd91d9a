"""Load scorers by name, score takes, and log the scores."""

from cmi.reward.scoring.score_log import ScoreLog, score_takes
from cmi.reward.scoring.scorers import NamedScorer, ScoredTake, load_scorer

__all__ = ["NamedScorer", "ScoreLog", "ScoredTake", "load_scorer", "score_takes"]
