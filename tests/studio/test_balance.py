from hypothesis import given
from hypothesis import strategies as st

from cmi.studio.make import MOST, balanced, null_accuracies
from cmi.studio.recordings import MeasuredTake

heard = st.builds(MeasuredTake, st.floats(-30, -10), st.just(30.0), st.floats(100, 8000), st.integers(0, 500))


@given(st.lists(st.tuples(heard, heard), max_size=60), st.booleans())
def test_no_null_is_right_or_wrong_too_often_in_what_is_kept(pairs, strictly):
    kept = balanced({str(i): pair for i, pair in enumerate(pairs)}, strictly)
    for accuracy in null_accuracies([pairs[int(name)] for name in kept]).values():
        one_more = 0 if strictly else 0.5 / max(1, len(kept))
        assert abs(accuracy - 0.5) <= max(MOST - 0.5, one_more) + 1e-9
    assert kept == sorted(kept, key=int)


def test_what_is_even_is_kept_whole():
    loud, soft = MeasuredTake(-10, 30, 500, 10), MeasuredTake(-20, 30, 500, 10)
    assert len(balanced({"1": (loud, soft), "2": (soft, loud), "3": (loud, loud)}, strictly=True)) == 3


def test_of_a_lopsided_set_only_what_leans_goes():
    loud, soft = MeasuredTake(-10, 30, 500, 10), MeasuredTake(-20, 30, 500, 10)
    pairs = {f"{i}": (loud, soft) if i % 4 else (soft, loud) for i in range(40)}
    kept = balanced(pairs, strictly=False)
    assert sum(pairs[name] == (soft, loud) for name in kept) == 10
    assert 20 <= len(kept) <= 22
    assert sum(pairs[name] == (loud, soft) for name in kept) <= 11


def test_a_null_that_can_not_tell_gets_half():
    same = MeasuredTake(-10, 30, 500, 10)
    assert set(null_accuracies([(same, same)]).values()) == {0.5}
    assert null_accuracies([(same._replace(notes=11), same)])["more notes"] == 1
