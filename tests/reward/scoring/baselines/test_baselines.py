"""Every baseline, from a small random checkpoint in its publishers' layout: what holds for all of them."""

import importlib.util
import os
import pickle
from pathlib import Path

import huggingface_hub
import numpy as np
import pytest
import soundfile
import torch
from safetensors.torch import save_file

from cmi._util.errors import InputError, MissingExtra
from cmi.audio import load
from cmi.reward.scoring import load_scorer
from cmi.reward.scoring.baselines import list_baselines
from cmi.reward.scoring.baselines.sources import PublishedCheckpoint, find
from cmi.reward.scoring.scorers import is_reward_model
from cmi.take import Prompt, Score, Take

BASELINES = list_baselines()
ONE_OF_EACH = ("muq-mulan-all", "clap", "clamp3", "audiobox-pq", "songeval", "pam", "tunejury")


@pytest.fixture(scope="module")
def load_small(places):
    made = {}

    def load_once(name):
        if name not in made:
            made[name] = load_scorer(f"{name}={','.join(map(str, places(name)))}", device="cpu")
        return made[name]

    return load_once


def prompt() -> Prompt:
    return Prompt("slow sad piano", lyrics="la la la")


def test_every_name_has_a_small_checkpoint_to_be_tested_with(savers):
    assert set(savers) == set(BASELINES)


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_tells_recordings_apart_on_its_own_axes_and_is_silent_on_the_other(name, load_small, sounds):
    short, long = load_small(name).score([Take(prompt(), sounds[key]) for key in ("short", "long")])
    for axis in ("musicality", "alignment"):
        values = getattr(short, axis), getattr(long, axis)
        if axis in load_small(name).axes:
            assert values[0] != values[1]
        else:
            assert values == (0.0, 0.0)


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_score_does_not_depend_on_the_company(name, load_small, sounds):
    scorer = load_small(name)
    takes = [Take(prompt(), sounds["short"]), Take(Prompt("fast loud drums"), sounds["long"])]
    alone = [scorer.score([take])[0] for take in takes]
    assert scorer.score(takes) == alone
    assert scorer.score([*reversed(takes), takes[0]]) == [*reversed(alone), alone[0]]


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_sound_in_memory_scores_as_the_file_it_came_from(name, load_small, sounds):
    waveform = load(sounds["short"], 22_050)
    file, memory = load_small(name).score([Take(prompt(), sound) for sound in (sounds["short"], waveform)])
    assert memory == pytest.approx(file, abs=2e-4)


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_the_name_says_metric_and_content_of_the_checkpoint(name, load_small, places):
    full = load_small(name).name
    assert full.startswith(f"{name} (")
    assert all(f"{folder.name}@" in full for folder in places(name))


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_silence_is_one_sentence(name, load_small, tmp_path):
    soundfile.write(tmp_path / "silent.wav", np.zeros(48_000), 16_000)
    with pytest.raises(InputError, match=r"silent\.wav: silent"):
        load_small(name).score([Take(prompt(), tmp_path / "silent.wav")])


@pytest.mark.parametrize("name", ["clap", "clamp3", "muq-mulan", "muq-mulan-all"])
def test_similarity_reads_the_text_and_needs_one(name, load_small, sounds):
    scorer = load_small(name)
    one, other = scorer.score([Take(Prompt(text), sounds["short"]) for text in ("piano", "a very loud guitar")])
    assert one.alignment != other.alignment
    assert -1.001 <= one.alignment <= 1.001
    with pytest.raises(InputError, match="has no text"):
        scorer.score([Take(Prompt(""), sounds["short"])])


def test_only_the_whole_prompt_has_lyrics_and_a_reference(load_small, sounds):
    prompts = [Prompt("piano"), Prompt("piano", lyrics="la la"), Prompt("piano", reference=sounds["long"])]
    takes = [Take(asked, sounds["short"]) for asked in prompts]
    text_only = load_small("muq-mulan").score(takes)
    assert text_only[0] == text_only[1] == text_only[2]
    whole = [score.alignment for score in load_small("muq-mulan-all").score(takes)]
    assert whole[0] == text_only[0].alignment
    assert len(set(whole)) == 3


def test_audiobox_gives_its_number_on_both_axes_and_songeval_its_five(load_small, sounds):
    take = Take(prompt(), sounds["short"])
    (score,) = load_small("audiobox-ce").score([take])
    assert score.musicality == score.alignment
    values = [load_small(name).score([take])[0].musicality for name in BASELINES if name.startswith("songeval")]
    assert len(set(values)) == 5
    assert all(1 <= value <= 5 for value in values)


def test_a_prompt_changes_nothing_where_only_sound_is_judged(load_small, sounds):
    for name in ("audiobox-pq", "songeval", "pam"):
        first, second = load_small(name).score([Take(Prompt(text), sounds["short"]) for text in ("", "piano")])
        assert first == second


# What is wrong with a checkpoint is said in one sentence that names it.


def refused(name: str, *folders: Path) -> str:
    with pytest.raises(InputError) as caught:
        load_scorer(f"{name}={','.join(map(str, folders))}", device="cpu")
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_an_empty_folder_is_refused(name, tmp_path, places):
    assert str(tmp_path) in refused(name, tmp_path, *places(name)[1:])


