"""What the benchmark asks: a take that people rated, or a pair of takes of which they preferred one.

Every data set is read into these (`cmi.rewardbench.data`), whatever its own layout; the tasks, the runner and the
analyses know nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cmi._util.errors import InputError
from cmi.take import Audio, Axis, Choice, Prompt, Take


class Vote(NamedTuple):
    """Which take of a pair was preferred, and how surely (1 to 5; None where not asked)."""

    choice: Choice
    confidence: float | None = None


@dataclass(frozen=True)
class Item:
    """One row of a data set.

    `id` is unique in its data set. `about` holds what analyses group by, as text, absent where not known: `month`
    ('2025-08'), `generator_a`, `generator_b` (`generator` of a rated take), `rater`, `split`, `prompt_id`, `question`.
    `cluster` names what intervals resample together if that is not the prompt, and `cluster_b` what they resample
    beside it: of two pieces that one listener rated, each occurs in other pairs too.

    Both takes of a pair answer `prompt`, unless `other_prompt` is what the second one answers.
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
        """Its takes, each under its prompt: what a scorer is given."""
        prompts = (self.prompt, self.prompt if self.other_prompt is None else self.other_prompt)
        return tuple(Take(prompt, audio) for prompt, audio in zip(prompts, self.takes, strict=False))

    @property
    def cluster(self) -> str:
        """Items of one prompt are not independent: intervals resample them together.

        Where the prompt is not given (MusicEval), its id in the data set tells; else the item stands for itself.
        """
        if "cluster" in self.about:
            return "\n".join((self.dataset, self.about["cluster"]))
        if self.prompt == Prompt():
            return "\n".join((self.dataset, self.about.get("prompt_id", self.id)))
        reference = "" if self.prompt.reference is None else str(self.prompt.reference)
        return "\n".join((self.dataset, self.prompt.text, self.prompt.lyrics, reference))

    @property
    def other_cluster(self) -> str | None:
        """A second thing that it shares with other items, None if there is none."""
        return "\n".join((self.dataset, self.about["cluster_b"])) if "cluster_b" in self.about else None
