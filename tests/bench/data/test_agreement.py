"""Our records against the authors' released ones: the same tracks have the same answers, spans and splits.

Most data sets are not here. For these the files are rebuilt from what was released, in the published layout: that shows
that reading them gives the released records back, spelling, order, rounding and all; not that the originals say so.
"""

import csv
import json
import re
from ast import literal_eval
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from cmi._util.records import read_records
from cmi.bench.catalog import DATASETS
from cmi.bench.data import guzheng_tech99, magnatagatune, mtg_jamendo
from cmi.bench.instruction import Instruction
from cmi.bench.scoring.responses import find_annotations


@pytest.fixture(scope="module")
def annotations(shared):
    files = find_annotations(shared / "cmi-bench" / "annotations")
    return lambda name: [Instruction.from_record(record) for _, record in read_records(files[name])]


@pytest.fixture(scope="module")
def truths(shared):
    """Paths and truths of a data set whose annotation file can't be read, from the answers to it."""

    def read(name):
        path = shared / "cmi-bench" / "responses" / "flamingo" / f"flamingo_{name}.jsonl.gz"
        return [(record["audioid"], str(record["correct_answer"])) for _, record in read_records(path)]

    return read


def write_table(path: Path, rows: list[dict], delimiter=","):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


def touch(folder: Path, *paths: str):
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()


def stem(asked: Instruction) -> str:
    return Path(asked.audio_path).stem


def record(asked) -> tuple:
    """What a released record says, and what an example of ours says."""
    if isinstance(asked, Instruction):
        return asked.output, asked.audio_start, asked.audio_end, asked.split
    return asked.output, asked.start, asked.end, asked.split


def test_gtzan_agrees_in_all_929_records(annotations, read, tmp_path):
    ours = {example.id: record(example) for example in read("gtzan", tmp_path)}
    assert ours == {stem(asked): record(asked) for asked in annotations("GTZAN")}
    assert len(ours) == 929


def test_vocalset_agrees_in_labels_and_test_singers(annotations, read, tmp_path):
    released = {asked.audio_path.removeprefix("data/VocalSet/"): asked for asked in annotations("VocalSet_tech")}
    touch(tmp_path, *released)
    ours = {example.audio: example for example in read("vocalset", tmp_path)}
    assert ours.keys() == released.keys()
    for path, example in ours.items():
        assert record(example)[:3] == record(released[path])[:3]
        assert (example.split == "test") == (released[path].split == "test")
    assert sum(example.split == "test" for example in ours.values()) == DATASETS["VocalSet_tech"].size


def test_nsynth_s_names_agree_with_the_released_families_and_pitches(annotations, truths, read, tmp_path):
    """NSynth writes family and pitch into each note's name: a source apart from the released truths."""
    names = [stem(asked) for asked in annotations("Nsynth_instrument")]
    parts = {name: re.fullmatch(r"(\w+)_(?:acoustic|electronic|synthetic)_\d{3}-(\d{3})-\d{3}", name) for name in names}
    facts = {name: {"instrument_family_str": part[1], "pitch": int(part[2])} for name, part in parts.items()}
    touch(tmp_path, "nsynth-test/examples.json")
    (tmp_path / "nsynth-test/examples.json").write_text(json.dumps(facts))
    examples = read("nsynth", tmp_path)
    families = {e.id: record(e) for e in examples if e.dataset == "Nsynth_instrument"}
    pitches = {e.id: e.output for e in examples if e.dataset == "Nsynth_pitch"}
    assert families == {stem(asked): record(asked) for asked in annotations("Nsynth_instrument")}
    assert pitches == {Path(path).stem: truth for path, truth in truths("Nsynth_pitch")}
    assert len(families) == len(pitches) == 4096


def test_emo_z_scores_as_the_authors_did(annotations, read, tmp_path):
    """Released z-scores are their own z-scores only if the mean and deviation are those of train and dev together."""
    released = annotations("EMO_arousal")
    rated = [{"song_id": stem(a), "mean_arousal": a.output, "mean_valence": a.output} for a in released]
    sets = {"test": "evaluation", "train": "development", "dev": "development"}
    info = [{"song_id": stem(a), "Artist": "", "Mediaeval 2013 set": sets[a.split]} for a in released]
    write_table(tmp_path / "static_annotations.csv", rated)
    write_table(tmp_path / "songs_info.csv", info)
    ours = {e.id: e for e in read("emo", tmp_path) if e.dataset == "EMO_arousal"}
    assert len(ours) == len(released) == 744
    for asked in released:
        example = ours[stem(asked)]
        assert float(example.output) == pytest.approx(float(asked.output), abs=1e-9)
        assert (example.start, example.end) == (asked.audio_start, asked.audio_end)
        assert (example.split == "test") == (asked.split == "test")


def test_released_valence_is_arousal(annotations):
    assert annotations("EMO_valence") == annotations("EMO_arousal")


def test_magnatagatune_names_tags_as_released(shared, truths, read, tmp_path):
    assert tuple(np.load(shared / "cmi-bench" / "annotations" / "mtt_tags.npy")) == magnatagatune.TAGS
    released = {path.partition("/mp3/")[2]: truth for path, truth in truths("MTT")}
    rows = [
        {"clip_id": i} | {tag: int(tag in truth.split(", ")) for tag in sorted(magnatagatune.TAGS)} | {"mp3_path": path}
        for i, (path, truth) in enumerate(released.items())
    ]
    write_table(tmp_path / "annotations_final.csv", rows, "\t")
    examples = read("magnatagatune", tmp_path)
    assert [(e.output, e.split) for e in examples] == [(truth, "test") for truth in released.values()]
    assert len(examples) == DATASETS["MTT"].size


