"""The data sets behind CMI-Bench: one module each, which turns the data set's own files into questions with answers.

    read(folder, sounds) -> Iterator[Example]       every question, of every split, whether or not its audio is there

`cmi.bench.data.make` puts them into words and writes them. What is written about a data set stands here; the module
is imported when it is read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from cmi._util.errors import InputError
from cmi.bench.data.example import Example
from cmi.bench.data.files import Sounds


class Reader(Protocol):
    def read(self, folder: Path, sounds: Sounds) -> Iterator[Example]: ...


@dataclass(frozen=True)
class Source:
    """What a user should know of a data set before getting it."""

    name: str  # as typed on the command line; its module has underscores for hyphens
    title: str
    makes: tuple[str, ...]  # data sets of cmi.bench.catalog
    licence: str
    where: str
    verified: str  # what its records were held against
    notes: tuple[str, ...] = ()  # where its records differ from the paper's, or surprise

    @property
    def reader(self) -> Reader:
        return cast(Reader, import_module(f"cmi.bench.data.{self.name.replace('-', '_')}"))


_MTG = ("MTG_genre", "MTG_instrument", "MTG_emotion", "MTG_top50tags")
_AFTER_30_S = (
    "truths list beats after the 30 s that are heard, as released: in 40 of 685 ballroom files, 8 of 290 of GTZAN"
)

SOURCES = {
    source.name: source
    for source in (
        Source(
            "giantsteps-key",
            "GiantSteps key",
            ("GS_key",),
            "none stated in its repository; mirdata: CC BY-SA 4.0; audio is Beatport's",
            "github.com/GiantSteps/giantsteps-key-dataset (audio_dl.sh)",
            "a real sample and four labels of the repository: as released",
            ("GiantSteps+ (mirdata's layout, keys_gs+) is a later revision: its labels may differ from the paper's",),
        ),
        Source(
            "emo",
            "Emotion in Music (1000 songs)",
            ("EMO_arousal", "EMO_valence"),
            "annotations: see its page; audio from the Free Music Archive, Creative Commons by track",
            "cvml.unige.ch/databases/emoMusic",
            "released z-scores have our mean and deviation (744 songs, to 1e-9); its tables were not at hand",
            ("valence is valence; the released CMI_EMO_valence repeats arousal, so the two do not agree, rightly",),
        ),
        Source(
            "magnatagatune",
            "MagnaTagATune",
            ("MTT",),
            "CC BY-NC-SA 3.0",
            "mirg.city.ac.uk/codeapps/the-magnatagatune-dataset",
            "all released truths: tags, their order, the split's folders; its table was not at hand",
            ("997 of the 5329 test clips have none of the 50 tags: their answer is empty, as the paper counts them",),
        ),
        Source(
            "mtg-jamendo",
            "MTG-Jamendo (genre, instrument, mood/theme, top 50)",
            _MTG,
            "metadata CC BY-NC-SA 4.0; audio Creative Commons by track",
            "github.com/MTG/mtg-jamendo-dataset (raw_30s/audio-low)",
            "a real sample and six rows of the repository: as released; order of tags in all released truths",
        ),
        Source(
            "nsynth",
            "NSynth",
            ("Nsynth_instrument", "Nsynth_pitch"),
            "CC BY 4.0",
            "magenta.tensorflow.org/datasets/nsynth (nsynth-test)",
            "families and pitches in the names of all 4096 notes: as released",
        ),
        Source(
            "gtzan",
            "GTZAN, fault-filtered",
            ("GTZAN",),
            "none stated",
            "no official copy is online; mirrors carry genres.tar.gz",
            "all 929 released records; Kereliuk's own list of the test split; a real sample",
        ),
        Source(
            "gtzan-rhythm",
            "GTZAN-Rhythm",
            ("gtzan_beat", "gtzan_downbeat"),
            "none stated",
            "github.com/TempoBeatDownbeat/gtzan_tempo_beat, and GTZAN's audio",
            "a real sample, as mirdata reads it; all released records come back from files rebuilt of them",
            (_AFTER_30_S,),
        ),
        Source(
            "ballroom",
            "Ballroom",
            ("ballroom_beat", "ballroom_downbeat"),
            "annotations CC BY-NC-SA 4.0 by mirdata; audio from ballroomdancers.com, for research",
            "github.com/CPJKU/BallroomAnnotations; mtg.upf.edu/ismir2004/contest/tempoContest (data1.tar.gz)",
            "a real sample and a whole file of the repository: as released; all released records come back likewise",
            (_AFTER_30_S,),
        ),
        Source(
            "vocalset",
            "VocalSet",
            ("VocalSet_tech",),
            "CC BY 4.0",
            "zenodo.org/records/1442513 (VocalSet 1.1)",
            "labels and test singers of all 4132 released clips, by their names",
            ("from the published files, clips are cut at other places than the paper's, which drops leading silence",),
        ),
        Source(
            "song-describer",
            "Song Describer (SDD)",
            ("SDD",),
            "captions CC BY-SA 4.0; audio Creative Commons by track",
            "zenodo.org/records/10072001",
            "tables rebuilt from the released records give them back",
        ),
        Source(
            "musiccaps",
            "MusicCaps",
            ("MusicCaps",),
            "captions CC BY-SA 4.0; audio is YouTube's, and not published",
            "kaggle.com/datasets/googleai/musiccaps",
            "tables rebuilt from the released records give them back",
            ("test has 2858 clips; the paper's 2813 are those whose videos were still there",),
        ),
        Source(
            "dsing",
            "DSing",
            ("DSing",),
            "DAMP by Smule's research agreement",
            "github.com/groadabike/Kaldi-Dsing-task; ccrma.stanford.edu/damp (Sing! 300x30x2)",
            "five rows of the repository: as released; the rest comes back from a table rebuilt of it",
        ),
        Source(
            "medleydb",
            "MedleyDB melody",
            ("MedleyDB",),
            "CC BY-NC-SA 4.0",
            "medleydb.weebly.com, on request (MedleyDB-Melody)",
            "a real sample, as mirdata reads it; no released file can be read",
        ),
        Source(
            "guzheng-tech99",
            "Guzheng_Tech99",
            ("Guzheng_Tech",),
            "CC BY-NC-ND 4.0 by the card of ccmusic-database",
            "ccmusic-database.github.io (Guzheng_Tech99)",
            "tables rebuilt from the released records give all 923 back",
            ("names of techniques are the released annotations', which differ from the data set's card",),
        ),
        Source(
            "released",
            "the authors' annotation files, as they are",
            (),
            "CC BY-NC-SA by the paper's statement",
            "github.com/nicolaus625/CMI-bench, and its test audio",
            "every readable released file",
        ),
    )
}


def named(name: str) -> Source:
    """The data set of that name; InputError lists the names there are."""
    source = SOURCES.get(name.lower().replace("_", "-"))
    if source is None:
        raise InputError(f"no data set is named {name!r}; there are {', '.join(SOURCES)}")
    return source
