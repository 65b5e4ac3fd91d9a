"""Each transformers listener on a tiny random model of its real class."""

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

pytest.importorskip("torch")
pytest.importorskip("transformers")


from cmi._util.errors import InputError
from cmi.bench.ask import Question
from cmi.bench.ask.registry import LOCAL, Options, load_listener
from cmi.llm.local import FAMILIES

from . import tiny_models


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("clips")
    paths = []
    for i, seconds in enumerate((1.0, 2.3, 3.1)):
        times = np.arange(int(16_000 * seconds)) / 16_000
        path = folder / f"{i}.wav"
        soundfile.write(path, 0.3 * np.sin(2 * np.pi * 220 * (i + 1) * times), 16_000)
        paths.append(path)
    return paths


def _load(kind: str, folder: Path):
    return load_listener(kind, Options(model=str(folder), device="cpu", max_tokens=8)).listener


@pytest.fixture(scope="module", params=FAMILIES)
def listener(request, tmp_path_factory):
    folder = tiny_models.save(request.param, tmp_path_factory.mktemp(request.param))
    return _load(request.param, folder)


def _questions(clips: list[Path]) -> list[Question]:
    words = ("Which key?", "List all the beats, please, in seconds.", "Genre?")
    return [Question(str(i), words[i], clip, dataset="GTZAN") for i, clip in enumerate(clips)]


def test_a_batch_gives_the_answers_that_each_question_gets_alone(listener, clips):
    questions = _questions(clips)
    together = listener.answer(questions)
    assert together == [listener.answer([question])[0] for question in questions]
    assert any(reply.text for reply in together)


def test_the_model_hears(listener, clips):
    """The same question about another clip: a model that ignored the sound would repeat itself."""
    first, second = (Question("x", "Which key?", clip, dataset="GS_key") for clip in clips[:2])
    assert listener.answer([first]) != listener.answer([second])


def test_a_broken_clip_costs_its_own_answer_only(listener, clips, tmp_path):
    broken = tmp_path / "broken.wav"
    broken.write_bytes(b"RIFF....")
    questions = _questions(clips)
    mixed = [questions[0], Question("b", "?", broken, dataset="GTZAN"), questions[2]]
    first, failed, last = listener.answer(mixed)
    assert isinstance(failed, InputError)
    assert [first, last] == listener.answer([questions[0], questions[2]])


def test_a_name_says_which_weights_and_how_they_are_asked(listener):
    assert "@" in listener.name
    assert "float32 greedy, at most 8 tokens" in listener.name


def test_a_folder_that_holds_another_model_is_one_sentence(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(InputError, match="cannot be loaded as qwen2-audio"):
        _load("qwen2-audio", tmp_path)


@pytest.mark.parametrize(("kind", "model_type"), [("qwen2.5-omni", "qwen2_5_omni"), ("qwen3-omni", "qwen3_omni_moe")])
def test_the_thinker_is_taken_out_of_a_whole_omni_checkpoint(tmp_path, clips, kind, model_type):
    """As the authors publish it: the weights under `thinker.`, its configuration inside the model's."""
    from safetensors.torch import load_file, save_file

    folder = tiny_models.save(kind, tmp_path)
    alone = _load(kind, folder).answer(_questions(clips))
    weights = {f"thinker.{name}": tensor for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config = {"model_type": model_type, "thinker_config": json.loads((folder / "config.json").read_text())}
    (folder / "config.json").write_text(json.dumps(config))
    assert _load(kind, folder).answer(_questions(clips)) == alone


def test_weights_that_are_not_there_are_not_made_up(tmp_path):
    from safetensors.torch import load_file, save_file

    folder = tiny_models.save("qwen2-audio", tmp_path)
    weights = load_file(folder / "model.safetensors")
    save_file(dict(list(weights.items())[3:]), folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"3 of the model's weights are missing \(.+, .+, .+\)"):
        _load("qwen2-audio", folder)


def test_the_registry_names_every_family():
    assert tuple(FAMILIES) == LOCAL


def test_what_a_listener_cannot_hear_whole_is_on_record(tmp_path):
    path = tmp_path / "long.wav"
    soundfile.write(path, 0.3 * np.sin(np.arange(16_000 * 40) / 10), 16_000)
    listener = _load("qwen2-audio", tiny_models.save("qwen2-audio", tmp_path / "model"))
    whole, part = (Question(str(end), "Which key?", path, 0.0, end, dataset="GTZAN") for end in (None, 20.0))
    assert [reply.cut for reply in listener.answer([whole, part])] == ["recording 1: the first 30.0 of 40.0 s", ""]
