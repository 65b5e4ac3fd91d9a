"""Lyrics transcription: write down what is sung. Data set: DSing.

Conventions
    Both sides are compared without punctuation (apostrophes stay) and in lower case; numbers are spelt out.
    Phrases that announce the transcription ('The lyrics of the song are: ...') are removed from the answer.

Metrics, times 100; lower is better
    WE., CE.        strict: word and character errors over words and characters of the whole corpus.
                    paper: the mean of the items' own rates, without a limit, so that a few looping answers decide.
    WE.cap, CE.cap  the mean of the items' rates, none counted above 100.
    WE.med, CE.med  the median of the items' rates.
"""

from collections.abc import Iterable
from functools import lru_cache

from num2words import num2words
from rapidfuzz.distance import Levenshtein

from cmi.bench.evaluation import (
    Evaluation,
    Item,
    Measured,
    Setting,
    evaluate_each,
    percent_mean,
    percent_median,
    percent_ratio,
)
from cmi.bench.tasks import Null, Reader, most_frequent

# (what stands first, then, then): everything on the line up to the colon goes.
_ANNOUNCEMENTS = (
    (" lyrics ", "are", ":"),
    (" content ", "is", ":"),
    (" transcription ", "is", ":"),
    (" text ", "is", ":"),
)
_PUNCTUATION = str.maketrans(dict.fromkeys('!"#$%&\\()*+,-./:;<=>?@[]^_`{|}~'))
_LONGEST_NUMBER = 300  # digits; num2words has no words for longer ones


def transcription(answer: str) -> str:
    """Remove introductions and sentence tokens from the answer.

    >>> transcription("The lyrics of the song are: hello darkness</s>")
    'hello darkness'
    """
    for announcement in _ANNOUNCEMENTS:
        answer = "\n".join(_cut(line, announcement) for line in answer.split("\n")).strip()
    return answer.replace("<s>", "").strip().replace("</s>", "").strip()


def _cut(line: str, announcement: tuple[str, str, str]) -> str:
    """Cut up to the colon, again and again: the regular expression `.*? lyrics .*?are.*?:`, in linear time."""
    at = 0
    while True:
        end = at
        for word in announcement:
            found = line.find(word, end)
            if found < 0:
                return line[at:]
            end = found + len(word)
        at = end


def words(text: str) -> list[str]:
    """Lower-case words without punctuation, numbers spelt out.

    >>> words("Don't stop: 2 more!")
    ["don't", 'stop', 'two', 'more']
    """
    plain = text.translate(_PUNCTUATION).lower()
    return " ".join(_spelt_out(word) for word in plain.split()).split(" ") if plain.strip() else []


@lru_cache(maxsize=10_000)
def _spelt_out(word: str) -> str:
    is_number = word.isdecimal() and len(word) <= _LONGEST_NUMBER
    return str(num2words(int(word))) if is_number else word


_RATES = ("WE.", "CE.")


def evaluate(items: Iterable[Item], setting: Setting) -> Evaluation:
    """Rows: for words, then for characters: errors, length of the reference, rate, capped rate."""

    def measure(item: Item) -> Measured:
        expected, given = words(item.truth), words(transcription(item.answer))
        return Measured(bool(given), [*_counts(expected, given), *_counts(" ".join(expected), " ".join(given))])

    if setting.protocol == "paper":
        metrics = [percent_mean(name, 4 * i + 2, "lower") for i, name in enumerate(_RATES)]
    else:
        metrics = [percent_ratio(name, 4 * i, 4 * i + 1, "lower") for i, name in enumerate(_RATES)]
        metrics += [percent_mean(f"{name}cap", 4 * i + 3, "lower") for i, name in enumerate(_RATES)]
        metrics += [percent_median(f"{name}med", 4 * i + 2, "lower") for i, name in enumerate(_RATES)]
    return evaluate_each(items, measure, metrics)


def word_error_rate(expected: str, given: str) -> float:
    """Errors over the words expected, without a limit; 1 if none is expected and some are given.

    >>> word_error_rate("Row, row your boat", "row your big boat")
    0.5
    """
    return _counts(words(expected), words(given))[2]


def _counts(expected: list[str] | str, given: list[str] | str) -> list[float]:
    wrong = Levenshtein.distance(expected, given)
    rate = wrong / len(expected) if expected else float(bool(given))
    return [wrong, len(expected), rate, min(rate, 1.0)]


def nulls(items: Iterable[Item]) -> list[Null]:
    return [most_frequent(items, "most frequent line")]


def reader(setting: Setting, truths: Iterable[str]) -> Reader:
    return lambda answer: " ".join(words(transcription(answer))) or None
