from hypothesis import given
from hypothesis import strategies as st

from cmi.arena.web.limits import Rate, RateLimiter, SharedState, address_key


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_is_granted_then_the_rate_holds():
    clock = Clock()
    limiter = RateLimiter(Rate(2, 5), clock=clock)
    assert [limiter.seconds_to_wait("x") for _ in range(5)] == [0] * 5
    assert limiter.seconds_to_wait("x") == 1
    clock.now += 0.5
    assert limiter.seconds_to_wait("x") == 0
    assert limiter.seconds_to_wait("x") == 1


def test_one_client_does_not_use_up_anothers_tokens():
    limiter = RateLimiter(Rate(1, 1), clock=Clock())
    assert limiter.seconds_to_wait("x") == 0
    assert limiter.seconds_to_wait("x") > 0
    assert limiter.seconds_to_wait("y") == 0


def test_strangers_do_not_fill_the_memory():
    shared = SharedState(most_buckets=10)
    limiter, room = RateLimiter(Rate(1, 1), shared=shared, clock=Clock()), len(shared.buckets)
    assert [limiter.seconds_to_wait(str(stranger)) for stranger in range(1000)] == [0] * 1000
    assert len(shared.buckets) == room
    assert limiter.seconds_to_wait("999") == 1


@given(st.lists(st.floats(0, 10), max_size=60))
def test_no_rhythm_of_asking_gets_more_than_burst_and_rate(pauses):
    clock = Clock()
    limiter = RateLimiter(Rate(2, 5), clock=clock)
    granted = 0
    for pause in pauses:
        clock.now += pause
        granted += limiter.seconds_to_wait("x") == 0
    assert granted <= 5 + 2 * sum(pauses) + 1e-6


def test_addresses_of_one_ipv6_network_share_a_bucket():
    assert address_key("2001:db8::1") == address_key("2001:db8::ffff:1") != address_key("2001:db8:0:1::1")
    assert address_key("::ffff:10.0.0.1") == address_key("10.0.0.1") != address_key("10.0.0.2")
    assert address_key(None) == address_key("testclient") == "unknown"
