from cmi.rewardbench.evaluation.cells import RewardCell as RewardCell
from cmi.rewardbench.runs.run import evaluate as evaluate
