"""How often chance alone passes a check, and how often a good listener fails it."""

import math
from typing import Any, NamedTuple

from cmi.arena.store.checks import CHOICES, NEEDED, TRIALS
from cmi.arena.store.study import Study
from cmi.report.tables import Table

LISTENER = 0.9  # of a good listener's answers are right


class PassRate(NamedTuple):
    check: str
    who: str
    right: float  # probability that a trial is right
    trials: int
    needed: int
    attempts: int
    passes: float


def pass_rate(trials: int, needed: int, right: float, attempts: int = 1) -> float:
    """Probability of at least `needed` right answers in one of `attempts`, if each is right with probability `right`.

    >>> round(pass_rate(6, 5, 1 / 3) * 729)
    13
    """
    one = sum(math.comb(trials, k) * right**k * (1 - right) ** (trials - k) for k in range(needed, trials + 1))
    return 1 - (1 - one) ** attempts


def pass_rates(study: Study) -> list[PassRate]:
    """The rates of all checks of a study.

    On a gold pair with two known answers both must be right. Somebody who tosses one coin for both may be right as
    often as on a pair with one.
    """
    found = []
    for check, is_wanted in (("device", study.device_check), ("headphones", study.headphone_check)):
        if is_wanted:
            people = {"guesses": 1 / CHOICES, f"is right on {LISTENER:.0%} of trials": LISTENER}
            found += [_rate(check, who, right, TRIALS, NEEDED, study.check_attempts) for who, right in people.items()]
    if study.qualify_pairs:
        for answers, known in ((1, "one known answer"), (2, "two known answers")):
            people = {"tosses a coin for each": 0.5, f"is right on {LISTENER:.0%} of answers": LISTENER}
            for who, right in people.items():
                gold = study.qualify_pairs, study.qualify_right
                found.append(_rate("qualification", f"{who} ({known})", right**answers, *gold, 1))
    return found


def _rate(check: str, who: str, right: float, trials: int, needed: int, attempts: int) -> PassRate:
    return PassRate(check, who, right, trials, needed, attempts, pass_rate(trials, needed, right, attempts))


def rates_table(rates: list[PassRate]) -> Table:
    headers = ["check", "somebody who ...", "right (%)", "needed", "attempts", "passes (%)", "fails (%)"]
    rows = [
        [
            *(one.check, one.who, f"{100 * one.right:.1f}", f"{one.needed}/{one.trials}", str(one.attempts)),
            *(f"{100 * one.passes:.2f}", f"{100 * (1 - one.passes):.2f}"),
        ]
        for one in rates
    ]
    return Table("Who passes", headers, rows, labels=2)


def as_records(rates: list[PassRate]) -> list[dict[str, Any]]:
    return [one._asdict() | {"fails": 1 - one.passes} for one in rates]
