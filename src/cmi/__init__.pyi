from cmi import bench as bench
from cmi import judge as judge
from cmi import llm as llm
from cmi import rewardbench as rewardbench
from cmi import stats as stats
from cmi import studio as studio
from cmi import testing as testing
from cmi._util.errors import InputError as InputError
from cmi.audio import Waveform as Waveform
from cmi.generate import GeneratedSound as GeneratedSound
from cmi.generate import Generator as Generator
from cmi.generate.load import load_generator as load_generator
from cmi.preferences import Preference as Preference
from cmi.preferences import read_preferences as read_preferences
from cmi.preferences import write_preferences as write_preferences
from cmi.reward.model.reward_model import RewardModel as RewardModel
from cmi.reward.pick.pick import pick_best as pick_best
from cmi.reward.scoring.rl import axis_rewards as axis_rewards
from cmi.reward.scoring.rl import reward_function as reward_function
from cmi.reward.scoring.scorers import load_scorer as load_scorer
from cmi.take import Pair as Pair
from cmi.take import Prompt as Prompt
from cmi.take import Score as Score
from cmi.take import Take as Take
from cmi.take import read_prompts as read_prompts
from cmi.take import read_takes as read_takes

__version__: str
