"""Beat and downbeat tracking, which differ only in the question: parse times and compute the F-measure.

Conventions
    Times are seconds from the start of the clip. The first 5 s are not trimmed.

Metrics
    FM.         (paper) F-measure of a maximum one-to-one matching within 70 ms (mir_eval's default), times 100.
    FM@20ms     the same within the 20 ms that the paper states; FM@70ms within the 70 ms that the literature uses.

Protocols
    strict  Every time in a comma-separated list; what is not a time is filtered out.
    paper   One token that starts with a digit but is not a number voids the whole answer: '0.5s, 1.0s.' scores 0.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np

from cmi.bench.evaluation import Evaluation, Item, Measured, Setting, evaluate_each, percent_mean
from cmi.bench.metrics.text import LONGEST_ANSWER
from cmi.bench.tasks import Null, Reader, constant, in_words, parse_truth

LATEST = 30_000.0  # seconds; mir_eval refuses later events
PAPER_WINDOW = 0.07
STRICT_WINDOWS = {"FM@20ms": 0.02, "FM@70ms": 0.07}
GRID = ",".join(f"{beat / 2}s" for beat in range(60))  # every 0.5 s for 30 s: above every published model

_SEPARATOR = re.compile(r"[,;\n]")
_EDGES = " \t\r\n.()[]{}\"'`*|"
_CLOCK = r"(?:(\d{1,3}):)?(\d{1,7}(?:\.\d{0,20})?)"
_UNIT = r"\s?(?:s+|secs?|seconds?)"
_TIME = re.compile(rf"{_CLOCK}(?:{_UNIT})?", re.I)
_TIMES = re.compile(rf"{_CLOCK}(?:{_UNIT})?(?:\s+{_CLOCK}(?:{_UNIT})?)+", re.I)
_LAST_WORD_IS_TIME = re.compile(rf"(?:^|[\s:\[(]){_CLOCK}{_UNIT}$", re.I)
_LONGEST_PROSE = 200  # characters before a time in its token, as in 'The beats are at 0.5s'


def parse(answer: str) -> list[float] | None:
    """Return the times that `answer` lists, sorted; None if there are none.

    >>> parse("Beats at 0.5s, 1.0s, 1:02.5.")
    [0.5, 1.0, 62.5]
    """
    times = [time for token in _SEPARATOR.split(answer[:LONGEST_ANSWER]) for time in _times_in(token.strip(_EDGES))]
    return sorted(time for time in times if time <= LATEST) or None


def _times_in(token: str) -> list[float]:
    if whole := _TIME.fullmatch(token):
        return [_seconds(*whole.groups())]
    if _TIMES.fullmatch(token):
        return [_seconds(*groups) for groups in re.findall(_CLOCK, token)]
    last = _LAST_WORD_IS_TIME.search(token[-_LONGEST_PROSE:])
    return [_seconds(*last.groups())] if last else []


def _seconds(minutes: str | None, seconds: str) -> float:
    return 60 * int(minutes or 0) + float(seconds)


def parse_paper(answer: str) -> list[float] | None:
    """Parse like the published scorer; None if one token voids the answer, or a time is too late."""
    times = []
    for token in answer.split(","):
        token = token.strip().replace("s", "")
        if not token[:1].isdigit():
            continue
        minutes, *seconds = token.split(":")
        try:
            if not seconds:
                times.append(float(token))
            elif seconds[0]:
                times.append(60 * int(minutes) + float(seconds[0]))  # a third part is ignored: 0:01:30 is 1 s
        except ValueError:
            return None
    return sorted(times) if times and max(times) <= LATEST else None


def f_measure(reference: Sequence[float], estimated: Sequence[float], window: float) -> float:
    """F-measure of the largest one-to-one matching in which est - window <= ref <= est + window; both are sorted."""
    if not len(reference) or not len(estimated):
        return 0.0
    estimates = np.asarray(estimated)
    first = np.searchsorted(reference, estimates - window, side="left")
    behind = np.searchsorted(reference, estimates + window, side="right")
    hits, free = 0, 0
    # Windows have one width, so both ends only move forward and the earliest free reference is always a best choice.
    for low, high in zip(first.tolist(), behind.tolist(), strict=True):
        free = max(free, low)
        if free < high:
            hits += 1
            free += 1
    return 2 * hits / (len(reference) + len(estimates))


def evaluate(items: Iterable[Item], setting: Setting) -> Evaluation:
    read = _parser(setting)
    windows = {"FM.": PAPER_WINDOW} if setting.protocol == "paper" else STRICT_WINDOWS

    def measure(item: Item) -> Measured:
        reference = _truth(item.truth)
        estimated = read(item.answer)
        row = [f_measure(reference, estimated or [], window) for window in windows.values()]
        return Measured(estimated is not None, row)

    return evaluate_each(items, measure, [percent_mean(name, i) for i, name in enumerate(windows)])


def _parser(setting: Setting) -> Callable[[str], list[float] | None]:
    return parse_paper if setting.protocol == "paper" else parse


@lru_cache(maxsize=4096)
def _truth(text: str) -> list[float]:
    return parse_truth(text, parse, "a list of times such as '0.5s,1.02s'")


def nulls(items: Iterable[Item]) -> list[Null]:
    return [constant(GRID, "0.5 s grid")]


def reader(setting: Setting, truths: Iterable[str]) -> Reader:
    return in_words(_parser(setting), lambda times: ", ".join(f"{time:g}" for time in times))
