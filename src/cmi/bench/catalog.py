"""The 20 data sets of CMI-Bench: which row of the published table each one fills, its task and its test size."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class DataSet:
    """One data set as the authors name it in their files."""

    name: str
    row: str  # its row in Table 3 of the paper
    task: str  # its module under cmi.bench.tasks
    size: int  # test items, by Table 1 of the paper
    clip: str = ""  # the end of an audio path that tells clips of one recording apart


# EMO is one data set in two files, so 20 data sets fill 21 rows here. The order is the published table's.
DATASETS = {
    d.name: d
    for d in (
        DataSet("GS_key", "GS-K", "key", 2406, clip=r"-\d+\.wav$"),
        DataSet("EMO_arousal", "EMO", "emotion_regression", 125),
        DataSet("EMO_valence", "EMO", "emotion_regression", 125),
        DataSet("MTT", "MTT", "music_tagging", 5329, clip=r"-\d+-\d+\.mp3$"),
        DataSet("MTG_genre", "M-G", "genre", 11479),
        DataSet("MTG_emotion", "M-E", "emotion_tagging", 4231),
        DataSet("MTG_instrument", "M-I", "instrument", 5115),
        DataSet("MTG_top50tags", "M-50", "music_tagging", 11356),
        DataSet("GTZAN", "GTZ.", "genre", 290),
        DataSet("VocalSet_tech", "VS-T", "singing_technique", 1140),
        DataSet("Nsynth_instrument", "NI", "instrument", 4096),
        DataSet("Nsynth_pitch", "NP", "pitch", 4096),
        DataSet("SDD", "SDD", "captioning", 1106),
        DataSet("MusicCaps", "MC", "captioning", 2813),
        DataSet("DSing", "DS", "lyrics", 482),
        DataSet("gtzan_beat", "G-B", "beat", 290),
        DataSet("gtzan_downbeat", "G-D", "downbeat", 290),
        DataSet("ballroom_beat", "BR-B", "beat", 685),
        DataSet("ballroom_downbeat", "BR-D", "downbeat", 685),
        DataSet("MedleyDB", "MDB", "melody", 618),
        DataSet("Guzheng_Tech", "GZ", "playing_technique", 94),
    )
}

ROWS = tuple(dict.fromkeys(d.row for d in DATASETS.values()))


def split_name(stem: str) -> tuple[str, DataSet] | None:
    """What stands before the data set's name, and the data set: `ltu_as_GTZAN` is (`ltu_as`, GTZAN)."""
    for dataset in sorted(DATASETS.values(), key=lambda d: -len(d.name)):
        head, tail = stem[: -len(dataset.name)], stem[-len(dataset.name) :]
        if tail.lower() == dataset.name.lower() and (not head or head[-1] in "_-"):
            return head.rstrip("_-"), dataset
    return None


def recording(dataset: DataSet, audio_path: str) -> str:
    """The recording that a clip was cut from, as far as its path tells."""
    return re.sub(dataset.clip, "", audio_path) if dataset.clip else audio_path
