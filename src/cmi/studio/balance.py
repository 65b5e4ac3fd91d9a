"""Pairs that nobody can tell by what needs no ear for music: nulls, and the pairs left out until they know nothing."""

from collections.abc import Callable, Mapping, Sequence

from cmi.studio.recordings import Heard

NULLS: dict[str, Callable[[Heard], float]] = {
    "louder": lambda heard: heard.loudness,
    "longer": lambda heard: heard.seconds,
    "brighter": lambda heard: heard.brightness,
    "more notes": lambda heard: heard.notes,
}
MOST = 0.53  # that a null, or its contrary, may get right; in a handful of pairs, one more than half of them
Pair = tuple[Heard, Heard]  # the better and the worse


def verdicts(pair: Pair) -> dict[str, float]:
    """What each null says of a pair: 1 if it prefers the better, -1 if the worse, 0 if it can't tell."""
    better, worse = pair
    return {name: float((of(better) > of(worse)) - (of(better) < of(worse))) for name, of in NULLS.items()}


def null_accuracies(pairs: Sequence[Pair]) -> dict[str, float]:
    """How often each null is right; where it can't tell it gets half."""
    said = [verdicts(pair) for pair in pairs]
    return {name: sum(0.5 + said_of[name] / 2 for said_of in said) / len(said) if said else 0.5 for name in NULLS}


def balanced(pairs: Mapping[str, Pair]) -> list[str]:
    """The ids of the pairs to keep, in their order: as many as leave no null, and no contrary of one, above MOST.

    Greedy: while a null leans too far, the pair goes whose absence brings all nulls nearest to even.
    """
    said = {name: verdicts(pair) for name, pair in pairs.items()}
    lean = {null: sum(v[null] for v in said.values()) for null in NULLS}
    kept = dict.fromkeys(said)
    while kept and max(map(abs, lean.values())) > max(1, (2 * MOST - 1) * len(kept)):
        worst = min(kept, key=lambda name: sum((lean[null] - said[name][null]) ** 2 for null in NULLS))
        del kept[worst]
        lean = {null: lean[null] - said[worst][null] for null in NULLS}
    return list(kept)
