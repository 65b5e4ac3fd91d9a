"""Single-label classification: an answer is right when it names the right class and no other.

Metrics
    Acc.    The share of right answers, times 100.

Protocols
    strict  Classes are named by whole words (`cmi.bench.metrics.text.mentions`), out of the data set's classes.
            An answer that names no class, or several, is unparsed and wrong.
    paper   A class is named wherever its letters occur, out of the classes that occur in the file: `trill` is inside
            `lip_trill`, which makes a perfect answer wrong.
"""

from collections.abc import Callable, Collection, Iterable

from cmi._util.errors import InputError
from cmi.bench.evaluation import Evaluation, Item, Measured, Setting, accuracy, evaluate_each
from cmi.bench.metrics.text import mentions, squash
from cmi.bench.tasks import Null, Reader, most_frequent


def parse(answer: str, classes: tuple[str, ...]) -> str | None:
    """Return the one class that `answer` names, or None if it names none or several.

    >>> parse("It's hip hop!", ("hiphop", "rock"))
    'hiphop'
    >>> parse("rock or hip hop", ("hiphop", "rock"))
    """
    found = mentions(answer, classes)
    return found.pop() if len(found) == 1 else None


def parse_paper(answer: str, squashed_classes: Collection[str]) -> str | None:
    """Return the one class whose letters occur in `answer`, in the published scorer's normal form."""
    text = squash(answer)
    found = [name for name in squashed_classes if name in text]
    return found[0] if len(found) == 1 else None


def evaluate(
    items: Iterable[Item],
    setting: Setting,
    classes: tuple[str, ...],
    parse: Callable[[str, tuple[str, ...]], str | None] = parse,
) -> Evaluation:
    read = reader(setting, (item.truth for item in items), classes, parse)

    def measure(item: Item) -> Measured:
        named = read(item.answer)
        if setting.protocol == "strict" and item.truth not in classes:
            raise InputError(f"the expected answer {item.truth!r} is none of: {', '.join(classes)}")
        return Measured(named is not None, [named == expected(setting, item.truth)])

    return evaluate_each(items, measure, [accuracy("Acc.")])


def reader(
    setting: Setting,
    truths: Iterable[str],
    classes: tuple[str, ...],
    parse: Callable[[str, tuple[str, ...]], str | None] = parse,
) -> Reader:
    if setting.protocol == "paper":
        occurring = sorted({squash(truth) for truth in truths})
        return lambda answer: parse_paper(answer, occurring)
    return lambda answer: parse(answer, classes)


def expected(setting: Setting, truth: str) -> str:
    """Return what a right answer is read as."""
    return squash(truth) if setting.protocol == "paper" else truth


def nulls(items: Iterable[Item]) -> list[Null]:
    return [most_frequent(items, "majority class")]
