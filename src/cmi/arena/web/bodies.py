"""Request bodies: each field with its type and limits; other fields are refused."""

from typing import Annotated, Literal

from fastapi import Path
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from cmi.arena.store.browse import PairFilter, PairOrder, VoteFilter, VoteOrder
from cmi.arena.store.browse_trials import RatingFilter, TrialFilter, TrialOrder
from cmi.arena.store.checks import CHOICES, TRIALS
from cmi.arena.store.people import Role
from cmi.arena.store.projects import State
from cmi.arena.store.study import Side, Votes


def _without_nul(text: str) -> str:
    if "\x00" in text:
        raise ValueError("a NUL character is not text")
    return text


def _yes(answer: bool) -> bool:
    if not answer:
        raise ValueError("this must be agreed to")
    return answer


Yes = Annotated[bool, AfterValidator(_yes)]  # Literal[True] would take 1 too
Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
PathId = Annotated[Id, Path()]
Token = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{8,128}$")]
Seconds = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]
Text = Annotated[str, AfterValidator(_without_nul)]
ShortText = Annotated[Text, Field(min_length=1, max_length=200)]
LongText = Annotated[Text, Field(max_length=4000)]
Consent = Annotated[Text, Field(max_length=20_000)]
ProjectSettings = dict[str, bool | int | float | str | None]  # the store knows which there are, and their bounds


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class InviteToken(Body):
    token: Token


class Join(InviteToken):
    name: Annotated[Text, Field(max_length=100)] | None = None
    consent: Yes


class LinkBody(Body):
    """The link of a recruiting platform: the study's token, and the other parameters as they stand in the address."""

    study: Token
    parameters: Annotated[
        dict[Annotated[Text, Field(max_length=100)], Annotated[Text, Field(max_length=1000)]], Field(max_length=50)
    ]


class EnterBody(LinkBody):
    consent: bool = False


class CheckAnswers(Body):
    answers: Annotated[list[Annotated[int, Field(ge=0, lt=CHOICES)]], Field(min_length=TRIALS, max_length=TRIALS)]
    volume: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None


class Confirm(Body):
    confirm: Yes


class AnswerBody(Body):
    choice: Side
    confidence: Annotated[int, Field(ge=1, le=5)]
    touched: bool | None = None


class HeardBody(Body):
    a: Seconds
    b: Seconds
    reference: Seconds = 0.0


class VoteBody(Body):
    alignment: AnswerBody
    musicality: AnswerBody
    feedback: LongText = ""
    heard: HeardBody


class ProjectChange(Body):
    title: ShortText | None = None
    state: State | None = None
    consent: Consent | None = None
    settings: ProjectSettings = Field(default_factory=dict)


class NewProject(Body):
    title: ShortText
    consent: Consent = ""
    settings: ProjectSettings = Field(default_factory=dict)


class PersonChange(Body):
    state: Literal["active", "paused"] | None = None
    quota: Votes | None = None


class NewInvites(Body):
    role: Role = "annotator"
    count: Annotated[int, Field(ge=1, le=200)] = 1
    days: Annotated[float, Field(gt=0, le=365, allow_inf_nan=False)] = 14.0
    quota: Votes | None = None


class NewPairBody(Body):
    text: LongText
    lyrics: Annotated[Text, Field(max_length=8000)] = ""
    reference: Id | None = None
    a: Id
    b: Id
    system_a: ShortText
    system_b: ShortText


class HideBody(Body):
    reason: Annotated[Text, Field(min_length=1, max_length=500)]


class ReplaceBody(HideBody):
    """The changes of a replaced pair; fields that are left out stay unchanged."""

    text: LongText | None = None
    lyrics: Annotated[Text, Field(max_length=8000)] | None = None
    reference: Id | None = None
    a: Id | None = None
    b: Id | None = None


Offset = Annotated[int, Field(ge=0, le=10_000_000)]
Limit = Annotated[int, Field(ge=1, le=500)]


class PairQuery(PairFilter):
    order: PairOrder = "position"
    after: Annotated[int, Field(ge=-1, le=2**31 - 1)] = -1
    offset: Offset = 0
    limit: Limit = 100


class VoteQuery(VoteFilter):
    order: VoteOrder = "newest"
    offset: Offset = 0
    limit: Limit = 100


class TrialQuery(TrialFilter):
    order: TrialOrder = "position"
    offset: Offset = 0
    limit: Limit = 100


class RatingQuery(RatingFilter):
    order: VoteOrder = "newest"
    offset: Offset = 0
    limit: Limit = 100


Flag = Annotated[bool, Field(strict=False)]


class ExportQuery(Body):
    gold: Flag = False
    repeats: Flag = False
    hidden: Flag = False
    split: Annotated[Text, Field(max_length=100)] = ""
