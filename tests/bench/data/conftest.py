"""Data sets in their published layouts: tiny ones that are made up here, and real samples where the shared folder is.

No recording or annotation of the tiny ones is anybody's.
"""

import json
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cmi.bench.catalog import find_corpus
from cmi.bench.data._reading import LabelledClip, Sounds
from cmi.bench.data.magnatagatune import TAGS


def write(folder: Path, path: str, text: str) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text, encoding="utf-8")


def record(folder: Path, *paths: str, seconds: float = 0.1, rate: int = 4000) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        with wave.open(str(folder / path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes(np.zeros(int(seconds * rate), dtype=np.int16).tobytes())


def giantsteps_key(folder: Path) -> None:
    write(folder, "annotations/key/1000001.LOFI.key", "C# minor\n")
    write(folder, "annotations/key/22.LOFI.key", "Bb major")
    write(folder, "annotations/key/33.LOFI.key", "D major / D minor")
    record(folder, "audio/1000001.LOFI.wav", seconds=70)
    record(folder, "audio/0000022.LOFI.wav", seconds=30)


def emo(folder: Path) -> None:
    info = ["song_id,file_name,Artist,Song title,Genre,Mediaeval 2013 set"]
    rated = ["song_id,mean_arousal,std_arousal,mean_valence,std_valence"]
    ratings = [(2, 5), (4, 5), (6, 3), (8, 7), (3, 9), (5, 1), (7, 4)]
    for i, (arousal, valence) in enumerate(ratings, 1):
        part = "evaluation" if i > 4 else "development"
        info.append(f'{i},{i}.mp3, "Artist {i}",Title,Rock, {part}')
        rated.append(f"{i}, {arousal}, 1, {valence}, 1")
        record(folder, f"clips_45seconds/{i}.wav")
    write(folder, "annotations/songs_info.csv", "\n".join(info))
    write(folder, "annotations/static_annotations.csv", "\n".join(rated))


def magnatagatune(folder: Path) -> None:
    columns = [*sorted(TAGS), "a rare tag"]
    header = "\t".join(f'"{name}"' for name in ["clip_id", *columns, "mp3_path"])
    lines = [header]
    clips = {"0/first-0-29": {"rock"}, "c/second-0-29": {"rock"}, "d/third-0-29": {"rock", "guitar"}}
    clips |= {"e/fourth-0-29": {"a rare tag"}, "f/fifth-29-58": {"female vocal", "slow"}}
    for i, (clip, tags) in enumerate(clips.items()):
        cells = [str(i), *("1" if name in tags else "0" for name in columns), f"{clip}.mp3"]
        lines.append("\t".join(f'"{cell}"' for cell in cells))
        record(folder, f"mp3/{clip}.wav")
    write(folder, "annotations_final.csv", "\n".join(lines))


def mtg_jamendo(folder: Path) -> None:
    tags = {
        "genre": ("genre---rock\tgenre---indie", "genre---jazz"),
        "instrument": ("instrument---voice\tinstrument---guitar", "instrument---piano"),
        "moodtheme": ("mood/theme---sad\tmood/theme---calm", "mood/theme---happy"),
        "top50tags": ("mood/theme---happy\tgenre---rock", "instrument---piano"),
    }
    for subset, rows in tags.items():
        for split in ("train", "validation", "test"):
            lines = ["TRACK_ID\tARTIST_ID\tALBUM_ID\tPATH\tDURATION\tTAGS"]
            lines += [f"track_{i:07d}\tartist_1\talbum_1\t0{i}/{i}.mp3\t200.0\t{row}" for i, row in enumerate(rows, 1)]
            write(folder, f"data/splits/split-0/autotagging_{subset}-{split}.tsv", "\n".join(lines) + "\n")
    record(folder, "audio-low/01/1.low.wav", "audio-low/02/2.low.wav")


def nsynth(folder: Path) -> None:
    notes = {"bass_synthetic_068-049-025": ("bass", 49), "reed_acoustic_037-068-127": ("reed", 68)}
    facts = {note: {"instrument_family_str": family, "pitch": pitch} for note, (family, pitch) in notes.items()}
    write(folder, "nsynth-test/examples.json", json.dumps(facts))
    record(folder, *(f"nsynth-test/audio/{note}.wav" for note in notes))


def gtzan(folder: Path) -> None:
    for name in ("blues.00012", "rock.00086", "jazz.00000", "pop.00010", "jazz.00054"):
        record(folder, f"genres/{name.partition('.')[0]}/{name}.wav")


def gtzan_rhythm(folder: Path) -> None:
    gtzan(folder)
    write(folder, "beats/gtzan_blues_00012.beats", "0.104\t4\n0.621 1\n1.115\t2\n\n30.494\t1\n")
    write(folder, "beats/gtzan_rock_00086.beats", "0.5\t1.0\n")
    write(folder, "beats/gtzan_pop_00010.beats", "0.5\n1.0\n")
    write(folder, "beats/gtzan_jazz_00054.beats", "0.5\t1\n")
    write(folder, "beats/gtzan_pop_00010_noposition.beats", "0.5\n1.0\n")


def ballroom(folder: Path) -> None:
    write(folder, "annotations/beats/Media-1.beats", "1.6099773240 1\n2.0700226750 2\n2.5200000000 1\n")
    write(folder, "annotations/beats/Media-103415.beats", "1.0 1\n")
    record(folder, "audio/Waltz/Media-1.wav", "audio/Waltz/Media-103415.wav")


def vocalset(folder: Path) -> None:
    record(folder, "FULL/female2/scales/belt/f2_scales_belt_a.wav", seconds=7)
    record(folder, "FULL/male10/scales/lip_trill/scales_lip_trill.wav", seconds=3)
    record(folder, "FULL/female1/long_tones/trillo/f1_long_trillo_e.wav", seconds=2)
    record(folder, "FULL/female2/scales/forte/f2_scales_forte_a.wav", seconds=3)
    record(folder, "FULL/female2/scales/vibrato/f2_scales_vibrato_a(1).wav", seconds=3)


def song_describer(folder: Path) -> None:
    rows = ['7,1004034,"A calm, slow piece",True,0,1,1,34/1004034.mp3,200.0', "8,1004034,Piano,,0,1,1,34/1004034.mp3,9"]
    header = "caption_id,track_id,caption,is_valid_subset,familiarity,artist_id,album_id,path,duration"
    write(folder, "song_describer.csv", "\n".join([header, *rows]))
    record(folder, "audio/34/1004034.2min.wav")


def musiccaps(folder: Path) -> None:
    header = (
        "ytid,start_s,end_s,audioset_positive_labels,aspect_list,caption,author_id,is_balanced_subset,is_audioset_eval"
    )
    rows = [
        '-0Gj8-vB1q4,30,40,/m/1,"[\'soft\']","A ballad,\nsung softly",4,False,True',
        "abc,0,10,/m/2,[],Drums,4,False,False",
    ]
    write(folder, "musiccaps-public.csv", "\n".join([header, *rows]))
    record(folder, "audio/-0Gj8-vB1q4.wav", "audio/abc.wav")


def dsing(folder: Path) -> None:
    header = "utterance_id,recording_id,recording,start,end,speaker,gender,text"
    row = "M1-1-GB-M-017,1-GB-M,GB/GBVocals/1-GB-M.m4a,54.724,56.64,M1,m,MADE UP WORDS I'M SURE"
    write(folder, "DSing Preconstructed/test.csv", f"{header}\n{row}\n")
    record(folder, "sing_300x30x2/GB/GBVocals/1-GB-M.wav")


def medleydb(folder: Path) -> None:
    frames = [(0.0058 + i * 0.0058, 0.0 if i < 10 else 440.0) for i in range(2000)]
    lines = "".join(f"{time},{hertz}\n" for time, hertz in frames)
    write(folder, "melody2/MusicDelta_Gospel_MELODY2.csv", lines)
    write(folder, "melody2/MusicDelta_Beethoven_MELODY2.csv", "0.5,261.63\n")
    record(folder, "audio/MusicDelta_Gospel_MIX.wav", "audio/MusicDelta_Beethoven_MIX.wav")


def guzheng_tech99(folder: Path) -> None:
    rows = [
        "0.5,1.25,chanyin,60",
        "2.0,2.5,boxian,62",
        "9.9,10.75,liantuo,64",
        "25.0,26.0,boxian,60",
        "31,31.5,yaozhi,1",
    ]
    write(folder, "data/label/test/74.csv", "\n".join(["onset_time,offset_time,IPT,note", *rows]))
    write(folder, "data/label/train/41.csv", "onset_time,offset_time,IPT,note\n1.0,2.0,shanghua,60\n")
    record(folder, "data/audio/test/74.wav", "data/audio/train/41.wav")


def released(folder: Path) -> None:
    base = {"instruction": "Which genre?", "split": ["test"], "audio_start": 0.0, "audio_end": 30.0}
    lines = [
        base | {"output": "blues", "audio_path": ["data/GTZAN/a/blues.00012.wav"]},
        base | {"output": "rock", "audio_path": ["data/GTZAN/a/rock.00086.wav"], "audio_end": -1},
    ]
    write(folder, "CMI_GTZAN.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    record(folder, "testdata/GTZAN/a/blues.00012.wav", "testdata/GTZAN/a/rock.00086.wav")


LAYOUTS: dict[str, Callable[[Path], None]] = {
    build.__name__.replace("_", "-"): build
    for build in (
        giantsteps_key, emo, magnatagatune, mtg_jamendo, nsynth, gtzan, gtzan_rhythm, ballroom, vocalset,
        song_describer, musiccaps, dsing, medleydb, guzheng_tech99, released,
    )
}  # fmt: skip


@pytest.fixture
def built(tmp_path: Path) -> Callable[[str], Path]:
    """Build a tiny data set; its folder."""

    def build(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        LAYOUTS[name](folder)
        return folder

    return build


@pytest.fixture
def read() -> Callable[..., list[LabelledClip]]:
    """Everything that a data set's module reads from a folder."""

    def read_all(name: str, folder: Path, audio: Path | None = None) -> list[LabelledClip]:
        return list(find_corpus(name).read(folder, Sounds(audio or folder)))

    return read_all


@pytest.fixture(scope="session")
def samples(shared: Path) -> Path:
    folder = shared / "mir-samples"
    if not folder.is_dir():
        pytest.skip("no mir-samples in the shared folder")
    return folder
