"""MTG-Jamendo: tags of full tracks (Bogdanov et al. 2019): genres, instruments, moods and themes, the 50 most frequent.

Files
    data/splits/split-0/autotagging_<subset>-<split>.tsv    github.com/MTG/mtg-jamendo-dataset
    48/948.mp3 or 48/948.low.mp3                            the tracks, whole or as `raw_30s/audio-low`

A folder that holds some of the four subsets gives these. The first 30 s of a track are asked about.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from cmi.bench.catalog import BenchDataset, Corpus
from cmi.bench.data._reading import LabelledClip, Sounds, find_files, read_table

SECONDS = 30.0
SUBSETS = {
    "genre": "MTG_genre",
    "instrument": "MTG_instrument",
    "moodtheme": "MTG_emotion",
    "top50tags": "MTG_top50tags",
}

GENRES = tuple(
    "60s 70s 80s 90s acidjazz alternative alternativerock ambient atmospheric blues bluesrock bossanova breakbeat"
    " celtic chanson chillout choir classical classicrock club contemporary country dance darkambient darkwave"
    " deephouse disco downtempo drumnbass dub dubstep easylistening edm electronic electronica electropop ethno"
    " eurodance experimental folk funk fusion groove grunge hard hardrock hiphop house idm improvisation indie"
    " industrial instrumentalpop instrumentalrock jazz jazzfusion latin lounge medieval metal minimal newage newwave"
    " orchestral pop popfolk poprock postrock progressive psychedelic punkrock rap reggae rnb rock rocknroll"
    " singersongwriter soul soundtrack swing symphonic synthpop techno trance triphop world worldfusion".split()
)
INSTRUMENTS = tuple(
    "accordion acousticbassguitar acousticguitar bass beat bell bongo brass cello clarinet classicalguitar computer"
    " doublebass drummachine drums electricguitar electricpiano flute guitar harmonica harp horn keyboard oboe"
    " orchestra organ pad percussion piano pipeorgan rhodes sampler saxophone strings synthesizer trombone trumpet"
    " viola violin voice".split()
)
MOODS = tuple(
    "action adventure advertising background ballad calm children christmas commercial cool corporate dark deep"
    " documentary drama dramatic dream emotional energetic epic fast film fun funny game groovy happy heavy holiday"
    " hopeful inspiring love meditative melancholic melodic motivational movie nature party positive powerful"
    " relaxing retro romantic sad sexy slow soft soundscape space sport summer trailer travel upbeat uplifting".split()
)
TOP_50 = tuple(
    "acousticguitar alternative ambient atmospheric bass chillout classical computer dance downtempo drummachine"
    " drums easylistening electricguitar electricpiano electronic emotional energetic experimental film folk funk"
    " guitar happy hiphop house indie instrumentalpop jazz keyboard lounge metal newage orchestral piano pop popfolk"
    " poprock reggae relaxing rock soundtrack strings synthesizer techno trance triphop violin voice world".split()
)

_FILE = re.compile(r"autotagging_([a-z0-9]+)-(train|validation|test)")


def read(folder: Path, sounds: Sounds) -> Iterator[LabelledClip]:
    for path in find_files(folder, "split-0/autotagging_*.tsv"):
        named = _FILE.fullmatch(path.stem)
        if named and named[1] in SUBSETS:
            split = "dev" if named[2] == "validation" else named[2]
            yield from _examples(path, SUBSETS[named[1]], split, sounds)


def _examples(path: Path, dataset: str, split: str, sounds: Sounds) -> Iterator[LabelledClip]:
    for _, row in read_table(path, ["TRACK_ID", "PATH", "TAGS"], "\t"):
        track = Path(row["PATH"]).stem
        audio = sounds.find(track, f"{track}.low")
        yield LabelledClip(dataset, row["TRACK_ID"], names(row["TAGS"]), audio, 0.0, SECONDS, split)


def names(tags: str) -> str:
    """'genre---rock<tab>genre---indie' is 'indie, rock'."""
    return ", ".join(sorted(tag.rpartition("---")[2] for tag in tags.split("\t") if tag))


CORPUS = Corpus(
    "mtg-jamendo",
    "MTG-Jamendo (genre, instrument, mood/theme, top 50)",
    datasets=(
        BenchDataset("MTG_genre", "M-G", "genre", 11479, prompts="genre_tags", classes=GENRES, is_multi_label=True),
        BenchDataset(
            "MTG_instrument",
            "M-I",
            "instrument",
            5115,
            prompts="instrument_tags",
            classes=INSTRUMENTS,
            is_multi_label=True,
        ),
        BenchDataset(
            "MTG_emotion", "M-E", "emotion_tagging", 4231, prompts="emotion_tags", classes=MOODS, is_multi_label=True
        ),
        BenchDataset(
            "MTG_top50tags", "M-50", "music_tagging", 11356, prompts="music_tags", classes=TOP_50, is_multi_label=True
        ),
    ),
    licence="metadata CC BY-NC-SA 4.0; audio Creative Commons by track",
    where="github.com/MTG/mtg-jamendo-dataset (raw_30s/audio-low)",
    verified="a real sample and six rows of the repository: as released; order of tags in all released truths",
    read=read,
)
