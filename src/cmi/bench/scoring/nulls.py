"""Null baselines: answers that do not use the audio.

Every task has two: the empty answer, and a copy of the prompt's example if it has one. Tasks add their own: a constant
key, a beat grid, the most frequent label or caption.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from cmi.bench.evaluation import Item

# 'Example 1: blues', 'Example 1, when the note is A1: 33', 'Example 1:\nC major'; or a format between backticks.
_EXAMPLE = re.compile(r"Example 1[^:\n]{0,200}:\s*(\S[^\n]*)")
_FORMAT = re.compile(r"format of `([^`]+)`")


class Null(NamedTuple):
    name: str
    answer: Callable[[Item], str]


def constant(answer: str, name: str = "") -> Null:
    return Null(name or answer, lambda _item: answer)


EMPTY = constant("", "empty answer")
PROMPT_EXAMPLE = Null("prompt's example", lambda item: prompt_example(item.question))


def prompt_example(question: str) -> str:
    """Return the first example in the prompt, or ''."""
    found = _EXAMPLE.search(question) or _FORMAT.search(question)
    return found[1].strip().strip('"') if found else ""


def most_frequent(items: Iterable[Item], name: str) -> Null:
    """Return the null that always gives the most frequent truth, the first of equals."""
    counts = Counter(item.truth for item in items)
    return constant(max(counts, key=lambda truth: counts[truth], default=""), name)


def for_every_task(items: Iterable[Item]) -> list[Null]:
    """Return the nulls that every task has."""
    first = next(iter(items), None)
    return [EMPTY, PROMPT_EXAMPLE] if first and prompt_example(first.question) else [EMPTY]
