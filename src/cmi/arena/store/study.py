"""A project's settings and their defaults."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

from cmi._util.errors import InputError

MOST = 1_000_000  # votes of a person, or of a pair
LONGEST = 3600.0  # seconds of a take that may have to be heard
LANGUAGES = ("en", "zh")


@dataclass(frozen=True)
class Study:
    """Settings of a study.

    quota            votes per person, hidden ones included; None: no limit
    overlap_share    share of the pairs of each modality that several people vote on
    overlap_votes    how many people vote on those
    gold_share       share of a person's views that are gold pairs, as far as there are any
    repeat_share     share of a person's views that repeat an earlier pair with the takes swapped
    heard_share      share of each take that must be heard before a vote
    heard_most       limit for that, in seconds
    level_matched    play takes equally loud
    language         of the page, unless the annotator chooses another
    seed             determines, with the ids, which pairs overlap and in which order all pairs come
    """

    quota: int | None = None
    overlap_share: float = 0.2
    overlap_votes: int = 2
    gold_share: float = 0.05
    repeat_share: float = 0.05
    heard_share: float = 0.5
    heard_most: float = 30.0
    level_matched: bool = False
    language: str = "en"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.quota is not None:
            _whole("quota", self.quota, 1, MOST)
        _whole("overlap_votes", self.overlap_votes, 1, MOST)
        _whole("seed", self.seed, 0, 2**53)
        for name in ("overlap_share", "gold_share", "repeat_share", "heard_share"):
            _number(name, getattr(self, name), 1.0)
        _number("heard_most", self.heard_most, LONGEST)
        if not isinstance(self.level_matched, bool):
            raise InputError(f"the setting level_matched is {self.level_matched!r}, expected true or false")
        if self.language not in LANGUAGES:
            raise InputError(f"the setting language is {self.language!r}, expected {' or '.join(LANGUAGES)}")

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """The defaults changed by `given`; InputError for an unknown name or a value out of range."""
        return cls().changed(given)

    def changed(self, given: Mapping[str, Any]) -> Self:
        known = [field.name for field in fields(self)]
        for name in given:
            if name not in known:
                raise InputError(f"unknown setting {name!r}; known settings: {', '.join(known)}")
        return replace(self, **given)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def needed(self, seconds: float) -> float:
        """Seconds of a take that must be heard."""
        return min(self.heard_share * seconds, self.heard_most)


def _whole(name: str, value: object, least: int, most: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InputError(f"the setting {name} is {value!r}, expected a whole number from {least} to {most}")


def _number(name: str, value: object, most: float) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= most:  # false for NaN
        raise InputError(f"the setting {name} is {value!r}, expected a number from 0 to {most:g}")
