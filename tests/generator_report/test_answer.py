"""The sentences at the top of a report."""

import math

import pytest

from cmi.generator_report.answer import answers_of
from cmi.generator_report.summary import Mean, PairedGenerators, ReportOfGenerators
from cmi.stats import Interval


@pytest.mark.parametrize(
    ("interval", "said"),
    [
        (Interval(0.2, 0.8), "ours scores higher than theirs in musicality (+0.50, 95 % +0.20 to +0.80)"),
        (Interval(-0.8, -0.2), "ours scores lower than theirs in musicality (+0.50, 95 % -0.80 to -0.20)"),
        (Interval(-0.2, 1.2), "ours and theirs cannot be told apart in musicality (+0.50, 95 % -0.20 to +1.20)"),
        (Interval(math.nan, math.nan), "ours and theirs cannot be told apart in musicality (+0.50, no interval)"),
    ],
)
def test_one_generator_is_ahead_only_if_the_interval_excludes_0(interval: Interval, said: str):
    paired = PairedGenerators(
        "ours", "theirs", 12, Mean(0.5, interval), Mean(0.1, Interval(0.05, 0.2)), Mean(1, interval)
    )
    (answer,) = answers_of(ReportOfGenerators("nano", [], [paired], []))
    assert answer == (
        f"On the 12 prompts that both were given, {said}; "
        "ours scores higher than theirs in alignment (+0.10, 95 % +0.05 to +0.20)."
    )
