"""One model for all clients: shared batches, a bounded queue, answers that are remembered."""

import threading

import numpy as np
import pytest

from cmi._util.errors import HttpRefusal, InputError
from cmi.audio import Waveform
from cmi.reward.scoring.scorers import NamedScorer
from cmi.serve import ScoreQueue
from cmi.take import Prompt, Score, Take


def take(level: float, text: str = "") -> Take:
    return Take(Prompt(text), Waveform(np.full(800, level, np.float32), 16_000))


class Held:
    """Scores nothing until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.batches: list[int] = []

    def score(self, takes):
        assert self.go.wait(60)
        self.batches.append(len(takes))
        return [Score(float(take.audio.samples[0]), 0.0) for take in takes]


@pytest.fixture
def held():
    return Held()


@pytest.fixture
def queue(held):
    queue = ScoreQueue(NamedScorer("held", held), most_waiting=8)
    yield queue
    held.go.set()
    queue.close()


def test_takes_of_several_clients_share_a_call(queue, held):
    first = queue.ask([take(0.5)])  # the model is busy with this one
    rest = [queue.ask([take(level)]) for level in (0.125, 0.25, 0.375)]
    held.go.set()
    levels = [answer.result(60).score.musicality for asked in [first, *rest] for answer in asked]
    assert levels == [0.5, 0.125, 0.25, 0.375]
    assert sum(held.batches) == 4
    assert max(held.batches) >= 3


def test_a_full_queue_refuses_with_the_time_to_wait_and_serves_again_later(queue, held):
    asked = queue.ask([take(level / 16) for level in range(1, 9)])
    with pytest.raises(HttpRefusal) as refused:
        queue.ask([take(0.9)])
    assert refused.value.status == 429
    assert int(refused.value.headers["retry-after"]) >= 1
    held.go.set()
    assert [answer.result(60).score.musicality for answer in asked] == [level / 16 for level in range(1, 9)]
    assert queue.ask([take(0.5)])[0].result(60).score.musicality == 0.5


def test_more_takes_than_may_ever_wait_are_refused_for_good(queue):
    with pytest.raises(HttpRefusal) as refused:
        queue.ask([take(level / 16) for level in range(1, 11)])
    assert refused.value.status == 413


def test_what_was_asked_before_is_answered_from_memory_even_while_it_waits(queue, held):
    first, second = queue.ask([take(0.5, "piano"), take(0.5, "piano")])
    (third,) = queue.ask([take(0.5, "piano")])
    (other,) = queue.ask([take(0.5, "drums")])
    assert first is second is third
    assert other is not first
    held.go.set()
    other.result(60)
    assert sum(held.batches) == 2
    assert queue.ask([take(0.5, "piano")])[0].result(0) == first.result(0)


def test_prompts_whose_parts_run_together_are_not_confused(queue, held):
    held.go.set()
    sound = Waveform(np.full(800, 0.5, np.float32), 16_000)
    queue.ask([Take(Prompt("ab", "c"), sound)])[0].result(60)
    queue.ask([Take(Prompt("a", "bc"), sound)])[0].result(60)
    assert sum(held.batches) == 2


class Moody:
    """Fails as its takes say."""

    def score(self, takes):
        for one in takes:
            if one.prompt.text == "unheard":
                raise InputError("too quiet")
            if one.prompt.text == "bug":
                raise ZeroDivisionError
        return [Score(1.0, 1.0) for _ in takes]


def test_a_scorer_that_fails_fails_its_own_takes_and_the_next_are_scored():
    queue = ScoreQueue(NamedScorer("moody", Moody()))
    try:
        (unheard,) = queue.ask([take(0.5, "unheard")])
        assert str(unheard.result(60)) == "too quiet"
        (bug,) = queue.ask([take(0.5, "bug")])
        assert isinstance(bug.exception(60), ZeroDivisionError)
        assert queue.ask([take(0.5)])[0].result(60).score == Score(1.0, 1.0)
        assert queue.waiting == 0
        assert queue.ask([take(0.5, "unheard")])[0] is not unheard, "a failure is not remembered"
    finally:
        queue.close()
