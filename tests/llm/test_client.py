"""The client keeps its promises against an endpoint that misbehaves."""

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest

from cmi._util.errors import InputError
from cmi.audio import Waveform
from cmi.llm import (
    Answer,
    Budget,
    BudgetSpent,
    Chat,
    Endpoint,
    Failure,
    Prices,
    Request,
    Schema,
    Sending,
    Sound,
    Usage,
    system,
    user,
)
from cmi.testing.chat_endpoint import Body, FakeEndpoint, fake_endpoint, sounds_of

SCHEMA = Schema("verdict", {"type": "object", "properties": {"verdict": {"type": "string"}}})
KEY = "sk-very-secret-0123456789abcdef0123"


def echo(body: Body) -> str:
    """The words of the first user message, as a verdict."""
    content = next(m["content"] for m in body["messages"] if m["role"] == "user")
    return json.dumps({"verdict": content if isinstance(content, str) else content[0]["text"]})


def needs_verdict(text: str) -> str | None:
    try:
        return None if "verdict" in json.loads(text) else "the key 'verdict' is missing"
    except ValueError:
        return "it is not JSON"


def questions(count: int) -> list[Request]:
    return [Request(f"q{i}", (system("Answer."), user(f"question {i}")), SCHEMA) for i in range(count)]


def endpoint(server: FakeEndpoint, **settings: object) -> Endpoint:
    return Endpoint(server.url, "rehearsal", **{"timeout": 1.0, "repairs": 6, "tries": 12} | settings)  # type: ignore[arg-type]


def noise(seconds: float, rate: int = 16_000) -> Waveform:
    return Waveform(np.random.default_rng(0).normal(0, 0.1, round(seconds * rate)).astype(np.float32), rate)


def test_every_question_gets_its_own_answer_once_in_spite_of_faults(tmp_path: Path):
    with fake_endpoint(echo, faults=0.3) as server, Chat(endpoint(server), tmp_path) as chat:
        results = list(chat.ask_all(questions(150), needs_verdict))
        spent = chat.spent
    answers = {key: json.loads(answer.text)["verdict"] for key, answer in results if isinstance(answer, Answer)}
    assert len(results) == 150 and answers == {f"q{i}": f"question {i}" for i in range(150)}
    assert set(server.billed.values()) == {1}
    assert len(server.calls) == 11  # every kind of fault was met, and answers
    assert spent.calls >= 150


def test_what_is_on_disk_is_not_asked_again(tmp_path: Path):
    with fake_endpoint(echo) as server:
        with Chat(endpoint(server), tmp_path) as chat:
            first = dict(chat.ask_all(questions(5), needs_verdict))
        with Chat(endpoint(server), tmp_path) as chat:
            again = dict(chat.ask_all(questions(8), needs_verdict))
        assert sum(server.calls.values()) == 8
    assert {key: again[key] for key in first} == first


def test_a_request_is_known_by_its_sounds_and_words(tmp_path: Path):
    def ask(*parts: object) -> None:
        with Chat(endpoint(server), tmp_path) as chat:
            assert all(isinstance(a, Answer) for _, a in chat.ask_all([Request("q", (user(*parts),))]))  # type: ignore[arg-type]

    with fake_endpoint(lambda body: "yes") as server:
        ask("hello", Sound(noise(1.0)))
        ask("hello", Sound(noise(1.0)))
        assert server.calls["answered"] == 1
        ask("hello", Sound(noise(0.9)))
        ask("hullo", Sound(noise(1.0)))
        assert server.calls["answered"] == 3


def test_a_caller_who_leaves_loses_no_answer_that_was_in_flight(tmp_path: Path):
    with fake_endpoint(echo, latency=0.2) as server:
        with Chat(endpoint(server), tmp_path) as chat:
            results = chat.ask_all(questions(50))
            next(results)
            results.close()  # type: ignore[attr-defined]
        with Chat(endpoint(server), tmp_path) as chat:
            assert len(list(chat.ask_all(questions(50)))) == 50
        assert server.calls["answered"] == 50 and not server.calls["replayed"]


