"""Emotion regression: rate the arousal or the valence of a clip from 1 to 9. Data set: EMO, in two files.

Conventions
    The truth is z-scored, so that only a scale-free comparison with the ratings makes sense.
    A clip without a rating is given the mean of the model's ratings.

Metrics (a for arousal, v for valence)
    r, r^2  Pearson's correlation over all clips, and its square: the share of variance that the best straight line
            through the ratings explains. 0 when the model gives one rating to all.
    R2      (paper) 1 - SS_res / SS_tot of the standardised ratings against the truth as it is. This lies near 2r - 1:
            random ratings give -1, no ratings at all give 0, and missing ones raise it.

Protocols
    strict  A bare number, on whatever scale; otherwise the one number from 1 to 9 that is left in the text when talk of
            the scale is set aside. Several different ones: unparsed.
    paper   The first digit run worth 1 to 9 after talk of the scale is set aside; two runs joined by a dot: a decimal.

The authors' released valence files repeat the arousal question and the arousal truth; a note says so when it is seen.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi.bench.evaluation import Array, Evaluation, Item, Measured, Metric, Setting, evaluate_each, of_sums
from cmi.bench.tasks import Null, Reader, constant, in_words

LOWEST, HIGHEST = 1, 9
NULL_ANSWER = "5"  # any constant rating stands for the mean

_BARE = re.compile(r"[-+]?\d{1,9}(?:\.\d{1,30})?")
_NUMBER = re.compile(r"(?<![\w.,/:-])\d{1,9}(?:\.\d{1,30})?(?![\d:]|[.,]\d|/\d|-\w|\w)")
_OUT_OF_NINE = re.compile(r"\b(\d(?:\.\d{1,30})?)\s?(?:/\s?9|out of (?:9|nine))\b")
_SCALE = re.compile(r"\b(?:1|one)\s?(?:-|–|to|and)\s?(?:9|nine)\b|\b\d{1,2}-point\b|\d/\d|\bexample \d", re.I)

_PAPER_REWORDED = (  # in this order; a word in place of digits keeps its neighbours apart
    ("out of 9", ""),
    ("1-9 scale", "scale"),
    ("from 1 to 9", "scale"),
    (r"\d-point scale", "scale"),
    (r"\d/\d time signature", "time"),
    (r"\d/\d beat", "beat"),
    (r"Example \d", ""),
)


def parse(answer: str) -> float | None:
    """Return the one rating that `answer` gives, or None if it gives none or several.

    >>> parse("On a scale from 1 to 9, I would say 6.5.")
    6.5
    """
    bare = answer.strip(" \t\r\n.\"'`*")
    if len(bare) < 50 and _BARE.fullmatch(bare):
        return float(bare)
    text = _SCALE.sub(" ", _OUT_OF_NINE.sub(r"\1", answer))
    found = {float(number) for number in _NUMBER.findall(text)}
    ratings = {rating for rating in found if LOWEST <= rating <= HIGHEST}
    return ratings.pop() if len(ratings) == 1 else None


def parse_paper(answer: str) -> float | None:
    """Parse like the published scorer."""
    for old, new in _PAPER_REWORDED:
        answer = re.sub(old, new, answer)
    ratings = [run for run in re.findall(r"\d+", answer) if len(run.lstrip("0")) == 1]
    if len(ratings) == 2 and ".".join(ratings) in answer:
        return float(".".join(ratings))
    return float(ratings[0]) if ratings else None


# A row: the truth y and its square; then, of rated clips only: 1, rating x, x^2, y, x y.
_ALL, _Y, _YY, _RATED, _X, _XX, _RATED_Y, _XY = range(8)


def _moments(sums: Array) -> tuple[Array, Array, Array]:
    """Sums of squares of the truth and of the ratings about their means, and of their products; missing = mean."""
    s = np.moveaxis(sums, -1, 0)
    mean_x = s[_X] / np.maximum(s[_RATED], 1)
    truth = s[_YY] - s[_Y] ** 2 / s[_ALL]
    ratings = np.maximum(s[_XX] - s[_RATED] * mean_x**2, 0)
    products = s[_XY] - mean_x * s[_RATED_Y]  # rated clips only: the others sit at the mean rating
    return truth, ratings, products


def _spread_is_nil(sums: Array, ratings: Array) -> NDArray[np.bool_]:
    return ratings <= 1e-9 * np.maximum(sums[..., _XX], 1)


def correlation(sums: Array) -> Array:
    """Pearson's r over all clips, a missing rating standing at the model's mean."""
    truth, ratings, products = _moments(sums)
    flat = _spread_is_nil(sums, ratings)
    return np.where(flat, 0.0, products / np.sqrt(np.where(flat, 1.0, truth * ratings)))


def paper_r2(sums: Array) -> Array:
    """R2 of ratings standardised by the mean and sd of the rated clips; missing ones are 0.

    All are 0 when all ratings are equal, where the published scorer stops with an error.
    """
    truth, ratings, products = _moments(sums)
    rated = sums[..., _RATED]
    flat = _spread_is_nil(sums, ratings)
    sd = np.sqrt(np.where(flat, 1.0, ratings) / np.maximum(rated, 1))
    from_ratings = np.where(flat, 0.0, rated - 2 * products / sd)  # squares of standardised ratings sum to their count
    return 1 - (sums[..., _YY] + from_ratings) / truth


def evaluate(items: Iterable[Item], setting: Setting) -> Evaluation:
    read = parse_paper if setting.protocol == "paper" else parse
    letter = "v" if setting.dataset == "EMO_valence" else "a"
    asked_for_arousal = False

    def measure(item: Item) -> Measured:
        nonlocal asked_for_arousal
        asked_for_arousal |= "arousal" in item.question.lower()
        y, x = _truth(item), read(item.answer)
        if x is None:
            return Measured(False, [1, y, y * y, 0, 0, 0, 0, 0])
        return Measured(True, [1, y, y * y, 1, x, x * x, y, x * y])

    evaluation = evaluate_each(items, measure, _metrics(setting.protocol, letter))
    if letter == "v" and asked_for_arousal:
        return replace(evaluation, notes=("the questions ask for arousal, not valence",))
    return evaluation


def _metrics(protocol: str, letter: str) -> list[Metric]:
    if protocol == "paper":
        return [of_sums(f"{letter}R2", paper_r2)]
    return [of_sums(f"{letter}r", correlation), of_sums(f"{letter}r^2", lambda sums: correlation(sums) ** 2)]


def _truth(item: Item) -> float:
    try:
        truth = float(item.truth)
    except ValueError:
        truth = math.nan
    if not math.isfinite(truth):
        raise InputError(f"the expected answer {item.truth!r} is not a number")
    return truth


def nulls(items: Iterable[Item]) -> list[Null]:
    return [constant(NULL_ANSWER, "mean rating")]


def reader(setting: Setting, truths: Iterable[str]) -> Reader:
    return in_words(parse_paper if setting.protocol == "paper" else parse, lambda rating: f"{rating:g}")
