"""Each worker runs as a process of `cmi generate`, against a stand-in for its model's repository.

A stand-in has the functions that the worker calls, in the same files and with the same parameters (`check_calls.py
--same-as` compared them with the repositories), and returns noise. What it was given is in a log.
"""

import ast
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi.cli import app

from ..stand_ins import RECIPES, make_clone, read_log, use_packages

GENERATORS = RECIPES / "generators"
STAND_INS = Path(__file__).parent / "stand_ins"
LYRICS = "[Verse 1]\nThe rain is gone\nThe road is dry\n\n[Chorus]\nSing it again"
SONG = {"id": "song", "text": "A bright pop/rock song", "lyrics": LYRICS}
TEXT = {"id": "text", "text": "Slow piano"}


class Runs:
    """Runs `cmi generate` with a worker in a folder, and reads what came of it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "log.jsonl"
        self.reference = folder / "like.wav"
        noise = np.random.default_rng(0).uniform(-0.1, 0.1, (12 * 8000, 2))
        soundfile.write(self.reference, noise, 8000)

    def run(self, system: str, prompts: list[dict], *worker_options: str, script: Path | None = None, **options):
        clone = make_clone(system, self.folder / "clone" / system)
        prompts_file = self.folder / "prompts.jsonl"
        prompts_file.write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts))
        script = script or GENERATORS / system / "worker.py"
        words = [sys.executable, str(script), "--clone", str(clone), *worker_options]
        given = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        command = ["generate", str(prompts_file), str(self.folder / "takes"), "--system", f"worker:{' '.join(words)}"]
        return CliRunner().invoke(app, [*command, *given])

    def rows(self, name: str) -> list[dict]:
        path = self.folder / "takes" / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def takes(self) -> dict[str, dict]:
        return {f"{row['group']}-{row['seed']}": row for row in self.rows("takes.jsonl")}

    def given(self, function: str) -> list[dict]:
        return read_log(self.log, function)

    def failures(self) -> dict[str, tuple[str, str]]:
        return {row["group"]: (row["reason"], row["message"]) for row in self.rows("failures.jsonl")}

    def sound(self, take: dict) -> tuple[tuple[int, int], int]:
        """Return the shape and rate of a take."""
        samples, rate = soundfile.read(self.folder / "takes" / take["audio"], always_2d=True)
        return samples.shape, rate


@pytest.fixture
def runs(tmp_path, monkeypatch):
    made = Runs(tmp_path)
    use_packages(monkeypatch, made.log)
    return made


@pytest.mark.parametrize(
    ("system", "options", "name", "rate", "channels"),
    [
        ("yue", [], "yue", 44_100, 1),
        ("songgen", [], "songgen", 16_000, 1),
        ("songgen", ["--model", "LiuZH-19/SongGen_interleaving_A_V"], "songgen-dual", 16_000, 1),
        ("diffrhythm", [], "diffrhythm", 44_100, 2),
        ("levo", ["--checkpoint", "weights", "--low-memory"], "levo-2", 48_000, 2),
        ("jam", [], "jam", 44_100, 2),
        ("acestep", ["--lm", "acestep-5Hz-lm-1.7B"], "ace-step-1.5-lm", 48_000, 2),
        ("musicgen", ["--model", "facebook/musicgen-stereo-large"], "musicgen-stereo-large", 32_000, 2),
    ],
)
def test_a_take_has_the_length_asked_for_and_depends_on_its_seed(runs, system, options, name, rate, channels):
    prompt = TEXT if system == "musicgen" else SONG
    done = runs.run(system, [{**prompt, "id": "a"}, {**prompt, "id": "b"}], *options, takes=2, seconds=12)
    takes = runs.takes()
    assert sorted(takes) == ["a-0", "a-1", "b-0", "b-1"], done.output
    assert takes["a-0"]["sha256"] == takes["b-0"]["sha256"] != takes["a-1"]["sha256"]
    for take in takes.values():
        assert runs.sound(take) == ((12 * rate, channels), rate)
        assert take["generator"] == name
        assert take["licence"] != "unknown"
        assert take["version"].endswith(", code unknown")  # a stand-in is not a clone


def test_yue_is_given_tags_sections_and_tokens(runs):
    runs.run("yue", [SONG, TEXT], seconds=45)
    song, text = runs.given("infer.py")
    assert song["tags"] == "bright pop rock song"
    assert song["lyrics"] == "[verse]\nThe rain is gone\nThe road is dry\n\n[chorus]\nSing it again\n\n[outro]\n"
    assert (song["run_n_segments"], song["max_new_tokens"], song["seed"]) == ("2", "2250", "0")
    assert song["stage1_model"] == "m-a-p/YuE-s1-7B-anneal-en-cot"
    assert text["lyrics"] == "[verse]\n\n[chorus]\n\n[outro]\n"
    assert len(runs.takes()) == 2


def test_yue_takes_references_with_a_model_for_them_and_says_why_it_failed(runs):
    prompts = [{**SONG, "reference": "like.wav"}, {"id": "bad", "text": "unlucky " + "very " * 5 + "long " * 60}]
    runs.run("yue", prompts, "--stage1-model", "m-a-p/YuE-s1-7B-anneal-en-icl")
    song = runs.given("infer.py")[0]
    assert song["audio_prompt_path"] == str(runs.reference) and song["use_audio_prompt"]
    assert runs.takes()["song-0"]["generator"] == "yue-icl"
    message = "infer.py ended with code 1: ValueError: invalid pairs of tokens"
    assert runs.failures()["bad"] == ("infer.py failed", message)


def test_yue_without_its_codec_does_not_start(runs, tmp_path):
    clone = tmp_path / "half"
    shutil.copytree(STAND_INS / "yue", clone, ignore=shutil.ignore_patterns("xcodec_mini_infer"))
    done = runs.run("yue", [TEXT], "--clone", str(clone))
    assert isinstance(done.exception, InputError)
    assert "is empty: clone https://huggingface.co/m-a-p/xcodec_mini_infer there" in str(done.exception)


def test_songgen_is_given_plain_lines_and_refuses_what_it_cannot_do(runs):
    prompts = [{**SONG, "reference": "like.wav"}, TEXT, {**SONG, "id": "broken", "text": "broken"}]
    runs.run("songgen", prompts, "--voice")
    (call,) = runs.given("processor")
    assert call["lyrics"] == "The rain is gone\nThe road is dry\nSing it again"
    assert (call["ref_voice_path"], call["separate"]) == (str(runs.reference), True)
    assert runs.failures() == {
        "text": ("no lyrics", "the model needs lyrics, which the prompt does not have"),
        "broken": ("error", "RuntimeError: CUDA out of memory"),
    }
    assert runs.sound(runs.takes()["song-0"]) == ((20 * 16_000, 1), 16_000)


def test_a_length_beyond_the_model_is_refused(runs):
    runs.run("songgen", [SONG], seconds=60)
    assert runs.failures() == {"song": ("length", "the model makes 1 to 30 s, 60 s were asked for")}


def test_diffrhythm_gets_times_and_a_closing_line(runs):
    runs.run("diffrhythm", [SONG, {**SONG, "id": "long", "lyrics": "la\n" * 90}, TEXT])
    lyrics, none = runs.given("lyrics")
    assert none["lines"] == []
    assert lyrics["lines"][0] == "[00:09.50]The rain is gone"
    assert lyrics["lines"][-2:] == ["[00:20.30]Sing it again", "[01:34.99]Sing it again"]
    assert (lyrics["max_frames"], lyrics["max_secs"]) == (2048, 95)
    assert runs.given("style")[0]["prompt"] == SONG["text"]
    assert runs.failures() == {"long": ("lyrics too long", "the lyrics have 90 lines, too many for 95 s")}


def test_diffrhythm_full_takes_the_style_of_a_recording(runs):
    short = runs.folder / "short.wav"
    soundfile.write(short, np.full(8000, 0.1), 8000)
    song = {"id": "song", "lyrics": LYRICS, "reference": "like.wav"}
    prompts = [song, {**song, "id": "short", "reference": "short.wav"}, {**song, "id": "both", "text": "pop"}]
    runs.run("diffrhythm", prompts, "--model", "full", "--style", "reference", seconds=100)
    assert runs.given("prepare_model")[0]["max_frames"] == 6144
    assert runs.given("lyrics")[0]["max_secs"] == 100
    assert runs.given("style") == [{"function": "style", "prompt": None, "wav_path": str(runs.reference)}]
    assert runs.failures()["short"][0] == "reference too short"
    assert runs.rows("skipped.jsonl")[0]["group"] == "both"


def test_levo_is_given_its_structure_and_fresh_references(runs):
    other = runs.folder / "other" / "like.wav"
    other.parent.mkdir()
    soundfile.write(other, np.full(8000, 0.1), 8000)
    prompts = [{**SONG, "reference": "like.wav"}, {**SONG, "id": "same name", "reference": "other/like.wav"}, TEXT]
    runs.run("levo", prompts, "--checkpoint", "weights", seconds=20)
    song, _, text = runs.given("forward")
    expected = "[intro-short] ; [verse] The rain is gone. The road is dry. ; [chorus] Sing it again. ; [outro-short]"
    assert (song["lyric"], song["gen_type"], song["params"]["duration"]) == (expected, "mixed", 20.0)
    assert song["description"] == "A bright pop/rock song."
    assert text["gen_type"] == "bgm"
    assert len({call["size"] for call in runs.given("voice")}) == 2  # by file name, the first would be used twice


def test_jam_is_given_a_time_for_each_word(runs):
    runs.run("jam", [SONG, {**SONG, "id": "odd", "lyrics": "unreadable"}], seconds=40)
    song = runs.given("song")[0]
    assert [word["word"] for word in song["words"]] == LYRICS.replace("[Verse 1]", "").replace("[Chorus]", "").split()
    assert song["words"][0]["start"] == 4.0
    assert (song["style"], song["duration"]) == (SONG["text"], 40.0)
    assert runs.given("load_model")[0]["checkpoint_path"] == "weights/jam-0_5.safetensors"
    assert runs.given("DiffusionWebDataset")[0]["multiple_styles"] is False
    assert runs.failures()["odd"][0] == "prompt"


def test_acestep_is_given_labels_seed_and_length(runs):
    prompts = [{**SONG, "reference": "like.wav"}, TEXT, {"text": "forbidden"}, {"text": "hush"}]
    runs.run("acestep", prompts, seed=5)
    song, text = (call["params"] for call in runs.given("generate_music")[:2])
    assert song["lyrics"] == "[verse]\nThe rain is gone\nThe road is dry\n\n[chorus]\nSing it again\n"
    assert (song["reference_audio"], song["duration"], song["thinking"]) == (str(runs.reference), -1.0, False)
    assert (text["lyrics"], text["instrumental"]) == ("[Instrumental]", True)
    assert runs.given("generate_music")[0]["config"]["seeds"] == [5]
    assert [kind for kind, _ in runs.failures().values()] == ["ACE-Step failed", "silent"]


def test_acestep_without_its_weights_does_not_start(runs):
    done = runs.run("acestep", [TEXT], "--model", "acestep-v15-none")
    assert isinstance(done.exception, InputError)
    assert "the worker did not become ready: died with exit code 1: no such model" in str(done.exception)


def test_musicgen_style_is_given_text_and_style(runs):
    runs.run("musicgen", [{**TEXT, "reference": "like.wav"}, {**TEXT, "id": "alone"}], seconds=12)
    assert [call["cfg_coef_beta"] for call in runs.given("set_generation_params")] == [5.0, None]
    assert runs.given("generate_with_chroma") == [
        {"function": "generate_with_chroma", "shape": [1, 2, 12 * 8000], "rate": 8000}
    ]
    assert runs.sound(runs.takes()["text-0"]) == ((12 * 32_000, 2), 32_000)


def test_a_wrong_argument_name_fails_the_take(runs, tmp_path):
    copied = tmp_path / "copied"
    skeleton = Path("src", "cmi", "generate", "worker_skeleton.py")
    (copied / skeleton).parent.mkdir(parents=True)
    shutil.copy(RECIPES.parent / skeleton, copied / skeleton)
    shutil.copytree(RECIPES, copied / "recipes")
    script = copied / "recipes" / "generators" / "songgen" / "worker.py"
    script.write_text(script.read_text().replace("ref_voice_path=", "reference_voice="))
    runs.run("songgen", [SONG], script=script)
    kind, message = runs.failures()["song"]
    assert kind == "error" and "unexpected keyword argument 'reference_voice'" in message


def test_a_clone_that_is_missing_is_named(runs):
    done = runs.run("songgen", [SONG], "--clone", "no/such/folder")
    assert isinstance(done.exception, InputError)
    assert "is not a folder: clone the model's repository there" in str(done.exception)


@pytest.mark.parametrize("script", sorted(GENERATORS.glob("*/worker.py")), ids=lambda path: path.parent.name)
def test_a_worker_is_written_for_old_pythons(script):
    for path in (script, RECIPES / "worker_common.py", GENERATORS / "lyric_formats.py"):
        source = path.read_text()
        ast.parse(source, feature_version=(3, 8))
        assert "from __future__ import annotations" in source
