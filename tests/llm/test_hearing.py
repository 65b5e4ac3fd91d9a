"""The probe of hearing: it finds a server's cut, and says 'not known' of a model that does not listen."""

import json
import math
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi.audio import Waveform
from cmi.llm import Answer, Budget, BudgetSpent, Chat, Endpoint, Failure, Sending, Sound
from cmi.llm.hearing import (
    HEARING,
    LONG,
    ProbeClip,
    estimate_probe,
    known_hearing,
    needs_probe,
    probe_hearing,
    read_answer,
    read_hearing,
)
from cmi.testing import answer_probe, fake_endpoint

HOSTILE = ["", "\x1b[2J siren drums", "🚨" * 10_000, '{"answer": "siren"}\u202e drums', "yes", "no siren"]


def silence(seconds):
    return Sound(Waveform(np.zeros(round(16_000 * seconds), np.float32), 16_000))


class Local:
    """A model in this process that answers by a function."""

    name = "local"

    def __init__(self, answer, seconds=300.0):
        self.answer, self.seconds, self.asked = answer, seconds, 0

    def ask_all(self, requests, accept=None):
        for request in requests:
            self.asked += 1
            said = self.answer(request)
            yield request.key, said if isinstance(said, Failure) else Answer(said)


@pytest.fixture
def ask(tmp_path):
    """Probes a fake server; returns what was found and how many calls it took."""

    def probe(answer, **settings):
        with fake_endpoint(answer) as server, Chat(Endpoint(server.url, "fake", **settings), tmp_path / "chat") as chat:
            return probe_hearing(chat), server.calls.total()

    return probe


@pytest.mark.parametrize("sound", ["wav", "mp3"])
def test_a_server_that_hears_all_of_it_takes_four_calls(ask, sound):
    hearing, calls = ask(answer_probe, sending=Sending(format=sound))
    assert (hearing.seconds, hearing.is_cut, calls) == (LONG, False, 4)
    assert hearing.note == "this server hears 45 s of a clip or more"


@pytest.mark.parametrize(
    ("cut", "heard"), [(30, 30), (16, 20), (10, 10), (20, 20), (25.4, 25), (35, 35), (5, 5), (32.5, 35)]
)
def test_a_cut_is_found_to_within_five_seconds_in_seven_calls(ask, cut, heard):
    hearing, calls = ask(partial(answer_probe, seconds=cut))
    assert (hearing.seconds, hearing.is_cut) == (heard, True)
    assert calls <= 7
    assert f"this server hears {heard} s of a clip" in hearing.note


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda body: "none", "does not hear a siren in a clip of 12 s"),
        (lambda body: "siren", "names siren in a clip without"),
        (lambda body: "drums", "does not hear a siren"),
        (lambda body: "I cannot listen to audio, sorry.", "cannot be read"),
        (lambda body: "siren, drums, applause or none", "cannot be read"),
        *((lambda body, said=said: said, "cannot be read") for said in HOSTILE),
    ],
)
def test_a_model_that_does_not_listen_gets_no_verdict(ask, answer, why):
    hearing, calls = ask(answer, repairs=0)
    assert hearing.seconds is None
    assert not hearing.is_cut
    assert why in hearing.note
    assert "not known" in hearing.note
    assert calls == 4
    assert hearing.note.isprintable()
    assert len(hearing.note) < 400


def test_a_server_that_keeps_the_end_of_a_clip_is_not_said_to_hear_it_whole(ask):
    def last_half(body):
        sound = body["messages"][-1]["content"]
        return "none" if len(str(sound)) > 1_000_000 and answer_probe(body) == "drums" else answer_probe(body)

    hearing, _ = ask(last_half)
    assert hearing.seconds is None
    assert "the drums at the start of a clip of 45 s" in hearing.note


def test_what_we_do_not_send_is_not_asked_about(ask):
    hearing, calls = ask(partial(answer_probe, seconds=20), sending=Sending(seconds=30.9))
    assert (hearing.sent, hearing.seconds, hearing.is_cut) == (30, 20, True)
    hearing, _ = ask(answer_probe, sending=Sending(seconds=25))
    assert hearing.note == "this server hears 25 s of a clip, all it is sent"
    hearing, calls = ask(answer_probe, sending=Sending(seconds=15))
    assert (hearing.note, calls) == ("this server is sent 15 s of a clip", 0)