@pytest.mark.parametrize("subset", mtg_jamendo.SUBSETS)
def test_mtg_jamendo_names_tags_as_released(subset, truths, read, tmp_path):
    dataset = mtg_jamendo.SUBSETS[subset]
    released = truths(dataset)
    header = "TRACK_ID\tARTIST_ID\tALBUM_ID\tPATH\tDURATION\tTAGS"
    lines = []
    for i, (path, truth) in enumerate(released):
        tags = "\t".join(f"kind---{tag}" for tag in reversed(truth.split(", ")))
        lines.append(f"track_{i}\ta\tb\t{'/'.join(path.split('/')[-2:]).replace('.low', '')}\t99.0\t{tags}")
    folder = tmp_path / "split-0"
    folder.mkdir()
    (folder / f"autotagging_{subset}-test.tsv").write_text("\n".join([header, *lines]))
    examples = read("mtg-jamendo", tmp_path)
    assert [e.output for e in examples] == [truth for _, truth in released]
    assert len(examples) == DATASETS[dataset].size


@pytest.mark.parametrize(("name", "prefix"), [("ballroom", "ballroom"), ("gtzan-rhythm", "gtzan")])
def test_beats_are_written_as_released(name, prefix, annotations, read, tmp_path):
    beats, downbeats = (annotations(f"{prefix}_{kind}") for kind in ("beat", "downbeat"))
    for all_, first in zip(beats, downbeats, strict=True):
        assert all_.audio_path == first.audio_path
        firsts = set(first.output.split(","))
        lines = [f"{time[:-1]}\t{1 if time in firsts else 2}" for time in all_.output.split(",")]
        file = stem(all_) if name == "ballroom" else f"gtzan_{stem(all_).replace('.', '_')}"
        (tmp_path / f"{file}.beats").write_text("\n".join(lines))
    examples = read(name, tmp_path)
    for kind, released in (("beat", beats), ("downbeat", downbeats)):
        ours = {e.id: record(e) for e in examples if e.dataset == f"{prefix}_{kind}"}
        assert ours == {stem(asked): record(asked) for asked in released}
        assert len(ours) == DATASETS[f"{prefix}_{kind}"].size


def test_guzheng_events_come_back_as_released(annotations, read, tmp_path):
    released = annotations("Guzheng_Tech")
    pinyin = {name: word for word, name in guzheng_tech99.TECHNIQUES.items()}
    notes = defaultdict(list)
    for asked in released:
        events = [event for event in literal_eval(asked.output) if event[2] in pinyin]
        # A clip without techniques has notes all the same: without any, the last clips would not be asked about.
        events = events or [(asked.audio_start + 5, asked.audio_start + 6, None)]
        notes[asked.split, stem(asked)] += [
            {"onset_time": start, "offset_time": end, "IPT": pinyin[name], "note": 60} for start, end, name in events
        ]
    for (split, piece), rows in notes.items():
        write_table(tmp_path / "data" / "label" / split / f"{piece}.csv", rows)
    ours = {(e.split, e.id.partition("-")[0], e.start): record(e) for e in read("guzheng-tech99", tmp_path)}
    assert ours == {(asked.split, stem(asked), asked.audio_start): record(asked) for asked in released}
    assert len(ours) == 923


def test_song_describer_comes_back_as_released(annotations, read, tmp_path):
    released = annotations("SDD")
    rows = [
        {"caption_id": i, "caption": asked.output, "path": f"{stem(asked)[-7:-5]}/{stem(asked)[:-5]}.mp3"}
        for i, asked in enumerate(released)
    ]
    write_table(tmp_path / "song_describer.csv", rows)
    examples = read("song-describer", tmp_path)
    assert [(record(e), e.audio) for e in examples] == [(record(asked), stem(asked)) for asked in released]
    assert len(examples) == 1106


def test_musiccaps_comes_back_as_released(annotations, read, tmp_path):
    released = annotations("MusicCaps")
    rows = [{"ytid": stem(a), "caption": a.output, "is_audioset_eval": a.split == "test"} for a in released]
    write_table(tmp_path / "musiccaps-public.csv", rows)
    ours = {e.id: record(e) for e in read("musiccaps", tmp_path)}
    assert ours == {stem(asked): record(asked) for asked in released}
    assert len(ours) == 5451


def test_dsing_comes_back_as_released(annotations, read, tmp_path):
    released = annotations("DSing")
    rows = [
        {"utterance_id": i, "recording": asked.audio_path, "start": asked.audio_start, "end": asked.audio_end}
        | {"text": asked.output}
        for i, asked in enumerate(released)
    ]
    write_table(tmp_path / "test.csv", rows)
    examples = read("dsing", tmp_path)
    assert [(record(e), e.audio) for e in examples] == [(record(asked), stem(asked)) for asked in released]
    assert len(examples) == 482


def test_the_released_files_come_back_as_they_are(shared, annotations, read, tmp_path):
    examples = read("released", shared / "cmi-bench" / "annotations", tmp_path)
    by_dataset = defaultdict(list)
    for example in examples:
        by_dataset[example.dataset].append(example)
    assert len(by_dataset) == 13
    for name, found in by_dataset.items():
        released = annotations(name)
        assert [(record(e), e.wording) for e in found] == [(record(a), a.instruction) for a in released]
