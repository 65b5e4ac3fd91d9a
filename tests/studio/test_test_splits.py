"""What a set promises of its test splits, proved from its files: nulls know nothing, and held out means held out."""

import json

import numpy as np
import pytest
import soundfile

pytest.importorskip("pyworld", reason="sung lyrics need the vocals extra")

from cmi.preferences import read_preferences
from cmi.studio.make import make_set
from cmi.studio.pairs import HELD_OUT, SHARES, Material
from cmi.studio.tracks import find_tracks

TESTED = ("test", "heldout")


@pytest.fixture(scope="module")
def tracks(tmp_path_factory):
    """Stand-ins for real recordings, long enough for a reference beside a take."""
    folder = tmp_path_factory.mktemp("tracks")
    seconds = np.arange(62 * 8000) / 8000
    for seed in range(20):
        rng = np.random.default_rng(seed)
        pitches = np.repeat(rng.choice([220, 262, 294, 330, 392, 440], 124), 4000) * rng.uniform(0.5, 2)
        plucked = np.sin(2 * np.pi * np.cumsum(pitches) / 8000) * np.exp(-5 * (seconds % 0.5))
        soundfile.write(folder / f"{seed}.ogg", 0.3 * plucked + 0.01 * rng.standard_normal(seconds.size), 8000)
    return tuple(find_tracks(folder))


@pytest.fixture(scope="module")
def made(tracks, tmp_path_factory):
    """A set of all sources, most of it for tests."""
    folder = tmp_path_factory.mktemp("set")
    with pytest.MonkeyPatch.context() as patch:
        for split, share in {"train": 0.06, "valid": 0.06, "test": 0.44, "heldout": 0.44}.items():
            patch.setitem(SHARES, split, share)
        make_set(folder, 52, seed=7, material=Material(scores=0.2, tracks=tracks, tracks_share=0.25))
    return folder


@pytest.fixture(scope="module")
def pairs(made):
    return list(read_preferences(made / "preferences.jsonl"))


def loudness(path):
    return float(np.sqrt(np.mean(soundfile.read(path)[0].mean(axis=1) ** 2)))


def brightness(path):
    power = np.abs(np.fft.rfft(soundfile.read(path)[0].mean(axis=1))) ** 2
    return float(power @ np.arange(power.size) / power.sum())


def length(path):
    return soundfile.info(path).frames


@pytest.fixture(scope="module")
def notes(made):
    lines = [json.loads(line) for line in (made / "made.jsonl").read_text().splitlines()]
    return {take["take"]: take["heard"][3] for line in lines for take in line["takes"].values()}


@pytest.mark.parametrize("split", TESTED)
@pytest.mark.parametrize("axis", ["musicality", "alignment"])
def test_no_null_is_right_in_more_than_55_percent(pairs, notes, split, axis):
    """Measured anew from the files, not as `make` did."""
    group = [one for one in pairs if one.about["split"] == split and one.axis == axis]
    assert group
    for null in (loudness, brightness, length, lambda path: notes[path.stem]):
        better = [null(p.pair.a if p.choice == "a" else p.pair.b) for p in group]
        worse = [null(p.pair.b if p.choice == "a" else p.pair.a) for p in group]
        right = [0.5 if one == other else float(one > other) for one, other in zip(better, worse, strict=True)]
        assert np.mean(right) <= 0.55, null


def test_no_piece_recording_or_held_out_flaw_of_a_test_split_is_in_training(pairs):
    seen = {split: {"pieces": set(), "files": set(), "flaws": set()} for split in SHARES}
    for one in pairs:
        pair, own = one.pair, seen[one.about["split"]]
        own["pieces"] |= set(one.about["truth"]["pieces"])
        own["files"] |= {path.name for path in (pair.a, pair.b, pair.prompt.reference) if path}
        own["flaws"] |= {one.about["truth"]["flaw"]} - {""}
    for split in TESTED:
        others = [own for name, own in seen.items() if name != split]
        assert seen[split]["pieces"]
        assert seen[split]["files"]
        for own in others:
            assert not seen[split]["pieces"] & own["pieces"]
            assert not seen[split]["files"] & own["files"]
    assert seen["heldout"]["flaws"] <= set(HELD_OUT)
    for split in ("train", "valid", "test"):
        assert not seen[split]["flaws"] & set(HELD_OUT)


def test_all_sources_are_in_it(pairs, made, tracks):
    names = {name for one in pairs for name in one.about["truth"]["pieces"]}
    assert {name.split()[0].split("/")[0] for name in names} >= {"piece", "track", "bach"}
    about = json.loads((made / "about.json").read_text())
    assert {used["track"] for used in about["used_tracks"]} == {n.split()[1] for n in names if n.startswith("track")}
    assert len(about["used_tracks"]) <= len(tracks)


def test_of_tracks_only_recordings_are_spoilt_and_references_are_of_one_of_them(pairs):
    of_tracks = [one for one in pairs if one.about["truth"]["pieces"][0].startswith("track")]
    assert of_tracks
    for one in of_tracks:
        truth, pair = one.about["truth"], one.pair
        assert len(truth["pieces"]) == (1 if truth["kind"] == "same" else 2)
        assert (pair.prompt.reference is not None) == (truth["modality"] == "text+audio")
        if one.axis == "alignment":
            assert pair.prompt.reference is not None
