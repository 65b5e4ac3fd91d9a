"""The report in a few sentences, for the top of the page: who is ahead, and what is wrong with the takes."""

from collections import Counter

from cmi.critic.observe import CUT
from cmi.generator_report.summary import GeneratorReport, Mean, PairedGenerators, ReportOfGenerators
from cmi.generator_report.tables import EXPLAINED
from cmi.report.numbers import MISSING, interval, percent, signed


def answers_of(report: ReportOfGenerators) -> list[str]:
    """The comparison of the best generator with each other one on the same prompts, then a sentence for each."""
    compared = {paired.second for paired in report.paired}
    apart = [
        f"{report.generators[0].name} and {other.name} cannot be compared: they have no prompt in common."
        for other in report.generators[1:]
        if other.name not in compared
    ]
    return [*map(_comparison, report.paired), *apart, *map(_about, report.generators)]


def _comparison(paired: PairedGenerators) -> str:
    first, second = paired.first, paired.second
    axes = {"musicality": paired.musicality, "alignment": paired.alignment}
    given = (
        f"On the {paired.prompts} prompts that both were given" if paired.prompts > 1 else "On the one prompt of both"
    )
    verdicts = [f"{_verdict(mean, first, second)} in {axis} ({_said(mean)})" for axis, mean in axes.items()]
    return f"{given}, {'; '.join(verdicts)}."


def _verdict(mean: Mean, first: str, second: str) -> str:
    if mean.interval.low > 0:
        return f"{first} scores higher than {second}"
    if mean.interval.high < 0:
        return f"{first} scores lower than {second}"
    return f"{first} and {second} cannot be told apart"


def _said(mean: Mean) -> str:
    ends = interval(mean.interval, with_sign=True, between=" to ")
    return f"{signed(mean.value)}, {'no interval' if ends == MISSING else f'95 % {ends}'}"


def _about(one: GeneratorReport) -> str:
    """If all takes have one length, they are excerpts: that they break off at the end is said apart."""
    expected = {CUT} if one.has_fixed_length else set()
    wrong = [take.kinds - expected for take in one.takes if take.kinds - expected]
    kinds = Counter(kind for own in wrong for kind in own)
    kind, count = kinds.most_common(1)[0] if kinds else ("", 0)
    most = f", most often: {EXPLAINED.get(kind, kind)} ({count})" if kinds else ""
    cut = sum(bool(take.kinds & expected) for take in one.takes)
    most += f"; {cut} break off at the end, as excerpts of a fixed length do" if cut else ""
    own = (
        f"; a take fits its own prompt better than another one in {percent(one.own_prompt.value, 0)} % of cases "
        "(50 % is chance)"
        if one.own_prompt is not None
        else ""
    )
    return f"{one.name}: something is wrong with {len(wrong)} of {len(one.takes)} takes{most}{own}."
