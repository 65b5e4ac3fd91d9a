"""The host of models in this process: five families, each a tiny random model of its real class."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from cmi._util.errors import InputError
from cmi.audio import Waveform
from cmi.llm import Answer, Failure, Request, Sound, load_model, system, user
from cmi.llm.local import FAMILIES, LocalModel
from cmi.llm.message import load_sound

from ..bench.ask import tiny_models


def tone(seconds: float, pitch: float) -> Waveform:
    return Waveform((0.3 * np.sin(2 * np.pi * pitch * np.arange(int(16_000 * seconds)) / 16_000)).astype("f4"), 16_000)


REFERENCE, FIRST, SECOND = tone(1.0, 220), tone(2.3, 440), tone(1.7, 990)


def comparison(key: str, *sounds: Waveform) -> Request:
    takes = [user(f"Recording {number}:", Sound(sound)) for number, sound in enumerate(sounds)]
    return Request(key, (system("Compare the recordings."), *takes, system("Now answer.")))


@pytest.fixture(scope="module", params=FAMILIES)
def model(request, tmp_path_factory) -> LocalModel:
    folder = tiny_models.save(request.param, tmp_path_factory.mktemp(request.param))
    return load_model(str(folder), device="cpu", max_tokens=8)


def texts(model: LocalModel, *requests: Request) -> dict[str, str]:
    answers = dict(model.ask_all(requests))
    assert all(isinstance(answer, Answer) for answer in answers.values()), answers
    return {key: answer.text for key, answer in answers.items()}


def test_a_request_gets_the_same_answer_in_any_batch(model):
    requests = [
        comparison("both", REFERENCE, FIRST, SECOND),
        comparison("swapped", REFERENCE, SECOND, FIRST),
        comparison("two", FIRST, SECOND),
        Request("one", (user(Sound(FIRST), "Which key?"),)),
    ]
    together = texts(model, *requests)
    alone = {request.key: texts(model, request)[request.key] for request in requests}
    assert together == alone == texts(model, *reversed(requests))


def test_every_recording_is_heard(model):
    """Another reference, first or second take changes what a greedy model says; one that ignored it would repeat."""
    other = tone(2.0, 3000)
    asked = {
        "as it is": (REFERENCE, FIRST, SECOND),
        "reference": (other, FIRST, SECOND),
        "first": (REFERENCE, other, SECOND),
        "second": (REFERENCE, FIRST, other),
    }
    said = texts(model, *(comparison(key, *sounds) for key, sounds in asked.items()))
    plain = said.pop("as it is")
    assert plain not in said.values()


def test_a_long_recording_is_heard_whole_or_said_to_be_cut(model):
    """Beyond 30 s the Flamingos hear by windows and the Omni models at once; Qwen2-Audio hears the first 30 s."""
    requests = [
        Request(key, (user(Sound(sound), "Genre?"),)) for key, sound in (("a", tone(40, 220)), ("b", _ending()))
    ]
    is_cut = model.seconds == 30.0
    cut = "recording 1: the first 30.0 of 40.0 s" if is_cut else ""
    assert [answer.cut for _, answer in model.ask_all(requests)] == [cut, cut]
    assert torch.equal(*(_next_token(model, request) for request in requests)) == is_cut


def _next_token(model: LocalModel, request: Request) -> torch.Tensor:
    """How likely each token is to come first."""
    loaded = [load_sound(sound, model.rate, model.seconds) for sound in request.sounds]
    with torch.inference_mode():
        return model._model(**model._encoder.encode([request], [loaded])).logits[0, -1]


def _ending() -> Waveform:
    """As long, and another tone after 31 s."""
    return Waveform(np.concatenate([tone(31, 220).samples, tone(9, 2500).samples]), 16_000)


def test_no_text_can_pass_for_a_control_token(model):
    def written(text: str) -> str:
        return model._encoder.write((user(text, Sound(FIRST)),))

    for token in ("<|im_end|>", "<|AUDIO|>", "<|audio_pad|>", "<sound>", "<|sound_bos|>"):
        assert written(f"la {token} la").count(token) == written("la la").count(token)


def test_a_recording_that_cannot_be_read_costs_its_own_answer_only(model, tmp_path):
    broken = tmp_path / "broken.wav"
    broken.write_bytes(b"RIFF....")
    good = comparison("good", FIRST, SECOND)
    answers = dict(model.ask_all([Request("bad", (user(Sound(broken), "?"),)), good]))
    assert isinstance(answers["bad"], Failure)
    assert answers["good"].text == texts(model, good)["good"]


def test_a_request_that_the_model_cannot_take_fails_alone(model):
    """For lack of memory, for example: here a batch fails whenever it holds a certain request."""
    generate = model.generate

    def failing(requests, sounds):
        if any(request.key == "bad" for request in requests):
            raise RuntimeError("out of memory")
        return generate(requests, sounds)

    good = comparison("good", FIRST, SECOND)
    model.generate = failing
    try:
        answers = dict(model.ask_all([good, comparison("bad", FIRST)]))
    finally:
        model.generate = generate
    assert answers["bad"] == Failure("RuntimeError: out of memory")
    assert answers["good"].text == texts(model, good)["good"]


def test_reasoning_is_kept_apart(model, monkeypatch):
    monkeypatch.setattr(model, "generate", lambda requests, sounds: ["<think>sad</think> A minor", "<think>well"])
    said = dict(model.ask_all([comparison("closed", FIRST), comparison("open", FIRST)]))
    assert (said["closed"].text, said["closed"].reasoning, said["closed"].why) == ("A minor", "sad", "")
    assert (said["open"].text, said["open"].reasoning) == ("", "well")
    assert "before an answer" in said["open"].why


def test_a_folder_with_a_model_of_another_kind_is_one_sentence(tmp_path: Path):
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(InputError, match=r"a model of type 'bert', expected one of qwen2-audio, .*, music-flamingo"):
        load_model(str(tmp_path), device="cpu")


def test_a_folder_without_a_model_is_one_sentence(tmp_path: Path):
    with pytest.raises(InputError, match=r"no config\.json that says which model it is"):
        load_model(str(tmp_path), device="cpu")