@pytest.mark.parametrize("formats", [("json_schema", "json_object"), ("json_object",), ()])
def test_the_strictest_format_that_the_endpoint_takes_is_found_and_remembered(tmp_path: Path, formats: tuple[str, ...]):
    with fake_endpoint(echo, formats=formats) as server:
        with Chat(endpoint(server), tmp_path) as chat:
            answers = [answer for _, answer in chat.ask_all(questions(3), needs_verdict)]
            found = formats[0] if formats else "plain"
            assert chat.format == found
        assert {answer.format for answer in answers if isinstance(answer, Answer)} == {found}
        before = sum(server.calls.values())
        with Chat(endpoint(server), tmp_path) as chat:
            list(chat.ask_all(questions(6), needs_verdict))
        assert sum(server.calls.values()) == before + 3


def test_an_answer_that_stays_unusable_is_kept_with_the_reason(tmp_path: Path):
    with fake_endpoint(lambda body: "never") as server:
        with Chat(endpoint(server, repairs=2), tmp_path) as chat:
            [(_, answer)] = chat.ask_all(questions(1), needs_verdict)
        assert isinstance(answer, Answer) and (answer.text, answer.why) == ("never", "it is not JSON")
        with Chat(endpoint(server, repairs=2), tmp_path) as chat:
            assert list(chat.ask_all(questions(1), needs_verdict)) == [("q0", answer)]
        assert server.calls["answered"] == 3


def test_a_wrong_address_or_key_ends_the_run_with_one_sentence(tmp_path: Path):
    class Closed(FakeEndpoint):
        async def _reply(self, key: str, body: Body, writer: asyncio.StreamWriter) -> bool:
            from cmi.testing.chat_endpoint import _error
            from cmi.testing.local_server import send_response

            return await send_response(writer, 401, _error("bad key"))

    with fake_endpoint(echo) as server, Chat(endpoint(server), tmp_path) as chat:
        server.__class__ = Closed
        with pytest.raises(InputError, match="401"):
            list(chat.ask_all(questions(20)))


def test_a_sound_that_cannot_be_read_fails_its_own_request_only(tmp_path: Path):
    requests = [*questions(1), Request("broken", (user("hear", Sound(tmp_path / "missing.wav")),))]
    with fake_endpoint(echo) as server, Chat(endpoint(server), tmp_path / "run") as chat:
        results = dict(chat.ask_all(requests))
    assert isinstance(results["q0"], Answer)
    assert isinstance(results["broken"], Failure) and "missing.wav" in results["broken"].reason


@pytest.mark.parametrize(("budget", "most"), [(Budget(calls=7), 7), (Budget(tokens=4000), 4), (Budget(money=0.01), 5)])
def test_no_budget_is_overrun_and_a_larger_one_goes_on(tmp_path: Path, budget: Budget, most: int):
    prices = Prices(input=1.0, output=20.0)  # 0.002 for an answer of the fake endpoint's
    with fake_endpoint(echo) as server:
        chat = Chat(endpoint(server, concurrency=1), tmp_path, budget, prices)
        with chat, pytest.raises(BudgetSpent, match="budget"):
            list(chat.ask_all(questions(30)))
        assert 0 < server.calls["answered"] <= most
        with Chat(endpoint(server, concurrency=1), tmp_path, budget, prices) as chat:
            answered = server.calls["answered"]
            assert chat.spent == Usage(answered, 1000 * answered, 50 * answered)
        with Chat(endpoint(server), tmp_path) as chat:
            assert len(list(chat.ask_all(questions(30)))) == 30
        assert server.calls["answered"] == 30


def test_a_budget_in_money_needs_prices(tmp_path: Path):
    with pytest.raises(InputError, match="prices"):
        Chat(Endpoint("http://localhost/v1", "x"), tmp_path, Budget(money=1.0))


