"""Ratings in and out: manifests become pages, anchors meet the standard, and ratings become votes that others read."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi.arena.audio.anchors import low_pass, make_anchor
from cmi.arena.exchange.rating_export import export_ratings
from cmi.arena.exchange.trial_import import import_trials, measure_trials, read_trials
from cmi.arena.store import projects
from cmi.arena.store.ratings import RatingBallot, save_rating
from cmi.arena.store.trials import KINDS, TrialView, begin_trial, count_trials, next_trial
from cmi.preferences import read_preferences, read_ratings

RATE = 22_050
SYSTEMS = ("good", "fair", "poor")


@pytest.fixture(scope="module")
def manifest(tmp_path_factory) -> Path:
    """Two prompts, each with a reference and a take of three systems."""
    folder = tmp_path_factory.mktemp("takes")
    rng = np.random.default_rng(0)
    rows = []
    for number in range(2):
        for name in (*SYSTEMS, "reference"):
            soundfile.write(folder / f"{number}-{name}.wav", 0.1 * rng.standard_normal(RATE), RATE)
        rows += [
            {"id": f"{number}-{name}", "audio": f"{number}-{name}.wav", "text": f"slow piano {number}"}
            | {"reference": f"{number}-reference.wav", "generator": name, "x_batch": "b1"}
            for name in SYSTEMS
        ]
    path = folder / "takes.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture
def rated(sqlite_database, new_people, manifest, tmp_path):
    """rated(kind): a project in which two people rated everything: good above fair, and fair like poor."""

    def make(kind: str, worst: int = 100):
        project = projects.create(sqlite_database, kind, {"heard_share": 0.0}, kind=kind)
        import_trials(sqlite_database, project.id, measure_trials(manifest, kind, tmp_path))
        value = {
            "mos": {"good": 5, "fair": 2, "poor": 2},
            "mushra": {"good": 80, "fair": 40, "poor": 40, "reference": 100, "anchor35": 10},
            "ranking": {"good": 1, "fair": 2, "poor": 2},
        }[kind]
        for number, person in enumerate(new_people(sqlite_database, project, 2)):
            while isinstance(view := next_trial(sqlite_database, person)[0], TrialView):
                view = begin_trial(sqlite_database, person, view.key)
                system = {name: _system(one) for name, one in view.stimuli.items()}
                answers = {name: value[system[name]] for name in view.stimuli}
                if number == 1 and kind == "mushra":
                    answers |= {name: worst for name in answers if system[name] == "reference"}
                ballot = RatingBallot(dict.fromkeys(KINDS[kind].axes, answers), "words")
                save_rating(sqlite_database, person, view.key, ballot)
        return project

    return make


def _system(stimulus) -> str:
    if stimulus.role != "take":
        return stimulus.role
    return Path(stimulus.sound.original.path).stem.partition("-")[2]


@pytest.mark.parametrize(("kind", "pages"), [("mos", 6), ("mushra", 2), ("ranking", 2)])
def test_a_manifest_becomes_pages_and_again_adds_none(sqlite_database, manifest, tmp_path, kind, pages):
    project = projects.create(sqlite_database, kind, kind=kind)
    heard = measure_trials(manifest, kind, tmp_path, mid_anchor=True)
    assert import_trials(sqlite_database, project.id, heard)[:2] == (pages, 0)
    assert import_trials(sqlite_database, project.id, measure_trials(manifest, kind, tmp_path, True))[:2] == (0, pages)
    assert count_trials(sqlite_database, project.id) == pages
    roles = [[one.role for one in trial.stimuli] for trial in heard.trials]
    expected = {"mos": ["take"], "ranking": ["take"] * 3}
    assert roles == [expected.get(kind, ["take"] * 3 + ["reference", "anchor35", "anchor70"])] * pages


def test_a_folder_of_takes_becomes_pages(tmp_path, tone):
    for prompt in ("one", "two"):
        (tmp_path / prompt).mkdir()
        (tmp_path / prompt / "prompt.txt").write_text(f"prompt {prompt}")
        for place, system in enumerate(SYSTEMS):
            tone(tmp_path / prompt / f"{system}.wav", 0.2, 100 + place)
    trials = list(read_trials(tmp_path, "ranking"))
    assert [(trial.id, [one.system for one in trial.stimuli]) for trial in trials] == [
        ("one", ["fair", "good", "poor"]),
        ("two", ["fair", "good", "poor"]),
    ]
    assert len(list(read_trials(tmp_path, "mos"))) == 6


@pytest.mark.parametrize(
    ("rows", "kind", "said"),
    [
        ([{"audio": "a.wav", "text": "x"}], "mushra", "line 1: no reference"),
        ([{"audio": "a.wav", "text": "x", "reference": "missing.wav"}], "mushra", "line 1: 'reference' cannot be used"),
        ([{"audio": "a.wav", "text": "x", "reference": "b.wav", "generator": "anchor35"}], "mushra", "rename it"),
        ([{"audio": "a.wav", "text": "x", "reference": "low.wav"}], "mushra", "rate of 8000 Hz"),
        (
            [{"audio": "a.wav", "text": "x", "group": "g"}, {"audio": "b.wav", "text": "y", "group": "g"}],
            "ranking",
            "g'",
        ),
        ([{"audio": "missing.wav", "text": "x"}], "mos", "line 1: 'audio' cannot be used"),
        ([{"audio": "a.wav", "prompt": "x"}], "mos", "unknown field 'prompt'"),
        ([], "mos", "no takes in it"),
    ],
)
def test_a_wrong_manifest_is_refused_in_one_sentence(tmp_path, tone, rows, kind, said):
    for name, rate in (("a", RATE), ("b", RATE), ("low", 8000)):
        soundfile.write(tmp_path / f"{name}.wav", 0.1 * np.random.default_rng(len(name)).standard_normal(rate), rate)
    path = tmp_path / "takes.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(InputError, match=said) as error:
        measure_trials(path, kind, tmp_path)
    assert "\n" not in str(error.value)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"audio": st.just("a.wav")},
            optional={
                name: st.one_of(st.text(max_size=5), st.integers(), st.none(), st.booleans())
                for name in ("text", "lyrics", "reference", "generator", "group", "id", "x_own")
            },
        ),
        max_size=4,
    ),
    st.sampled_from(["mos", "mushra", "ranking"]),
)
def test_any_manifest_is_read_or_refused(tmp_path_factory, rows, kind):
    path = tmp_path_factory.mktemp("any") / "takes.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    try:
        found = list(read_trials(path, kind))
    except InputError as error:
        assert "\n" not in str(error)
    else:
        assert sum(len(trial.stimuli) for trial in found) == len(rows)


@pytest.mark.parametrize("rate", [16_000, 22_050, 44_100, 48_000])
def test_the_low_anchors_filter_meets_the_standard(rate):
    """BS.1534-3: flat to 0.1 dB up to 3.5 kHz, 25 dB down at 4 kHz, 50 dB at 4.5 kHz."""
    taps = low_pass(3500.0, rate)

    def decibels(hertz):
        phases = np.exp(-2j * np.pi * np.outer(np.atleast_1d(hertz) / rate, np.arange(len(taps))))
        return 20 * np.log10(np.abs(phases @ taps))

    assert np.abs(decibels(np.linspace(0, 3500, 500))).max() <= 0.1
    assert decibels(4000.0)[0] <= -25
    assert decibels(np.linspace(4500, rate / 2, 500)).max() <= -50


def test_an_anchor_is_in_time_with_its_reference_and_made_once(tmp_path):
    rate = 44_100
    times = np.arange(3 * rate + 17) / rate
    low, high = np.sin(2 * np.pi * 500 * times), np.sin(2 * np.pi * 6000 * times)
    soundfile.write(tmp_path / "r.wav", np.stack([0.3 * low + 0.3 * high, 0.3 * low], axis=1), rate, subtype="FLOAT")
    path = make_anchor(tmp_path / "r.wav", "anchor35", tmp_path / "anchors")
    anchor, _ = soundfile.read(path)
    assert anchor.shape == (len(times), 2)
    assert np.abs(anchor[500:-500] - 0.3 * low[500:-500, None]).max() < 1e-3, "the same wave at the same sample"
    before = path.stat().st_mtime_ns
    assert make_anchor(tmp_path / "r.wav", "anchor35", tmp_path / "anchors") == path
    assert path.stat().st_mtime_ns == before


@pytest.mark.parametrize("kind", ["mos", "mushra", "ranking"])
def test_ratings_become_votes_on_pairs(sqlite_database, rated, tmp_path, kind):
    project = rated(kind)
    done = export_ratings(sqlite_database, project.id, tmp_path / "out")
    votes = list(read_preferences(tmp_path / "out"))
    axes, stimuli = len(KINDS[kind].axes), 5 if kind == "mushra" else 3
    assert len(votes) == done.preferences == 2 * 2 * axes * stimuli * (stimuli - 1) // 2
    assert len({vote.id for vote in votes}) == len(votes)
    order = {"reference": 4, "good": 3, "fair": 2, "poor": 2, "anchor35": 1}
    for vote in votes:
        a, b = (order[vote.about[f"generator_{side}"]] for side in "ab")
        assert vote.choice == ("a" if a > b else "b" if b > a else "both")
        assert vote.pair.a.is_file() and vote.pair.prompt.reference.is_file()
        assert vote.about["x_rated"] == kind and vote.about["x_batch"] == "b1" and vote.about["feedback"] == "words"
    takes = {(vote.pair.a, vote.pair.b) for vote in votes}
    assert any((b, a) in takes or a > b for a, b in takes), "the order tells nothing"
    if kind != "ranking":
        values = {
            (one.about["generator"], one.ratings["musicality"]) for one in read_ratings(tmp_path / "out/ratings.jsonl")
        }
        expected = {"mos": {("good", 5.0), ("fair", 2.0), ("poor", 2.0)}}
        scores = {("good", 4.2), ("fair", 2.6), ("poor", 2.6), ("reference", 5.0), ("anchor35", 1.4)}
        assert values == expected.get(kind, scores)
    again = export_ratings(sqlite_database, project.id, tmp_path / "out", "csv")
    rows = list(csv.DictReader((tmp_path / "out/answers.csv").open()))
    assert len(rows) == again.ratings * (1 if kind == "mos" else stimuli)
    assert {row["passed"] for row in rows} == {"true"}


def test_who_fails_post_screening_is_left_out_unless_asked_for(sqlite_database, rated, tmp_path):
    project = rated("mushra", worst=50)
    done = export_ratings(sqlite_database, project.id, tmp_path / "out")
    assert (done.failed, done.preferences) == (1, 20)
    assert len({vote.rater for vote in read_preferences(tmp_path / "out")}) == 1
    everybody = export_ratings(sqlite_database, project.id, tmp_path / "all", everybody=True)
    assert (everybody.failed, everybody.preferences) == (0, 40)
    rows = [json.loads(line) for line in (tmp_path / "out/answers.jsonl").read_text().splitlines()]
    assert {row["passed"] for row in rows} == {True, False} and len(rows) == 20


def test_no_prompt_is_in_two_splits(sqlite_database, rated, tmp_path):
    project = rated("mos")
    done = export_ratings(sqlite_database, project.id, tmp_path / "out", shares={"train": 0.5, "test": 0.5})
    splits = {(vote.prompt.text, vote.about["split"]) for vote in read_preferences(tmp_path / "out")}
    assert len(splits) == 2 and done.leaking == 0
    assert {split for _, split in splits} == {"train", "test"}
