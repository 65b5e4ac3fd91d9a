"""Answers that come in pieces: put together whole, or not taken for answers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi._util.http import Fault
from cmi.audio import Waveform
from cmi.llm import Answer, Chat, Endpoint, Failure, Request, Sending, Sound, user
from cmi.llm.endpoint_file import read_endpoint
from cmi.llm.reading import Reading, read_response
from cmi.testing.chat_endpoint import Body, fake_endpoint, sounds_of


def echo(body: Body) -> str:
    return f"you asked: {body['messages'][0]['content']}"


def questions(count: int) -> list[Request]:
    return [Request(f"q{i}", (user(f"question {i}"),)) for i in range(count)]


def streaming(url: str, **settings: Any) -> Endpoint:
    return Endpoint(url, "fake", stream=True, **{"timeout": 1.0, "tries": 20} | settings)


def test_streams_that_break_in_every_way_lose_no_answer_and_no_count(tmp_path: Path):
    kinds = ("429", "500", "hang", "cut", "not JSON", "HTML")
    with fake_endpoint(echo, faults=0.3, kinds=kinds) as server, Chat(streaming(server.url), tmp_path) as chat:
        results = dict(chat.ask_all(questions(100)))
    texts = {key: answer.text for key, answer in results.items() if isinstance(answer, Answer)}
    assert texts == {f"q{i}": f"you asked: question {i}" for i in range(100)}
    assert {(a.input_tokens, a.output_tokens, a.finish) for a in results.values() if isinstance(a, Answer)} == {
        (1000, 50, "stop")
    }
    assert set(server.billed.values()) == {1}
    assert all(server.calls[kind] for kind in kinds)


def test_a_stream_cut_between_two_letters_is_never_taken_for_an_answer(tmp_path: Path):
    with fake_endpoint(echo, faults=1.0, kinds=("cut",)) as server:
        with Chat(streaming(server.url, tries=2), tmp_path) as chat:
            [(_, failure)] = chat.ask_all(questions(1))
        assert isinstance(failure, Failure) and "cut off after 10 chunks, in the last of 2 tries" in failure.reason
        assert server.calls["cut"] == 2


def test_an_endpoint_that_only_streams_answers_those_who_ask_for_it(tmp_path: Path):
    with fake_endpoint(echo, stream_only=True) as server:
        with Chat(Endpoint(server.url, "fake"), tmp_path) as chat:
            [(_, refused)] = chat.ask_all(questions(1))
            assert isinstance(refused, Failure) and "stream=true" in refused.reason
        with Chat(streaming(server.url), tmp_path) as chat:
            [(_, answer)] = chat.ask_all(questions(1))
            assert isinstance(answer, Answer)


def test_an_answer_is_the_same_question_s_however_it_came(tmp_path: Path):
    with fake_endpoint(echo) as server:
        for stream in (False, True):
            with Chat(Endpoint(server.url, "fake", stream=stream), tmp_path) as chat:
                list(chat.ask_all(questions(3)))
        assert server.calls["answered"] == 3


def test_a_sound_goes_as_a_data_uri_where_that_is_wanted(tmp_path: Path):
    got: list[Any] = []

    def hear(body: Body) -> str:
        got.extend(body["messages"][0]["content"])
        [sound] = sounds_of(body)
        return f"{sound.seconds:.1f} s"

    request = Request("q", (user(Sound(Waveform(np.full(8000, 0.1, np.float32), 16_000))),))
    sending = Sending(sound_as="input_audio_uri")
    with (
        fake_endpoint(hear, stream_only=True) as server,
        Chat(streaming(server.url, sending=sending), tmp_path) as chat,
    ):
        [(_, answer)] = chat.ask_all([request])
    assert isinstance(answer, Answer) and answer.text == "0.5 s"
    [part] = got
    assert part["type"] == "input_audio" and part["input_audio"]["data"].startswith("data:;base64,UklGR")


def test_an_endpoint_s_file_says_whether_it_streams(tmp_path: Path):
    path = tmp_path / "dashscope.toml"
    begin = 'url = "http://localhost/v1"\nmodel = "m"\n'
    path.write_text(f'{begin}stream = true\n[sending]\nsound_as = "input_audio_uri"\n')
    endpoint, _ = read_endpoint(path)
    assert endpoint.stream and endpoint.sending.sound_as == "input_audio_uri"
    for wrong, why in (
        ('stream = "yes"', "'stream' is 'yes', expected true"),
        ("tries = true", "'tries' is True"),
    ):
        path.write_text(f"{begin}{wrong}\n")
        with pytest.raises(InputError, match=why):
            read_endpoint(path)


def _chunk(text: str | None, finish: str | None = None) -> str:
    return json.dumps({"choices": [{"delta": {"content": text}, "finish_reason": finish}]})


def _stream(chunks: list[str]) -> bytes:
    return "".join(f"data: {chunk}\n\n" for chunk in chunks).encode()


@given(st.lists(st.text(max_size=5) | st.none(), max_size=8), st.data())
def test_no_beginning_of_a_stream_is_an_answer(texts, data):
    chunks = [*map(_chunk, texts), _chunk(None, "stop")]
    cut = data.draw(st.integers(0, len(chunks) - 1))
    with pytest.raises(Fault):
        read_response(_stream(chunks[:cut]))
    said = "".join(text or "" for text in texts)
    why = "" if said.strip() else "it is empty"
    assert read_response(_stream(chunks)) == Reading("" if why else said, "stop", why=why)


@pytest.mark.parametrize("odd", ["null", '"text"', "7", "{}", '{"choices": [null]}', '{"choices": 7}'])
def test_a_whole_stream_with_an_odd_chunk_is_an_answer_that_cannot_be_read(odd: str):
    assert "not a chat completion" in read_response(_stream([odd, _chunk("x", "stop")])).why
    assert "not a chat completion" in read_response(_stream([odd, "[DONE]"])).why
    with pytest.raises(Fault, match="cut off"):
        read_response(_stream([odd]))
