"""Request and response bodies: JSON by pydantic, and the fields of a multipart form."""

import base64
import binascii
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from cmi._util.decode import HIGHEST_RATE, LOWEST_RATE
from cmi._util.errors import HttpRefusal
from cmi.audio import Waveform

MOST_TAKES = 256  # in a request
MOST_CHARACTERS = 200_000  # of a text, as the reward models read
SAMPLE = np.dtype("<f4")

Text = Annotated[str, StringConstraints(max_length=MOST_CHARACTERS)]
TakeId = Annotated[str, StringConstraints(max_length=1000)]
Rate = Annotated[int, Field(ge=LOWEST_RATE, le=HIGHEST_RATE, description="Hertz.", strict=True)]
Samples = Annotated[str, Field(description="Mono, 32-bit float, little-endian, in base64.")]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SoundBody(_Body):
    """A recording: its samples with their rate, or a path below a folder that the server allows."""

    samples: Samples | None = None
    rate: Rate | None = None
    path: Annotated[str, StringConstraints(min_length=1, max_length=4096)] | None = None
    generator: Annotated[TakeId, Field(description="Generator of the take, for the calibration of its scores.")] = ""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.samples is None) == (self.path is None) or (self.samples is None) != (self.rate is None):
            raise ValueError("expected samples with their rate, or a path")
        return self


class PromptBody(_Body):
    text: Text = ""
    lyrics: Text = ""
    reference: SoundBody | None = None


class TakeBody(PromptBody):
    """One take under its prompt."""

    audio: SoundBody
    id: TakeId | None = None


class ScoreBody(PromptBody):
    """One take under its prompt, or several under `takes`, each with its own."""

    audio: SoundBody | None = None
    id: TakeId | None = None
    takes: Annotated[list[TakeBody], Field(min_length=1, max_length=MOST_TAKES)] | None = None

    @model_validator(mode="after")
    def _one_or_several(self) -> Self:
        if (self.audio is None) == (self.takes is None):
            raise ValueError("expected audio, or takes that have audio each")
        if self.takes is not None and self.model_fields_set != {"takes"}:
            raise ValueError("expected text, lyrics, reference and id within each of the takes")
        return self

    def all_takes(self) -> list[TakeBody]:
        if self.takes is not None:
            return self.takes
        assert self.audio is not None
        return [TakeBody(audio=self.audio, text=self.text, lyrics=self.lyrics, reference=self.reference, id=self.id)]


class CompareBody(PromptBody):
    """Two takes of one prompt."""

    a: SoundBody
    b: SoundBody


class RankBody(PromptBody):
    """Several takes of one prompt."""

    takes: Annotated[list[SoundBody], Field(min_length=1, max_length=MOST_TAKES)]
    by: Literal["overall", "musicality", "alignment"] = "overall"


class VerlBody(BaseModel):
    """A request of verl-omni's audio reward, version 1. Of the metadata, texts `lyrics` and `generator` are used."""

    protocol_version: Literal["1"]
    waveform_f32_base64: Samples
    num_samples: Annotated[int, Field(ge=1, strict=True)]
    sample_rate: Rate
    prompt: Text = ""
    metadata: dict[str, Any] = {}


class TakeScore(BaseModel):
    """A take's scores: higher is better. `overall` is the mean of the axes that the model knows."""

    id: str | None = None
    musicality: float
    alignment: float
    overall: float
    seconds: Annotated[float | None, Field(description="Seconds that were scored.")] = None
    notes: list[str] = []


class FailedTake(BaseModel):
    """A take that could not be scored, in a response with others that could."""

    id: str | None = None
    error: str


class JudgedBy(BaseModel):
    """The fields about the model in every response."""

    model: str
    validated_on: Annotated[str | None, Field(description="What the model was validated on, if it comes with cmi.")] = (
        None
    )


class ScoreAnswer(JudgedBy):
    takes: list[TakeScore | FailedTake]


class CompareAnswer(JudgedBy):
    """Probabilities that `a` is preferred: the logistic function of the difference of scores."""

    musicality: float
    alignment: float
    overall: float
    preferred: Literal["a", "b", "tie"]
    a: TakeScore
    b: TakeScore


class RankedTake(TakeScore):
    index: Annotated[int, Field(description="The take's place in the request, from 0.")]


class RankAnswer(JudgedBy):
    ranking: Annotated[list[RankedTake], Field(description="Best first.")]


class VerlAnswer(BaseModel):
    """Finite numbers alone, as verl-omni wants; the header X-CMI-Validated-On says what the model was validated on."""

    score: float
    musicality: float
    alignment: float
    seconds: float
    noted: Annotated[int, Field(description="1 if /score would add notes: too short, cut off, or not music.")]


class RefusalBody(BaseModel):
    code: Annotated[str, Field(description="Stable error code.")]
    message: Annotated[str, Field(description="Error message.")]


def decode_samples(encoded: str, rate: int, where: str) -> Waveform:
    """The waveform in a request; InputError if it has no samples, or samples that are not numbers."""
    try:
        raw = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise HttpRefusal("sound", f"{where}: samples are not valid base64", 422) from error
    if len(raw) % SAMPLE.itemsize:
        raise HttpRefusal("sound", f"{where}: {len(raw)} bytes are not whole 32-bit samples", 422)
    return Waveform(np.frombuffer(raw, SAMPLE).astype(np.float32), rate)
