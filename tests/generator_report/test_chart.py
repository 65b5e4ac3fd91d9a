"""The axes of the picture of all takes."""

import pytest

from cmi.generator_report.chart import _range, ticks


@pytest.mark.parametrize("values", [[0.0], [1.5, 1.5], [-3.0, 4.2], [1e20, 1e20], [-1e-9, 1e-9], [1e20, -1e20]])
def test_any_scores_lie_inside_axes_with_round_numbers(values: list[float]):
    span = _range(values)
    assert span.low < min(values) and max(values) < span.high
    assert 2 <= len(ticks(span)) <= 11
    assert all(span.low <= tick <= span.high for tick in ticks(span))
