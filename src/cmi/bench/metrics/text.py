"""Find labels in free text, in linear time."""

import re
from collections.abc import Iterator, Mapping
from functools import cache

LONGEST_ANSWER = 1_000_000  # characters

# What separates one label from the next: everything but letters, digits, white space and what joins words.
_SEGMENT = re.compile(r"[^\w\s'’&#♯-]+")
_WORD_JOINT = re.compile(r"[\s_'’-]+")
_SQUASHED_AWAY = str.maketrans({"_": None, "-": None, "'": None, ".": None, " ": None, "#": "♯"})
_MOST_WORDS = 4  # 'rock and roll' needs three; no label of the benchmark needs more than four


def squash(label: str) -> str:
    """Normalise a label like the published scorer: `Hip-Hop` and `hip hop` become `hiphop`."""
    return label.translate(_SQUASHED_AWAY).lower()


def mentions(text: str, labels: tuple[str, ...]) -> set[str]:
    """Return the labels that the text names as whole words.

    Case, hyphens, underscores and spaces inside a label do not matter ('lip trill' is `lip_trill`). The longest label
    wins: 'lip trill' does not name `trill`, nor 'female vocal' `vocal`. Labels do not span punctuation.
    """
    by_form = _by_form(labels)
    found = set()
    for words in _segments(text[:LONGEST_ANSWER]):
        at = 0
        while at < len(words):
            for count in range(min(_MOST_WORDS, len(words) - at), 0, -1):
                label = by_form.get("".join(words[at : at + count]))
                if label is not None:
                    found.add(label)
                    at += count - 1
                    break
            at += 1
    return found


@cache
def _by_form(labels: tuple[str, ...]) -> Mapping[str, str]:
    return {"".join(_WORD_JOINT.split(label.lower())): label for label in labels}


def _segments(text: str) -> Iterator[list[str]]:
    for segment in _SEGMENT.split(text.lower()):
        words = [word for word in _WORD_JOINT.split(segment) if word]
        if words:
            yield words
