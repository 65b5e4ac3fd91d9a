"""Results of webMUSHRA, as its PHP script writes them, become ratings and votes."""

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi.preferences import Preference, Rating
from cmi.rewardbench.data import ALL, Found, count, find, music_arena, named
from cmi.rewardbench.data.labels import read_labels
from cmi.rewardbench.data.rows import LeftOut
from cmi.rewardbench.data.webmushra import read_pages, read_scores, rows
from cmi.rewardbench.items import RatedItem

# In the style of webMUSHRA's default.yaml: texts with colons, which are not YAML, and pages in random order.
CONFIG = """testname: Codecs: a test
testId: study
pages:
    - type: generic
      id: first
      content: Welcome: please read this.
    - type: mushra
      id: trial1
      name: MUSHRA
      content: Rate the Basic Audio Quality. Reminder: compare with the reference.
      reference: audio/ref1.wav
      createAnchor35: true
      stimuli:
          C1: audio/1-c1.wav
          C2: audio/1-c2.wav
    -
        - random
        - type: mushra
          id: trial2
          reference: audio/ref2.wav
          stimuli:
              C1: audio/2-c1.wav
              C2: audio/2-c2.wav
              anchor35: audio/2-low.wav
    - type: finish
      name: Thank you
"""
HEADER = "session_test_id,email,session_uuid,trial_id,rating_stimulus,rating_score,rating_time,rating_comment"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "study.yaml").write_text(CONFIG)
    (tmp_path / "results" / "study").mkdir(parents=True)
    return tmp_path


def write(folder: Path, *lines: str, header: str = HEADER) -> Path:
    path = folder / "results" / "study" / "mushra.csv"
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def page(session, trial="trial1", **scores):
    return [f"study,a@b.c,{session},{trial},{name},{score},5000," for name, score in scores.items()]


def split(found):
    kept = [one for one in found if isinstance(one, RatedItem)]
    return [one for one in kept if not one.is_pair], [one for one in kept if one.is_pair]


def test_scores_are_ratings_and_stimuli_of_one_page_are_pairs(folder):
    write(folder, *page("u1", reference=100, C1=75, C2=25), *page("u2", reference=95, C1=50, C2=50))
    ratings, pairs = split(rows(folder))
    assert [(one.about["generator"], one.ratings["musicality"]) for one in ratings[:3]] == [
        ("reference", 5.0), ("C1", 4.0), ("C2", 2.0),
    ]  # fmt: skip
    assert ratings[1].takes == (folder / "audio/1-c1.wav",)
    assert ratings[1].prompt.reference == folder / "audio/ref1.wav"
    assert (ratings[1].about["mushra"], ratings[1].about["rating_seconds"]) == ("75", "5")
    assert len(pairs) == 2 * 3 and {one.about["rater"] for one in pairs} == {"u1", "u2"}
    for one in pairs:
        names = [one.about["generator_a"], one.about["generator_b"]]
        winner = {"a": names[0], "b": names[1], "both": "both"}[one.votes["musicality"].choice]
        best = {"C1": 1, "C2": 2, "reference": 0}
        expected = "both" if one.about["rater"] == "u2" and "reference" not in names else min(names, key=best.get)
        assert winner == expected


def test_scores_of_other_listeners_and_pages_give_no_pairs(folder):
    write(folder, *page("u1", C1=75), *page("u2", C2=25), *page("u1", "trial2", C2=50))
    ratings, pairs = split(rows(folder))
    assert len(ratings) == 3 and not pairs


def test_anchors_of_the_browser_repeated_rows_and_careless_listeners_are_left_out(folder):
    careless = [*page("u3", reference=40, C1=50), *page("u3", "trial2", reference=100, C1=50)]
    write(folder, *page("u1", C1=75, anchor35=10), *page("u1", C1=10), *careless, *page("u1", "trial2", anchor35=5))
    counts = count(rows(folder))
    assert counts.left_out == {
        "an anchor that the browser made": 1,
        "rated again in the same session": 1,
        "the listener did not recognise the hidden reference (BS.1534)": 4,
    }
    assert counts.kept == 2  # the first score of C1, and an anchor that is a file


def test_answers_of_the_questionnaire_are_nowhere(folder):
    write(folder, *page("u1", C1=75, C2=20))
    labels = list(read_labels(find(f"webmushra={folder}")))
    assert {type(one) for one in labels} == {Preference, Rating}
    assert "a@b.c" not in repr(labels)
    older = [line.replace(",u1,", ",") for line in page("u1", C1=75, C2=20)]
    write(folder, *older, header=HEADER.replace("session_uuid,", ""))
    labels = list(read_labels(Found(named("webmushra"), folder)))
    assert len(labels) == 3 and "a@b.c" not in repr(labels) and labels[-1].rater


