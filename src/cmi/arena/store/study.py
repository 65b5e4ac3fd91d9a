"""A study without its database: its settings, and its votes as the statistics see them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field

from cmi._util.config import check_config
from cmi._util.errors import InputError
from cmi.arena.store.exits import ExitAddress, ParameterName, ParameterNames

MOST = 1_000_000  # votes of a person, or of a pair

Side = Literal["a", "b"]
ProjectKind = Literal["pairs", "mos", "mushra", "ranking"]  # what annotators do; see cmi.arena.store.trials
Votes = Annotated[int, Field(ge=1, le=MOST)]
Portion = Annotated[float, Field(ge=0, le=1)]


def modality_of(lyrics: str, reference: object) -> str:
    """The parts of a prompt; text is always named, even if it is empty."""
    return "+".join(["text", *["lyrics"] * bool(lyrics), *["audio"] * bool(reference)])


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
    margin           precision that the owner wants, as a share of votes: see cmi.arena.statistics.needed
    uncertain_first  ask first about systems whose order is least certain, rather than at random
    language         of the page, unless the annotator chooses another
    seed             determines, with the ids, which pairs overlap and in which order all pairs come

    For people from recruiting platforms; cmi.arena.store.recruit says who gets in:
    participant          the parameter of a link that names the participant; '': only invitations let people in
    proof                the parameter that only that participant's own link has; '': there is none
    parameters           further parameters to store, separated by commas
    signed_only          only links that we have signed let people in
    exit_complete, exit_screened_out, exit_returned    where people go at the end: an address, or a code
    device_check, headphone_check    sound checks before the first pair
    check_attempts       at each of them
    qualify_pairs        gold pairs before the first pair of the study; 0: none
    qualify_right        how many of them must be right
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
    margin: Annotated[float, Field(ge=0.001, le=0.4)] = 0.05
    uncertain_first: bool = False
    language: Literal["en", "zh"] = "en"
    seed: Annotated[int, Field(ge=0, le=2**53)] = 0
    participant: ParameterName = ""
    proof: ParameterName = ""
    parameters: ParameterNames = ""
    signed_only: bool = False
    exit_complete: ExitAddress = ""
    exit_screened_out: ExitAddress = ""
    exit_returned: ExitAddress = ""
    device_check: bool = False
    headphone_check: bool = False
    check_attempts: Annotated[int, Field(ge=1, le=20)] = 2
    qualify_pairs: Annotated[int, Field(ge=0, le=1000)] = 0
    qualify_right: Annotated[int, Field(ge=0, le=1000)] = 0

    def changed(self, given: Mapping[str, Any]) -> Self:
        """These settings changed by `given`; InputError for an unknown name or a value out of range."""
        found = check_config({**asdict(self), **given}, type(self), "the settings")
        if not min(1, found.qualify_pairs) <= found.qualify_right <= found.qualify_pairs:
            raise InputError(
                f"the settings: qualify_right is {found.qualify_right}, expected 1 to qualify_pairs "
                f"({found.qualify_pairs}), and 0 without a qualification"
            )
        if found.proof and found.participant in ("", found.proof):
            raise InputError(
                f"the settings: proof is {found.proof!r}, expected another parameter than participant "
                f"({found.participant!r}), which must be set too"
            )
        return found

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
