"""Best-of-N: pick the take of a prompt with the highest score.

Selection
    By the mean of musicality and alignment, as in the paper (CMI-RewardBench, 3.3.3), or by a weighted mean. Ties are
    broken by name, so that the order of the takes does not matter.

Broken takes
    A take that cannot be scored is listed with the reason and left out. A prompt without scored takes has no pick.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from filecmp import cmp as same_bytes
from pathlib import Path
from typing import NamedTuple

from cmi._util.errors import InputError
from cmi._util.files import copy_whole, make_folder
from cmi.reward.pick.candidates import Candidate, Group
from cmi.reward.scoring.scorers import ScoredTake
from cmi.take import Prompt, Score, Scorer, Take

Scores = Mapping[Take, ScoredTake | InputError]


class Weights(NamedTuple):
    """The weight of each axis; weights add up to 1."""

    musicality: float = 0.5
    alignment: float = 0.5

    def mean(self, score: Score) -> float:
        return self.musicality * score.musicality + self.alignment * score.alignment

    @property
    def description(self) -> str:
        if self == Weights():
            return "the mean of musicality and alignment"
        return f"{self.musicality:g} musicality + {self.alignment:g} alignment"


class Ranked(NamedTuple):
    candidate: Candidate
    score: Score
    mean: float  # by the weights
    notes: tuple[str, ...] = ()  # notes of the scorer, such as that the file is truncated

    @property
    def audio(self) -> Path:
        assert isinstance(self.candidate.take.audio, Path)
        return self.candidate.take.audio


class Broken(NamedTuple):
    candidate: Candidate
    reason: str


@dataclass(frozen=True)
class Pick:
    """A prompt's candidates, best first, and those that could not be scored."""

    group: Group
    ranking: tuple[Ranked, ...]
    broken: tuple[Broken, ...]

    @property
    def chosen(self) -> Ranked | None:
        return self.ranking[0] if self.ranking else None

    @property
    def prompt(self) -> Prompt:
        """The prompt of all takes; InputError if they have several."""
        prompts = {ranked.candidate.take.prompt for ranked in self.ranking}
        if len(prompts) > 1:
            raise InputError(f"{self.group.name}: its takes have {len(prompts)} different prompts, expected one")
        return prompts.pop()


def parse_weights(text: str) -> Weights:
    """Parse weights such as 'musicality=0.7,alignment=0.3' and normalise them; a missing axis has weight 0."""
    given: dict[str, float] = {}
    for part in text.split(","):
        axis, _, number = (piece.strip() for piece in part.partition("="))
        try:
            weight = float(number)
        except ValueError:
            weight = math.nan
        if axis not in Weights._fields or axis in given or not 0 <= weight < math.inf:
            raise InputError(f"--weights {text!r}: {part.strip()!r}, expected such as musicality=0.7,alignment=0.3")
        given[axis] = weight
    total = sum(given.values())
    if not total:
        raise InputError(f"--weights {text!r}: all are 0, expected one above 0")
    return Weights(*(given.get(axis, 0.0) / total for axis in Weights._fields))


def pick(group: Group, scores: Scores, weights: Weights) -> Pick:
    """Rank a prompt's candidates."""
    ranking, broken = [], []
    for candidate in group.candidates:
        scored = scores[candidate.take]
        if isinstance(scored, InputError):
            broken.append(Broken(candidate, str(scored)))
        else:
            ranking.append(Ranked(candidate, scored.score, weights.mean(scored.score), scored.notes))
    ranking.sort(key=lambda ranked: (-ranked.mean, ranked.candidate.name))
    return Pick(group, tuple(ranking), tuple(broken))


def pick_best(takes: Sequence[Take], scorer: Scorer, weights: Weights = Weights()) -> Take:  # noqa: B008
    """Return the take with the highest weighted mean of musicality and alignment, or the first of equal ones.

    >>> from pathlib import Path
    >>> from cmi.take import Prompt
    >>> class Longer:
    ...     def score(self, takes):
    ...         return [Score(len(take.audio.name), 0.0) for take in takes]
    >>> takes = [Take(Prompt("slow sad piano"), Path(name)) for name in ("one.wav", "three.wav", "two.wav")]
    >>> pick_best(takes, Longer()).audio.name
    'three.wav'
    """
    if not takes:
        raise InputError("no takes to pick from")
    scores = scorer.score(takes)
    return max(zip(takes, scores, strict=True), key=lambda scored: weights.mean(scored[1]))[0]


def takes_of(groups: Sequence[Group]) -> list[Take]:
    return [candidate.take for group in groups for candidate in group.candidates]


def copy_chosen(picks: Sequence[Pick], folder: Path) -> list[Path]:
    """Copy each chosen file to `folder` under its prompt's name, and return the copies.

    Nothing is overwritten: if another file of that name exists, InputError is raised before anything is copied. Copies
    are atomic.
    """
    wanted: dict[Path, Path] = {}
    for source, pick_ in [(ranked.audio, pick_) for pick_ in picks if (ranked := pick_.chosen)]:
        target = folder / f"{file_name(pick_.group.name)}{source.suffix}"
        if target in wanted:
            raise InputError(f"{target}: two prompts' takes would have this name; give them other groups")
        wanted[target] = source
    make_folder(folder)
    try:
        missing = {target: source for target, source in wanted.items() if not target.exists()}
        for target, source in wanted.items():
            if target not in missing and not same_bytes(source, target, shallow=False):
                raise InputError(f"{target}: not {source}; nothing was copied, choose another folder")
    except OSError as error:
        raise InputError(f"{error.filename or folder}: {error.strerror or error}") from error
    for target, source in missing.items():
        copy_whole(source, target)
    return list(wanted)


def file_name(group: str) -> str:
    """Return a prompt's name without the characters that file names cannot have."""
    return re.sub(r"[^\w.() -]+", "_", group).lstrip(".")[:100] or "_"
