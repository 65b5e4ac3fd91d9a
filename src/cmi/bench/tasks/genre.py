"""Genre classification: one of ten genres (GTZAN), or any number of genre tags (MTG-Jamendo, MTG_genre).

Metrics and protocols are those of `cmi.bench.tasks._labels` for GTZAN and of `cmi.bench.tasks._tags` for MTG_genre.
"""

from collections.abc import Iterable

from cmi.bench.evaluation import Evaluation, Item, Setting
from cmi.bench.scoring.nulls import Null
from cmi.bench.tasks import _labels, _tags

GTZAN = ("blues", "classical", "country", "disco", "hiphop", "jazz", "metal", "pop", "reggae", "rock")

MTG_GENRE = tuple(
    "60s 70s 80s 90s acidjazz alternative alternativerock ambient atmospheric blues bluesrock bossanova breakbeat"
    " celtic chanson chillout choir classical classicrock club contemporary country dance darkambient darkwave"
    " deephouse disco downtempo drumnbass dub dubstep easylistening edm electronic electronica electropop ethno"
    " eurodance experimental folk funk fusion groove grunge hard hardrock hiphop house idm improvisation indie"
    " industrial instrumentalpop instrumentalrock jazz jazzfusion latin lounge medieval metal minimal newage newwave"
    " orchestral pop popfolk poprock postrock progressive psychedelic punkrock rap reggae rnb rock rocknroll"
    " singersongwriter soul soundtrack swing symphonic synthpop techno trance triphop world worldfusion".split()
)


def evaluate(items: Iterable[Item], setting: Setting) -> Evaluation:
    if setting.dataset == "GTZAN":
        return _labels.evaluate(items, setting, GTZAN)
    return _tags.evaluate(items, setting, MTG_GENRE)


def nulls(items: Iterable[Item]) -> list[Null]:
    return _labels.nulls(items)