@pytest.mark.parametrize("name", ["muq-mulan", "clamp3", "audiobox-ce", "songeval", "pam"])
def test_the_checkpoint_of_another_model_is_refused(name, places, tmp_path):
    own = places(name)
    weights = next(path for path in own[0].iterdir() if path.suffix not in (".json", ".txt"))
    wrong = tmp_path / weights.name
    if weights.suffix == ".safetensors":
        save_file({"layer.weight": torch.zeros(3)}, wrong)
    else:
        torch.save({"layer.weight": torch.zeros(3)}, wrong)
    assert refused(name, tmp_path, *own[1:]).startswith(f"{wrong}: the checkpoint lacks")


def test_clap_refuses_another_models_folder(places):
    assert "not 'clap'" in refused("clap", places("audiobox-ce")[0])


def test_mert_with_a_constant_q_transform_is_refused(places, tmp_path):
    clamp3, mert = places("clamp3")
    (tmp_path / "config.json").write_text('{"feature_extractor_cqt": true}')
    (tmp_path / "pytorch_model.bin").write_bytes((mert / "pytorch_model.bin").read_bytes())
    assert "feature_extractor_cqt" in refused("clamp3", clamp3, tmp_path)


class Evil:
    def __reduce__(self):
        return (os.putenv, ("CMI_RAN_CODE", "yes"))


def test_a_checkpoint_that_would_run_code_is_refused(tmp_path):
    (tmp_path / "CLAP_weights_2023.pth").write_bytes(pickle.dumps({"model": Evil()}, protocol=2))
    assert "not a checkpoint of tensors alone" in refused("pam", tmp_path)
    torch.save({"model": Evil()}, tmp_path / "CLAP_weights_2023.pth")
    assert "not a checkpoint of tensors alone" in refused("pam", tmp_path)


def test_more_folders_than_checkpoints_are_refused(tmp_path):
    assert "1 checkpoints, but 2 were given" in refused("pam", tmp_path, tmp_path)


def test_songevals_head_is_on_no_hub():
    with pytest.raises(InputError, match="git clone"):
        load_scorer("songeval", device="cpu")


# Names, extras and the hub.


def test_a_missing_package_is_said_with_its_extra(monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "transformers" else find_spec(name))
    with pytest.raises(MissingExtra, match=r"the baseline clap needs the reward extra: pip install 'cmi\[reward\]'"):
        load_scorer("clap")


def test_a_name_that_is_nearly_a_metric_is_told_which_are_meant():
    with pytest.raises(InputError, match=r"no scorer is called 'audiobox-c'; did you mean audiobox-\w\w or"):
        load_scorer("audiobox-c")
    with pytest.raises(InputError, match=r"no scorer is called 'xyzzy'; known names are nano, cmi-rm, auto, tags"):
        load_scorer("xyzzy")


def test_a_folder_named_like_a_metric_is_meant_only_with_its_path(tmp_path, monkeypatch):
    """The data set of that name may lie where the user is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pam").mkdir()
    assert is_reward_model("./pam") and not is_reward_model("pam")


@pytest.mark.parametrize(
    ("name", "repo"), [("pam", "microsoft/msclap"), ("audiobox-ce", "facebook/audiobox-aesthetics")]
)
def test_the_published_checkpoint_is_fetched_at_its_pinned_revision(name, repo, places, sounds, tmp_path, monkeypatch):
    """The hub's client is asked for text and safetensors first, then for the one file that is neither."""
    asked = []

    def snapshot_download(repo_id, revision, allow_patterns):
        folder = tmp_path / revision
        folder.mkdir()
        asked.append((repo_id, revision))
        for path in places(name)[0].iterdir():
            if any(path.match(pattern) for pattern in allow_patterns):
                (folder / path.name).write_bytes(path.read_bytes())
        return str(folder)

    def hf_hub_download(repo_id, file, revision):
        asked.append((repo_id, revision))
        (tmp_path / revision / file).write_bytes((places(name)[0] / file).read_bytes())
        return str(tmp_path / revision / file)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", hf_hub_download)
    scorer = load_scorer(name, device="cpu")
    assert {repository for repository, _ in asked} == {repo}
    (revision,) = {revision for _, revision in asked}
    assert len(revision) == 40
    assert scorer.name == f"{name} ({repo}@{revision[:12]})"
    (score,) = scorer.score([Take(prompt(), sounds["short"])])
    assert isinstance(score, Score)


def test_a_hub_that_does_not_answer_is_one_sentence(monkeypatch, tmp_path):
    def refuse(*arguments, **options):
        raise OSError("no network")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *a, **o: str(tmp_path))
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", refuse)
    with pytest.raises(InputError, match=r"CLAP_weights_2023\.pth of 'microsoft/msclap' could not be downloaded"):
        load_scorer("pam", device="cpu")


def test_a_pickle_is_read_only_if_the_user_says_so(tmp_path, monkeypatch):
    monkeypatch.delenv("CMI_READ_PICKLES")
    (tmp_path / "weights.bin").write_bytes(b"anything")
    with pytest.raises(InputError, match="is a pickle: set CMI_READ_PICKLES=1"):
        find(PublishedCheckpoint("", "", ("model.safetensors", "weights.bin")), [str(tmp_path)])