def test_splits_keep_a_page_together(folder):
    write(folder, *(line for u in range(8) for t in ("trial1", "trial2") for line in page(f"u{u}", t, C1=9, C2=90)))
    found = [each for name in ("train", "valid", "test") for each in named("webmushra").read(folder, name)]
    assert len(found) == len(list(named("webmushra").read(folder, ALL)))
    by_page: dict[str, set[str]] = {}
    for each in found:
        by_page.setdefault(each.about["prompt_id"], set()).add(each.about["split"])
    assert all(len(splits) == 1 for splits in by_page.values())


@pytest.mark.parametrize(
    "line, said",
    [
        ("study,x,u1,trial1,C1,101,5000,", "line 2: 'rating_score' is '101', expected a number from 0 to 100"),
        ("study,x,u1,trial1,C1,inf,5000,", "expected a number from 0 to 100"),
        ("study,x,u1,trial1,C1,,5000,", "line 2: 'rating_score' is missing"),
        ("study,x,u1,trial1,C1,50,-1,", "'rating_time' is '-1'"),
        ("study,x,u1,trial9,C1,50,5000,", "no configuration has a MUSHRA page 'trial9'"),
        ("other,x,u1,trial1,C1,50,5000,", "of the test 'other'"),
        ("study,x,u1,trial1,C9,50,5000,", "no recording of 'C9'"),
        ("study,x,u1,,C1,50,5000,", "'trial_id' is missing"),
        ("study,,,trial1,C1,50,5000,", "cannot be told apart"),
        ("study,x,u1,trial1,C1,50,5000,,,,", "more fields than the header"),
    ],
)
def test_a_bad_row_gets_one_sentence(folder, line, said):
    write(folder, line)
    with pytest.raises(InputError, match=said) as caught:
        list(rows(folder))
    assert "\n" not in str(caught.value)


def test_a_folder_without_results_or_configurations_is_refused(tmp_path):
    with pytest.raises(InputError, match="no results"):
        list(rows(tmp_path))
    (tmp_path / "mushra.csv").write_text(HEADER + "\n")
    with pytest.raises(InputError, match="no configs"):
        list(rows(tmp_path))


@pytest.mark.parametrize("file", ["../secret.wav", "/etc/passwd", "C:/x.wav"])
def test_a_configuration_cannot_name_files_elsewhere(folder, file):
    (folder / "configs" / "study.yaml").write_text(CONFIG.replace("audio/1-c1.wav", file))
    with pytest.raises(InputError, match="leads out of"):
        read_pages(folder)


words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.lists(st.tuples(words, words, words, st.integers(0, 100), st.integers(0, 10**7), words), max_size=12))
def test_whatever_php_writes_is_read_back(tmp_path, given_rows):
    """fputcsv quotes as Python's csv does; names and comments may hold commas, quotes, line ends and any letter."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER.split(","))
    for session, trial, stimulus, score, time, comment in given_rows:
        writer.writerow(["study", "x", session, trial, stimulus, score, time, comment])
    path = tmp_path / "mushra.csv"
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    try:
        found = list(read_scores(path))
    except InputError as error:  # a name of spaces alone is missing
        assert "missing" in str(error) or "told apart" in str(error)
        return
    assert [(one.score, one.seconds) for one in found] == [(r[3], r[4] / 1000) for r in given_rows]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused_in_one_sentence(tmp_path, content):
    path = tmp_path / "mushra.csv"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        list(read_scores(path))
    assert str(path) in str(caught.value)


def test_left_out_rows_name_a_reason(folder):
    write(folder, *page("u1", anchor70=5, C1=5))
    assert [one.reason for one in rows(folder) if isinstance(one, LeftOut)] == ["an anchor that the browser made"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(["a", "B", "TIE"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80, deadline=None)
@given(st.dictionaries(st.sampled_from([*music_arena.FIELDS.main, *music_arena.FIELDS.others, "odd"]), json_values))
def test_any_battle_of_music_arena_is_read_left_out_or_refused_in_one_sentence(tmp_path, battle):
    path = tmp_path / "battle_data" / "08-2026MAR" / "one.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(battle))
    try:
        [found] = music_arena.rows(tmp_path)
    except InputError as error:
        assert str(path) in str(error) and "\n" not in str(error)
    else:
        assert isinstance(found, RatedItem | LeftOut)
