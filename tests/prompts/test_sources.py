"""Sources: every format gives the same prompts; published captions are read in their layouts."""

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi._util.errors import InputError
from cmi.preferences import write_rows
from cmi.prompts.sources import find_lyrics, find_references, find_sources, read_sources
from cmi.take import Prompt

TEXTS = ["slow sad piano", "fast techno, no vocals"]


def read(*paths: Path):
    return [one.row for one in read_sources(find_sources(paths))]


@pytest.mark.parametrize("name", ["mine.jsonl", "mine.csv", "mine.parquet", "mine.txt"])
def test_a_file_of_any_kind_gives_its_prompts(tmp_path, name):
    path = tmp_path / name
    if path.suffix == ".txt":
        path.write_text(f"{TEXTS[0]}\n\n  {TEXTS[1]}  \n")
    else:
        write_rows(({"id": str(i), "text": text} for i, text in enumerate(TEXTS)), path)
    found = read(path)
    assert [row.prompt for row in found] == [Prompt(text) for text in TEXTS]
    assert {row.about["source"] for row in found} == {"mine"}
    assert [row.id for row in found] == (["1", "3"] if path.suffix == ".txt" else ["0", "1"])


def test_ids_of_several_sources_begin_with_their_names(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.txt").write_text("one\n")
    assert [row.id for row in read(tmp_path / "a/mine.txt", tmp_path / "b/mine.txt")] == ["mine-1", "mine2-1"]


def test_musiccaps_in_its_layout(tmp_path):
    header = "ytid,start_s,end_s,audioset_positive_labels,aspect_list,caption,author_id,is_balanced_subset"
    row = """-0Gj8,30,40,/m/x,"['low']","A low, sad voice.",4,False,True"""
    (tmp_path / "musiccaps-public.csv").write_text(f"{header},is_audioset_eval\n{row}\n")
    for place in (tmp_path, tmp_path / "musiccaps-public.csv"):
        (row,) = read(place)
        assert (row.id, row.prompt.text) == ("-0Gj8", "A low, sad voice.")
        assert row.about == {"source": "MusicCaps", "licence": "CC BY-SA 4.0", "x_corpus_split": "test"}
        assert row.split == ""  # the corpus' split is not that of the pool


def test_song_describer_in_its_layout(tmp_path):
    header = "caption_id,track_id,caption,is_valid_subset,familiarity,artist_id,album_id,path,duration"
    (tmp_path / "song_describer.csv").write_text(f"{header}\n1,7,Calm guitar,True,0,1,2,07/7.mp3,120\n")
    (row,) = read(tmp_path)
    assert (row.id, row.prompt.text, row.about["source"]) == ("1", "Calm guitar", "Song Describer")
    assert row.about["x_track"] == "07/7.mp3"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("nowhere.csv", "no such file"), (".", "a folder without musiccaps-public.csv or song_describer.csv")],
)
def test_what_is_no_source_is_named(tmp_path, name, sentence):
    with pytest.raises(InputError, match=sentence):
        find_sources([tmp_path / name])


def test_lyrics_and_references_are_found_below_their_folders(tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "a.txt").write_text("la la")
    (tmp_path / "more" / "b.txt").write_text("lu lu")
    (tmp_path / "blank.txt").write_text(" \n")
    for name, pitch in (("a.wav", 1), ("more/copy.wav", 1), ("z.wav", 2)):
        soundfile.write(tmp_path / name, np.sin(np.arange(800) * pitch / 10), 8000)
    assert [path.name for path in find_lyrics(tmp_path)] == ["a.txt", "b.txt"]
    assert [path.name for path in find_references(tmp_path)] == ["a.wav", "z.wav"]  # a copy counts once
    with pytest.raises(InputError, match="no such folder"):
        find_lyrics(tmp_path / "nowhere")


def test_a_broken_line_is_named(tmp_path):
    (tmp_path / "mine.jsonl").write_text(json.dumps({"text": "x"}) + "\n{broken\n")
    with pytest.raises(InputError, match=r"mine.jsonl line 2: not JSON"):
        read(tmp_path / "mine.jsonl")
