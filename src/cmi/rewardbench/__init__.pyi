from cmi.rewardbench.evaluation.cells import RewardCell as RewardCell
from cmi.rewardbench.runs.evaluate import evaluate as evaluate
