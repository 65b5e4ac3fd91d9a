"""A study without its database: its settings, and its votes as the statistics see them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field

from cmi._util.config import check_config

MOST = 1_000_000  # votes of a person, or of a pair

Side = Literal["a", "b"]
Votes = Annotated[int, Field(ge=1, le=MOST)]
Portion = Annotated[float, Field(ge=0, le=1)]


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
    require_reference    the reference recording must be heard like a take, before a vote
    language         of the page, unless the annotator chooses another
    seed             determines, with the ids, which pairs overlap and in which order all pairs come
    """

    quota: Votes | None = None
    overlap_share: Portion = 0.2
    overlap_votes: Votes = 2
    gold_share: Portion = 0.05
    repeat_share: Portion = 0.05
    heard_share: Portion = 0.5
    heard_most: Annotated[float, Field(ge=0, le=3600)] = 30.0
    level_matched: bool = False
    require_reference: bool = False
    language: Literal["en", "zh"] = "en"
    seed: Annotated[int, Field(ge=0, le=2**53)] = 0

    def changed(self, given: Mapping[str, Any]) -> Self:
        """These settings changed by `given`; InputError for an unknown name or a value out of range."""
        return check_config({**asdict(self), **given}, type(self), "the settings")

    def needed(self, seconds: float) -> float:
        """Seconds of a take that must be heard."""
        return min(self.heard_share * seconds, self.heard_most)

    def needed_reference(self, seconds: float | None) -> float:
        """Seconds of the reference recording that must be heard; `seconds` is None if the pair has none."""
        return self.needed(seconds) if self.require_reference and seconds is not None else 0.0


class CountedVote(NamedTuple):
    """The latest vote of one view, with the needed columns of its pair.

    Choices are in terms of the pair's own a and b; ``swapped`` says that b was shown first. ``gold`` holds the known
    answers by axis of a gold pair. ``repeat_of`` is the view that a hidden repeat shows again. Loudness is in LUFS,
    ``None`` if it could not be measured. A confidence that the voter did not set has ``..touched`` False; it is None in
    votes that were given before this was stored.
    """

    view: str
    person: str
    pair: str
    kind: str
    gold: dict[str, str] | None
    modality: str
    system_a: str
    system_b: str
    alignment: Side
    alignment_confidence: int
    musicality: Side
    musicality_confidence: int
    seconds: float
    created: float
    swapped: bool
    repeat_of: str | None
    seconds_a: float
    seconds_b: float
    lufs_a: float | None
    lufs_b: float | None
    alignment_touched: bool | None = None
    musicality_touched: bool | None = None
