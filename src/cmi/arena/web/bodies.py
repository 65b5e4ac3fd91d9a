"""Request bodies: each field with its type and limits; other fields are refused."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints


def _without_nul(text: str) -> str:
    if "\x00" in text:
        raise ValueError("a NUL character is not text")
    return text


def _yes(answer: bool) -> bool:
    if not answer:
        raise ValueError("this must be agreed to")
    return answer


Yes = Annotated[bool, AfterValidator(_yes)]
Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Token = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{8,128}$")]
Side = Literal["a", "b"]
Role = Literal["owner", "observer", "annotator"]
Seconds = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]
Quota = Annotated[int, Field(ge=1, le=1_000_000)]


Text = Annotated[str, AfterValidator(_without_nul)]
Name = Annotated[Text, Field(max_length=100)]
Title = Annotated[Text, Field(min_length=1, max_length=200)]
System = Annotated[Text, Field(min_length=1, max_length=200)]
Feedback = Annotated[Text, Field(max_length=4000)]
Instruction = Annotated[Text, Field(max_length=4000)]
Lyrics = Annotated[Text, Field(max_length=8000)]
Consent = Annotated[Text, Field(max_length=20_000)]
ProjectSettings = dict[str, bool | int | float | str | None]  # the store knows which there are, and their bounds


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class InviteToken(Body):
    token: Token


class Join(Body):
    token: Token
    name: Name | None = None
    consent: Yes


class Confirm(Body):
    confirm: Yes


class AnswerBody(Body):
    choice: Side
    confidence: Annotated[int, Field(ge=1, le=5)]


class HeardBody(Body):
    a: Seconds
    b: Seconds


class VoteBody(Body):
    alignment: AnswerBody
    musicality: AnswerBody
    feedback: Feedback = ""
    heard: HeardBody


class ProjectChange(Body):
    title: Title | None = None
    state: Literal["open", "paused", "closed"] | None = None
    consent: Consent | None = None
    settings: ProjectSettings = Field(default_factory=dict)


class NewProject(Body):
    title: Title
    consent: Consent = ""
    settings: ProjectSettings = Field(default_factory=dict)


class PersonChange(Body):
    state: Literal["active", "paused"] | None = None
    quota: Quota | None = None


class NewInvites(Body):
    role: Role = "annotator"
    count: Annotated[int, Field(ge=1, le=200)] = 1
    days: Annotated[float, Field(gt=0, le=365, allow_inf_nan=False)] = 14.0
    quota: Quota | None = None


class NewPairBody(Body):
    text: Instruction
    lyrics: Lyrics = ""
    reference: Id | None = None
    a: Id
    b: Id
    system_a: System
    system_b: System