def test_a_dead_server_stops_the_run_as_it_would_without_a_probe(tmp_path):
    with (
        Chat(Endpoint("http://127.0.0.1:9/v1", "fake"), tmp_path) as chat,
        pytest.raises(InputError, match=r"127\.0\.0\.1:9"),
    ):
        known_hearing(chat, tmp_path / HEARING, [silence(30)])
    assert not (tmp_path / HEARING).exists()


def test_the_budget_counts_the_probe(tmp_path):
    with fake_endpoint(answer_probe) as server:
        endpoint = Endpoint(server.url, "fake")
        with Chat(endpoint, tmp_path, Budget(calls=3)) as chat, pytest.raises(BudgetSpent):
            probe_hearing(chat)
        with Chat(endpoint, tmp_path, Budget(calls=4)) as chat:
            estimate = estimate_probe(chat, [silence(30)])
            assert (estimate.requests, estimate.answered, estimate.usage.calls, estimate.probe) == (4, 3, 1, 4)
            assert not estimate_probe(chat, [silence(3)]).probe_note
            assert probe_hearing(chat).seconds == LONG
            assert chat.spent.calls == 4
        assert server.billed.total() == 4


def test_it_is_asked_once_and_again_only_for_another_server(tmp_path):
    path = tmp_path / "run" / HEARING
    with fake_endpoint(partial(answer_probe, seconds=30)) as server, fake_endpoint(answer_probe) as other:
        for number in (1, 2):  # another folder of answers: only the file is known
            with Chat(Endpoint(server.url, "fake"), tmp_path / str(number)) as chat:
                assert known_hearing(chat, path, [silence(13)]).seconds == 30
        assert server.calls.total() == 7
        assert json.loads(path.read_text())["answers"]["end"] == "none"
        with Chat(Endpoint(other.url, "fake"), tmp_path / "1") as chat:
            assert known_hearing(chat, path, [silence(13)]).seconds == LONG


def test_short_clips_need_no_probe(tmp_path):
    model = Local(lambda request: "none")
    assert known_hearing(model, tmp_path / HEARING, [silence(12), Sound(Path("missing.wav"))]) is None
    assert model.asked == 0
    assert needs_probe([silence(1), silence(12.1)])
    assert not needs_probe([replace(silence(60), start=10.0, end=20.0)])


def test_a_failed_clip_leaves_no_file_and_is_asked_again(tmp_path):
    """A server that refuses long clips is worth knowing about, but may only be busy."""
    path = tmp_path / HEARING
    failing = Local(lambda request: Failure("400: audio \x1b[2J too long"))
    hearing = known_hearing(failing, path, [silence(30)])
    assert "a clip of the probe failed (400: audio \\x1b[2J too long)" in hearing.note
    assert not path.exists()


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", '{"model": 1}', '{"model": "m", "unknown": 1}', "\x00"),
        *(f'{{"model": "m", "server": "", "sent": 45, "seconds": {seconds}}}' for seconds in ("NaN", "1e999", "-1")),
    ],
)
def test_a_broken_file_is_named(tmp_path, content):
    (tmp_path / HEARING).write_text(content)
    with pytest.raises(InputError, match=HEARING):
        read_hearing(tmp_path / HEARING)


@given(st.text(max_size=300))
def test_any_answer_is_read_as_one_of_four_or_not_at_all(text):
    assert read_answer(text) in ("siren", "drums", "applause", "none", None)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("siren", "siren"),
        ("**Drums**", "drums"),
        ("The answer is: drum kit.", "drums"),
        ("None.", "none"),
        ("No other sound: none", "none"),
        ("There is no siren.", None),
        ("It isn't drums", None),
        ("a siren and drums", None),
        ("sirenes", None),
    ],
)
def test_answers_are_read_by_whole_words(text, read):
    assert read_answer(text) == read


def test_clips_are_the_same_every_time_and_do_not_clip():
    clips = [ProbeClip(LONG, sound, 30, 40) for sound in ("siren", "drums", "none")]
    for clip in clips:
        once, again = clip.waveform().samples, clip.waveform().samples
        assert np.array_equal(once, again)
        assert np.abs(once).max() < 1
        assert math.isclose(once.size / 16_000, LONG)
    plain, siren = clips[2].waveform().samples, clips[0].waveform().samples
    before, after = slice(0, 30 * 16_000), slice(40 * 16_000, None)
    assert np.array_equal(plain[before], siren[before])
    assert np.array_equal(plain[after], siren[after])
