"""Music tagging: name what describes a track. Data sets: MagnaTagATune (MTT), MTG-Jamendo's top 50 (MTG_top50tags).

Metrics and protocols are those of `cmi.bench.tasks._tags`.
"""

from collections.abc import Iterable

from cmi.bench.evaluation import Evaluation, Item, Setting
from cmi.bench.tasks import _tags
from cmi.bench.tasks._tags import nulls

__all__ = ["MTG_TOP50", "MTT", "evaluate", "nulls"]

MTT = tuple(
    "ambient,beat,beats,cello,choir,choral,classic,classical,country,dance,drums,electronic,fast,female,female vocal,"
    "female voice,flute,guitar,harp,harpsichord,indian,loud,male,male vocal,male voice,man,metal,new age,no vocal,"
    "no vocals,no voice,opera,piano,pop,quiet,rock,singing,sitar,slow,soft,solo,strings,synth,techno,violin,vocal,"
    "vocals,voice,weird,woman".split(",")
)

MTG_TOP50 = tuple(
    "acousticguitar alternative ambient atmospheric bass chillout classical computer dance downtempo drummachine"
    " drums easylistening electricguitar electricpiano electronic emotional energetic experimental film folk funk"
    " guitar happy hiphop house indie instrumentalpop jazz keyboard lounge metal newage orchestral piano pop popfolk"
    " poprock reggae relaxing rock soundtrack strings synthesizer techno trance triphop violin voice world".split()
)


def evaluate(items: Iterable[Item], setting: Setting) -> Evaluation:
    return _tags.evaluate(items, setting, MTT if setting.dataset == "MTT" else MTG_TOP50)
