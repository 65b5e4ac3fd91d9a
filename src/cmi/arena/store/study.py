"""What a project's owner can set, with what holds if nothing is said."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

from cmi._util.errors import InputError

MOST = 1_000_000  # votes of a person, or of a pair
LONGEST = 3600.0  # seconds of a take that may have to be heard
LANGUAGES = ("en", "zh")


@dataclass(frozen=True)
class Study:
    """How a study is run.

    quota            votes of a person, hidden ones included; None: as many as there are pairs
    overlap_share    of the pairs of each modality are voted on by several people
    overlap_votes    how many people those get
    gold_share       of a person's views are pairs whose answer is known, as far as there are any
    repeat_share     of a person's views show an earlier pair again, with the takes swapped
    heard_share      of each take that must be heard before a vote; 0 for none of it
    heard_most       seconds of a take that must be heard at most
    level_matched    takes are played equally loud
    language         of the page, until the annotator chooses another
    seed             decides, with the ids, which pairs overlap, which come first, and where hidden ones come
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
        """The defaults with what is given; InputError for a name that is no setting or a value out of range."""
        return cls().changed(given)

    def changed(self, given: Mapping[str, Any]) -> Self:
        known = [field.name for field in fields(self)]
        for name in given:
            if name not in known:
                raise InputError(f"{name!r} is no setting; there are {', '.join(known)}")
        return replace(self, **given)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def needed(self, seconds: float) -> float:
        """How many seconds of a take that long must be heard."""
        return min(self.heard_share * seconds, self.heard_most)


def _whole(name: str, value: object, least: int, most: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InputError(f"the setting {name} is {value!r}, expected a whole number from {least} to {most}")


def _number(name: str, value: object, most: float) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= most:  # NaN is not either
        raise InputError(f"the setting {name} is {value!r}, expected a number from 0 to {most:g}")
