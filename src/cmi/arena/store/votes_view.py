"""The vote as statistics and exports see it: the latest row of one view, with what it needs of its pair."""

from typing import Literal, NamedTuple

Side = Literal["a", "b"]


class CountedVote(NamedTuple):
    """One vote that counts.

    Choices are in the pair's own a and b, whichever take the annotator was shown first: ``swapped`` says that b was.
    ``gold`` holds the known answer per axis (either axis may be absent) of a pair of kind ``gold``. ``repeat_of`` is
    the view that a hidden repeat shows again. Loudness is integrated (LUFS), ``None`` where it could not be measured.
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
