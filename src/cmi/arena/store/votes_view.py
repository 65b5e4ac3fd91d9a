"""A vote as the statistics see it, without the database."""

from typing import Literal, NamedTuple

Side = Literal["a", "b"]


class CountedVote(NamedTuple):
    """The latest vote of one view, with the needed columns of its pair.

    Choices are in terms of the pair's own a and b; ``swapped`` says that b was shown first. ``gold`` holds the known
    answers by axis of a gold pair. ``repeat_of`` is the view that a hidden repeat shows again. Loudness is in LUFS,
    ``None`` if it could not be measured.
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