def test_an_estimate_makes_no_call(tmp_path: Path):
    requests = [Request(f"q{i}", (user("x" * 400, Sound(noise(4.0))),)) for i in range(10)]
    with fake_endpoint(echo) as server, Chat(endpoint(server), tmp_path, prices=Prices(1.0, 2.0)) as chat:
        estimate = chat.estimate(requests)
        assert not server.calls
    assert (estimate.requests, estimate.answered, estimate.usage.calls) == (10, 0, 10)
    assert estimate.usage.input_tokens == 10 * (100 + 100)
    assert estimate.money == pytest.approx((2000 + 2 * 1500) / 1e6)


def test_sounds_are_cut_to_the_limits_and_the_answer_says_so(tmp_path: Path):
    got = []

    def hear(body: Body) -> str:
        got.extend(sounds_of(body))
        return "ok"

    request = [Request("q", (user("a", Sound(noise(8.0, 44_100)), "b", Sound(noise(2.0))),))]
    for sound_as in ("input_audio", "audio_url"):
        got.clear()
        sending = Sending(seconds=3.0, sound_as=sound_as)  # type: ignore[arg-type]
        with fake_endpoint(hear) as server, Chat(endpoint(server, sending=sending), tmp_path / sound_as) as chat:
            [(_, answer)] = chat.ask_all(request)
        assert isinstance(answer, Answer)
        assert [(h.seconds, h.sent, h.rate) for h in answer.heard] == [(8.0, 3.0, 16_000), (2.0, 2.0, 16_000)]
        assert [round(sound.seconds, 2) for sound in got] == [3.0, 2.0]


def test_sounds_share_the_bytes_that_a_request_may_have(tmp_path: Path):
    request = [Request("q", (user("a", Sound(noise(8.0)), "b", Sound(noise(8.0))),))]
    with fake_endpoint(lambda body: "ok") as server:
        with Chat(endpoint(server, sending=Sending(megabytes=0.2)), tmp_path) as chat:
            [(_, answer)] = chat.ask_all(request)
        assert isinstance(answer, Answer) and all(2.3 < heard.sent < 2.4 for heard in answer.heard)
        with Chat(endpoint(server, sending=Sending(megabytes=0.01)), tmp_path) as chat:
            [(_, failure)] = chat.ask_all(request)
    assert isinstance(failure, Failure) and "mp3" in failure.reason


def test_keys_reach_no_file_and_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MY_KEY", KEY)

    class Gossip(FakeEndpoint):
        async def _reply(self, key: str, body: Body, writer: asyncio.StreamWriter) -> bool:
            from cmi.testing.chat_endpoint import _error
            from cmi.testing.local_server import send_response

            said = f"Incorrect API key {KEY}, that begins with {KEY[:12]}"
            return await send_response(writer, 400 if "5" in str(body) else 403, _error(said))

    answers = []
    with fake_endpoint(lambda body: f"my key is {KEY}") as server:
        settings = endpoint(server, key_env="MY_KEY")
        with Chat(settings, tmp_path) as chat:
            answers += list(chat.ask_all(questions(3)))
            assert server.headers[0]["authorization"] == f"Bearer {KEY}"
            server.__class__ = Gossip
            answers += list(chat.ask_all([Request("5", (user("5"),))]))
            with pytest.raises(InputError) as raised:
                list(chat.ask_all([Request("q4", (user("4"),))]))
    shown = [*map(str, answers), str(raised.value), *(path.read_text() for path in tmp_path.iterdir())]
    assert any("[key]" in text for text in shown)
    assert not any(KEY[:12] in text for text in shown)


def test_requests_need_keys_of_their_own(tmp_path: Path):
    with Chat(Endpoint("http://localhost/v1", "x"), tmp_path) as chat, pytest.raises(InputError, match="'q0'"):
        list(chat.ask_all([*questions(2), *questions(1)]))


def test_the_client_does_not_storm_an_endpoint_that_limits_its_rate(tmp_path: Path):
    with fake_endpoint(echo, latency=0.1, rate=50) as server, Chat(endpoint(server), tmp_path) as chat:
        answers = dict(chat.ask_all(questions(200), needs_verdict))
    assert len(answers) == 200
    assert all(isinstance(answer, Answer) for answer in answers.values())
    assert server.calls.total() < 2 * 200  # without a limit of its own most calls would be refused again and again
