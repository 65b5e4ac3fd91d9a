"""A preference set is the same whoever makes it, survives a kill, and keeps apart what must be kept apart."""

import hashlib
import json
import shutil
import subprocess
import sys
import time
from dataclasses import replace

import pytest

pytest.importorskip("pyworld", reason="sung lyrics need the vocals extra")

import soundfile

from cmi._util.errors import InputError
from cmi.preferences import read_preferences
from cmi.studio.captions import facts, false_of
from cmi.studio.flaws import FLAWS
from cmi.studio.make import make_set
from cmi.studio.pairs import HELD_OUT, MODALITIES, SHARES, Material, known_flaws, plan_pairs
from cmi.studio.recordings import RATE, SECONDS, TakeRecipe, TakeSource, piece_of, record
from cmi.studio.recordings import _played as played

PAIRS = 8


def digests(folder):
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    make_set(folder, PAIRS, seed=3, workers=2)
    return folder


def test_the_same_seed_gives_the_same_bytes_in_one_process_or_two(made, tmp_path):
    make_set(tmp_path / "again", PAIRS, seed=3, workers=1)
    assert digests(tmp_path / "again") == digests(made)


def test_a_killed_run_resumes_to_the_same_bytes(made, tmp_path):
    code = "import sys; from pathlib import Path; from cmi.studio.make import make_set; "
    code += f"make_set(Path(sys.argv[1]), {PAIRS}, seed=3, workers=1)"
    folder = tmp_path / "killed"
    process = subprocess.Popen([sys.executable, "-c", code, str(folder)])
    while process.poll() is None and len(list(folder.glob("audio/*.flac"))) < 3:
        time.sleep(0.02)
    process.kill()
    process.wait()
    make_set(folder, PAIRS, seed=3, workers=1)
    assert {k: v for k, v in digests(folder).items() if not k.endswith(".unfinished")} == digests(made)


def test_every_line_is_a_preference_whose_files_are_there(made):
    preferences = list(read_preferences(made / "preferences.jsonl"))
    assert preferences
    for one in preferences:
        pair = one.pair
        for path in (pair.a, pair.b, pair.prompt.reference):
            if path is not None:
                about = soundfile.info(path)
                assert (about.samplerate, about.channels, about.frames) == (RATE, 2, SECONDS * RATE)
        assert pair.prompt.text
        assert one.rater == "studio"
        assert pair.prompt.modality == one.about["truth"]["modality"]


def test_other_settings_in_the_same_folder_are_refused(made):
    with pytest.raises(InputError, match="created with other settings"):
        make_set(made, PAIRS, seed=4)


@pytest.fixture(scope="module")
def plans():
    return list(plan_pairs(600, seed=1))


def test_held_out_means_held_out(plans):
    """No piece of a split and no flaw of the held-out split is in any other split."""
    pieces, flaws = {}, {}
    for plan in plans:
        pieces.setdefault(plan.split, set()).update(recipe.source.name for recipe in plan.recipes.values())
        flaws.setdefault(plan.split, set()).update(recipe.flaw for recipe in plan.recipes.values() if recipe.flaw)
    assert set(pieces) == set(SHARES)
    for split, own in pieces.items():
        assert not own & set().union(*(theirs for other, theirs in pieces.items() if other != split))
    assert flaws["heldout"] == set(HELD_OUT)
    assert not flaws["heldout"] & (flaws["train"] | flaws["valid"] | flaws["test"])
    assert {FLAWS[name].family for name in flaws["heldout"]} == {"production", "performance", "composition"}


def test_a_whole_family_can_be_held_out():
    plans = list(plan_pairs(300, seed=1, material=Material(held_out=("performance",))))
    for plan in plans:
        families = {FLAWS[recipe.flaw].family for recipe in plan.recipes.values() if recipe.flaw}
        assert families <= ({"performance"} if plan.split == "heldout" else {"production", "composition"})
    with pytest.raises(InputError, match="unknown flaw or family 'wobble'"):
        known_flaws(["wobble"])


def test_modalities_are_mixed_as_in_cmi_pref(plans):
    for modality, share in MODALITIES.items():
        found = sum(plan.truth["modality"] == modality for plan in plans) / len(plans)
        assert found == pytest.approx(share, abs=0.06)


def test_the_better_take_of_a_musicality_pair_is_clean_and_comes_first_half_of_the_time(plans):
    musical = [plan for plan in plans if plan.axis == "musicality"]
    assert all(not plan.better.flaw and plan.worse.flaw and plan.worse.strength >= 0.25 for plan in musical)
    assert 0.4 < sum(plan.better_first for plan in plans) / len(plans) < 0.6
    assert all(1 <= plan.confidence <= 5 for plan in plans)


def test_the_worse_take_of_an_alignment_pair_has_the_same_flaw_and_another_content(plans):
    for plan in (plan for plan in plans if plan.axis == "alignment"):
        assert plan.better.flaw == plan.worse.flaw
        assert (plan.better.source, plan.better.lyrics) != (plan.worse.source, plan.worse.lyrics)


def test_the_text_is_true_of_the_better_take_and_false_of_the_worse(plans):
    """Where the text is what is violated; in the other pairs lyrics or reference tell the takes apart."""
    violated = [
        plan for plan in plans if plan.axis == "alignment" and plan.truth["kind"] in ("style", "tempo", "density")
    ]
    assert violated
    for plan in violated:
        good, bad = (facts(piece_of(recipe.source), bool(plan.lyrics)) for recipe in (plan.better, plan.worse))
        assert not false_of(plan.caption, good)
        assert false_of(plan.caption, bad), plan


def test_a_longer_plan_begins_with_a_shorter_one(plans):
    assert list(plan_pairs(20, seed=1)) == plans[:20]


def test_takes_have_the_level_of_their_recipe_whatever_was_done_to_them():
    clean = TakeRecipe(TakeSource(seed=5), gain=-2.0)
    for flaw in ("", "noise", "abrupt-cut", "dropouts"):
        sound, heard = record(TakeRecipe(clean.source, flaw=flaw, strength=0.6 if flaw else 0, gain=-2.0))
        assert heard.loudness == pytest.approx(-22, abs=0.6)
        assert heard.seconds == SECONDS
        assert abs(sound).max() <= 0.98


def test_about_says_how_often_nulls_are_right(made):
    about = json.loads((made / "about.json").read_text())
    assert about["kept"] == sum(split["pairs"] for split in about["splits"])
    assert {"louder", "longer", "brighter", "more notes"} == set(about["splits"][0]["nulls"])
    for split in about["splits"]:
        assert all(abs(value - 0.5) <= max(0.05, 0.5 / split["pairs"]) + 1e-9 for value in split["nulls"].values())


def test_only_recordings_of_pairs_that_were_kept_stay(made):
    named = set()
    for one in read_preferences(made / "preferences.jsonl"):
        pair = one.pair
        named |= {path for path in (pair.a, pair.b, pair.prompt.reference) if path}
    assert set((made / "audio").iterdir()) == named


def test_a_recording_that_was_lost_is_made_again(made, tmp_path):
    folder = tmp_path / "set"
    shutil.copytree(made, folder)
    next((folder / "audio").iterdir()).unlink()
    make_set(folder, PAIRS, seed=3, workers=1)
    assert digests(folder) == digests(made)


def test_a_tune_that_a_flaw_left_without_notes_is_not_sung():
    piece = piece_of(TakeSource(seed=5))
    silent = replace(piece, parts=tuple(replace(p, notes=() if p.role == "melody" else p.notes) for p in piece.parts))
    assert played(silent, "golden river", 0).any()
