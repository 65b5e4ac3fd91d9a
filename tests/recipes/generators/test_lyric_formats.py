"""Plain lyrics in the formats of song models: no word is lost, and each model's rules hold whatever the lyrics."""

import doctest
import json
import re

import lyric_formats
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lyric_formats import (
    LABELS,
    Section,
    read_sections,
    time_lines,
    time_words,
    write_levo,
    write_lrc,
    write_sections,
    write_tags,
    write_yue,
)

SONG = """[Intro]

[Verse 1]
The rain is gone, the road is dry
[00:12.50]We walk [softly] on

Sing it again
Sing it again

[Guitar Solo]

Sing it again
Sing it again

[Pre-Chorus] One more line
"""
words = st.text(st.characters(categories=["L"]), min_size=1, max_size=8)
lines = st.lists(words, min_size=1, max_size=6).map(" ".join)
sections = st.lists(
    st.builds(Section, st.sampled_from(LABELS), st.lists(lines, max_size=20).map(tuple)), min_size=1, max_size=8
)


def test_the_examples_of_the_docstrings_hold():
    assert doctest.testmod(lyric_formats).failed == 0


def test_labels_times_and_stanzas_are_read():
    chorus = Section("chorus", ("Sing it again", "Sing it again"))
    assert read_sections(SONG) == [
        Section("intro", ()),
        Section("verse", ("The rain is gone, the road is dry", "We walk softly on")),
        chorus,
        Section("inst", ()),
        chorus,
        Section("verse", ("One more line",)),
    ]


@given(st.text())
def test_no_word_outside_labels_is_lost(lyrics):
    kept = re.sub(r"[\[\]]", " ", lyrics)
    assert [word for section in read_sections(kept) for line in section.lines for word in line.split()] == kept.split()


@given(st.text())
def test_any_text_has_known_labels_and_no_brackets_in_its_lines(lyrics):
    for section in read_sections(lyrics):
        assert section.label in LABELS
        assert not re.search(r"[\[\]]", "".join(section.lines))


@given(sections)
def test_labelled_sections_are_read_back(song):
    assert read_sections(write_sections(song)) == song


@given(sections, st.integers(1, 8))
def test_yue_generates_every_line_and_leaves_out_only_the_closing_section(song, most):
    lyrics, count = write_yue(song, most)
    parts = re.split(r"^\[(\w+)\]\n", lyrics, flags=re.MULTILINE)[1:]
    labels, texts = parts[::2], parts[1::2]
    assert set(labels) <= {"verse", "chorus", "bridge", "outro"}
    assert len(labels) == count + 1 and not texts[-1].strip()
    assert all(len(text.split("\n")) <= most + 2 for text in texts)
    assert [line for text in texts[:count] for line in text.split("\n") if line] == [
        line for section in song for line in section.lines
    ]


def test_yue_without_words_gets_empty_sections():
    assert write_yue([]) == ("[verse]\n\n[chorus]\n\n[outro]\n", 2)


@given(sections)
def test_levo_has_words_in_sung_sections_only(song):
    parts = write_levo(song).split(" ; ")
    assert parts[0].startswith("[intro-")
    assert parts[-1].startswith("[outro-")
    for part in parts:
        label, _, text = part.partition(" ")
        if label in ("[verse]", "[chorus]", "[bridge]"):
            assert text.strip(".")
        else:
            assert re.fullmatch(r"\[(intro|inst|outro)-short\]", part)


@given(st.lists(st.text(max_size=30), max_size=10))
def test_marks_within_lines_do_not_divide_levo_sections(texts):
    song = [Section("verse", tuple(" ".join(re.sub(r"[\[\]]", "", text).split()) for text in texts))]
    assert write_levo(song).count(";") == 2


def test_levo_ends_chinese_sections_without_a_full_stop():
    assert "[verse] 漂泊.寻觅 ;" in write_levo([Section("verse", ("漂泊，", "寻觅。"))])


@given(sections, st.floats(20, 600))
def test_lines_are_sung_in_order_and_within_the_song(song, seconds):
    try:
        timed = time_lines(song, seconds)
    except ValueError as error:
        assert "too many for" in str(error)
        return
    assert [line.words for line in timed] == [line for section in song for line in section.lines]
    edges = [edge for line in timed for edge in (line.start, line.end)]
    assert edges == sorted(edges)
    assert not edges or (edges[0] > 0 and edges[-1] <= seconds + 0.01)


def test_too_many_lines_are_refused():
    with pytest.raises(ValueError, match="the lyrics have 100 lines, too many for 60 s"):
        time_lines([Section("verse", ("la",) * 100)], 60.0)


@given(sections, st.booleans())
def test_lrc_lines_have_a_time_of_eight_characters(song, closing):
    lrc = write_lrc(write_sections(song), 9000.0, closing).splitlines()
    sung = [line for section in song for line in section.lines]
    assert all(re.match(r"\[\d\d\d?:\d\d\.\d\d\]", line) for line in lrc)
    assert [line[line.index("]") + 1 :] for line in lrc] == sung + (sung[-1:] if closing else [])


def test_lyrics_with_times_keep_them():
    lrc = "[00:10.00]One\n[00:13.20]Two\n"
    assert write_lrc(lrc, 95.0) == lrc
    assert write_lrc(lrc, 95.0, needs_closing_line=True) == lrc + "[01:34.99]Two\n"


@given(sections)
def test_words_follow_each_other_and_can_be_written_as_json(song):
    timed = time_words(song, 2000.0)
    assert [word["word"] for word in timed] == [
        word for section in song for line in section.lines for word in line.split()
    ]
    edges = [edge for word in timed for edge in (word["start"], word["end"])]
    assert edges == sorted(edges)
    assert json.loads(json.dumps(timed)) == timed


@given(st.text())
def test_tags_can_be_part_of_a_file_name(text):
    tags = write_tags(text)
    assert "/" not in tags and "\n" not in tags and "\0" not in tags
    assert len(tags.encode()) <= 150
