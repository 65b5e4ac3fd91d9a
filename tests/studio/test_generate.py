"""The imperfect generator: the same bytes from the same seed, and a truth about its takes that is true."""

import hashlib
import json
from collections import Counter

import numpy as np
import pytest

from cmi._util.errors import InputError
from cmi.reward.pick.candidates import read_folder, read_manifest
from cmi.studio import generate as module
from cmi.studio.captions import facts, false_of
from cmi.studio.flaws import FLAWS, PieceFlaw
from cmi.studio.generate import MANIFEST, Truth, generate, generate_set, write_prompt
from cmi.studio.recordings import TakeRecipe, TakeSource, piece_of
from cmi.take import Prompt, Score, Take

PROMPTS, CANDIDATES, SEED = 2, 3, 4


def digests(folder):
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def candidates(prompts, each):
    for number in range(prompts):
        asked = write_prompt(number, SEED)
        for candidate in range(each):
            yield asked, generate(asked, SEED, 10**9 + (number * each + candidate) * 16)


@pytest.fixture(scope="module")
def many():
    return list(candidates(25, 4))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("generated") / "takes"
    generate_set(folder, PROMPTS, CANDIDATES, SEED, workers=2)
    return folder


def test_the_same_seed_gives_the_same_bytes_and_an_interrupted_set_goes_on(made, tmp_path):
    folder = tmp_path / "takes"
    folder.mkdir()
    (folder / "settings.json").write_text((made / "settings.json").read_text())
    (folder / "000").mkdir()
    for name in ("000/prompt.json", "000/00.flac", "000/01.flac"):
        (folder / name).write_bytes((made / name).read_bytes())
    lines = (made / MANIFEST).read_text().splitlines(keepends=True)
    (folder / f"{MANIFEST}.partial").write_text(lines[0] + lines[1] + lines[2][:30])
    (folder / "000" / "01.flac").unlink()  # and one was lost
    told = []
    generate_set(folder, PROMPTS, CANDIDATES, SEED, workers=1, on_made=lambda done, total: told.append((done, total)))
    assert told[0] == (1, 6)
    assert told[-1] == (6, 6)
    assert digests(folder) == digests(made)


def test_a_folder_of_takes_is_what_pick_reads(made):
    by_folder, by_manifest = read_folder(made), read_manifest(made / MANIFEST)
    assert [group.name for group in by_folder] == [group.name for group in by_manifest] == ["000", "001"]
    for one, other in zip(by_folder, by_manifest, strict=True):
        assert [candidate.take for candidate in one.candidates] == [candidate.take for candidate in other.candidates]
        assert len(one.candidates) == CANDIDATES


def test_truth_scores_takes_by_the_manifest(made):
    rows = [json.loads(line) for line in (made / MANIFEST).read_text().splitlines()]
    takes = [Take(Prompt(row["text"]), made / row["audio"]) for row in rows]
    truths = [row["truth"] for row in rows]
    assert Truth().score(takes) == [Score(truth["musicality"], truth["alignment"]) for truth in truths]
    assert [truth["quality"] for truth in truths] == [
        pytest.approx((truth["musicality"] + truth["alignment"]) / 2) for truth in truths
    ]
    assert len({truth["quality"] for truth in truths}) > 1


def test_truth_says_nothing_about_what_it_does_not_know(made, tmp_path):
    with pytest.raises(InputError, match=r"not in .*takes\.jsonl"):
        Truth().score([Take(Prompt(""), made / "000" / "other.flac")])
    with pytest.raises(InputError, match="no such file"):
        Truth().score([Take(Prompt(""), tmp_path / "a" / "b.flac")])
    (tmp_path / MANIFEST).write_text('{"audio": "a/b.flac"}\n')
    with pytest.raises(InputError, match="rows without truth"):
        Truth().score([Take(Prompt(""), tmp_path / "a" / "b.flac")])


def test_other_settings_and_other_peoples_folders_are_refused(made, tmp_path):
    with pytest.raises(InputError, match="other settings"):
        generate_set(made, PROMPTS, CANDIDATES, SEED + 1)
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        generate_set(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_what_is_said_to_be_met_or_not_is_so_by_the_notes(many):
    seen = Counter()
    for asked, made in many:
        played = facts(piece_of(made.recipe.source))
        assert {name for name, met in made.met.items() if met is False} == false_of(asked, played)
        assert set(made.met) == asked.says
        if made.met.get("instruments"):
            assert set(asked.instruments) <= set(played.instruments)
        seen.update(made.met.values())
    assert seen[True] > seen[None] > 0  # better than chance, and
    assert seen[False] > 0.1 * seen.total()  # far from perfect


def test_a_third_is_clean_and_strengths_and_flaws_vary(many):
    recipes = [made.recipe for _, made in many]
    clean = sum(not recipe.flaw for recipe in recipes) / len(recipes)
    assert clean == pytest.approx(1 / 3, abs=0.14)  # three standard errors
    flawed = [recipe for recipe in recipes if recipe.flaw]
    assert len({recipe.flaw for recipe in flawed}) > len(FLAWS) / 2
    assert all(0.05 <= recipe.strength <= 1 for recipe in flawed)
    assert sum(recipe.strength < 0.5 for recipe in flawed) / len(flawed) == pytest.approx(0.5, abs=0.18)


def test_a_flaw_that_is_on_record_spoils_something(many):
    for recipe in (made.recipe for _, made in many):
        flaw = FLAWS.get(recipe.flaw)
        if isinstance(flaw, PieceFlaw):
            piece = piece_of(recipe.source)
            assert flaw.measure(piece, flaw.apply(piece, recipe.strength, np.random.default_rng(recipe.flaw_seed))) > 0


def test_a_generator_that_heeds_everything_meets_everything_but_a_rare_mood(monkeypatch):
    monkeypatch.setattr(module, "HEEDED", 1.0)
    for _, made in candidates(20, 1):
        assert {name: met for name, met in made.met.items() if met is not True and name != "mood"} == {}


def test_true_quality_falls_with_the_flaw_and_rises_with_what_is_met():
    def score(strength, *met):
        return module.Generated(
            TakeRecipe(TakeSource(), 0, "noise", strength), dict(zip("abc", met, strict=False))
        ).score

    assert score(0.0, True, True) == Score(musicality=1.0, alignment=1.0)
    assert score(0.75, True, None, False) == Score(musicality=0.25, alignment=0.5)
    assert score(1.0, False) == Score(musicality=0.0, alignment=0.0)


def test_prompts_ask_for_nothing_that_is_sung_and_differ():
    prompts = [write_prompt(number, 0) for number in range(20)]
    assert all("vocals" not in asked.says for asked in prompts)
    assert len({asked.text for asked in prompts}) == 20
    assert {write_prompt(number, 1).text for number in range(20)}.isdisjoint(asked.text for asked in prompts)
