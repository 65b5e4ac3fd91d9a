from cmi.judge.labels import label as label
from cmi.judge.load_judge import Spec as Spec
from cmi.judge.load_judge import open_judge as open_judge
from cmi.judge.verdict import Judge as Judge
from cmi.judge.verdict import Verdict as Verdict
