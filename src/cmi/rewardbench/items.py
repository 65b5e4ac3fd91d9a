"""Benchmark items: a take that people rated, or a pair of takes that they compared.

Every data set is read into these (`cmi.rewardbench.data`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cmi._util.errors import InputError
from cmi.take import Audio, Axis, Choice, Prompt, Take


class Vote(NamedTuple):
    """Which take of a pair was preferred, with a confidence from 1 to 5 (None if not asked)."""

    choice: Choice
    confidence: float | None = None


@dataclass(frozen=True)
class RatedItem:
    """One row of a data set.

    `id` is unique in its data set. `about` holds known properties as text, for analyses: `month` ('2025-08'),
    `generator_a`, `generator_b` (`generator` of a rated take), `rater`, `split`, `prompt_id`, `question`. Intervals
    resample items by prompt, or by `cluster` if it is stated, and also by `cluster_b`, for pairs of two rated pieces
    that both occur in other pairs.

    Both takes of a pair answer `prompt`, unless the second one has an `other_prompt`.
    """

    id: str
    dataset: str
    prompt: Prompt
    takes: tuple[Audio, ...]
    ratings: Mapping[Axis, float] = field(default_factory=dict, hash=False)
    votes: Mapping[Axis, Vote] = field(default_factory=dict, hash=False)
    about: Mapping[str, str] = field(default_factory=dict, hash=False)
    other_prompt: Prompt | None = None

    def __post_init__(self) -> None:
        if len(self.takes) not in (1, 2) or bool(self.ratings) == bool(self.votes) or self.is_pair != bool(self.votes):
            raise InputError(f"item {self.id!r}: expected one take with ratings, or two with votes")

    @property
    def is_pair(self) -> bool:
        return len(self.takes) == 2

    @property
    def asked(self) -> tuple[Take, ...]:
        """The takes with their prompts, as a scorer gets them."""
        prompts = (self.prompt, self.prompt if self.other_prompt is None else self.other_prompt)
        return tuple(Take(prompt, audio) for prompt, audio in zip(prompts, self.takes, strict=False))

    @property
    def cluster(self) -> str:
        """What intervals resample together: by default the prompt, its id if the text is unknown, else the item."""
        if "cluster" in self.about:
            return "\n".join((self.dataset, self.about["cluster"]))
        if self.prompt == Prompt():
            return "\n".join((self.dataset, self.about.get("prompt_id", self.id)))
        reference = "" if self.prompt.reference is None else str(self.prompt.reference)
        return "\n".join((self.dataset, self.prompt.text, self.prompt.lyrics, reference))

    @property
    def other_cluster(self) -> str | None:
        """A second cluster that the item belongs to, or None."""
        return "\n".join((self.dataset, self.about["cluster_b"])) if "cluster_b" in self.about else None
