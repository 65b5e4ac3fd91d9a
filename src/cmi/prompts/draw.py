"""Choose prompts by quota: a number for each modality, and a share of vocal ones. The same seed gives the same choice.

A prompt that has the wanted modality is taken as it is. What is missing is composed: prompts that have less get lyrics,
a reference or both. Nothing is taken away from a prompt. Each lyrics file and each reference is used once; if there are
too few, each modality gets its part of them.

Order        By a hash of seed, source and id, so that new prompts change little of what was chosen before.
Vocal        A prompt with lyrics is vocal. Others are what their file says (`vocals`), else what their words say, else
             they become whatever the share still lacks. Lyrics are not given to instrumental prompts.
"""

import hashlib
import math
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from cmi._util.errors import InputError
from cmi.take import Modality, PromptRow

MODALITIES: tuple[Modality, ...] = get_args(Modality)
# CMI-Pref-Pseudo, section 3.1.2 of the paper: shares of its generations.
PAPER: dict[Modality, float] = {"text": 44.8, "text+lyrics": 19.8, "text+audio": 17.0, "text+lyrics+audio": 18.3}
_INSTRUMENTAL = re.compile(
    r"\b(instrumentals?|(no|without|lacks?|non)[- ](any )?(vocals?|voices?|sing(er|ers|ing)|lyrics))\b", re.IGNORECASE
)
_VOCAL = re.compile(
    r"\b(vocals?|vocalists?|voices?|sing(s|er|ers|ing)?|sung|choirs?|rap(s|per|ping)?)\b", re.IGNORECASE
)

Addition = Literal["lyrics", "reference"]
# First the prompts that say whether they are vocal, then those that do not, then any, whatever becomes of the share.
Stage = Literal["stated", "unstated", "any"]
STAGES: tuple[Stage, ...] = get_args(Stage)
# What a prompt of one modality needs to become one of another, in the order in which they are used.
BECOMES: dict[Modality, dict[Modality, tuple[Addition, ...]]] = {
    "text": {"text": ()},
    "text+lyrics": {"text+lyrics": (), "text": ("lyrics",)},
    "text+audio": {"text+audio": (), "text": ("reference",)},
    "text+lyrics+audio": {
        "text+lyrics+audio": (),
        "text+lyrics": ("reference",),
        "text+audio": ("lyrics",),
        "text": ("lyrics", "reference"),
    },
}

NAMES: dict[Addition, str] = {"lyrics": "lyrics", "reference": "references"}
HAVING: dict[Addition, tuple[Modality, ...]] = {
    "lyrics": ("text+lyrics", "text+lyrics+audio"),
    "reference": ("text+audio", "text+lyrics+audio"),
}


def parse_quota(text: str, total: int | None) -> dict[Modality, int]:
    """Return how many prompts of each modality are wanted; with a total, the numbers are shares of it.

    >>> parse_quota("text=3,text+lyrics=1", 100)
    {'text': 75, 'text+lyrics': 25}
    """
    if text == "paper" and total is None:
        raise InputError("--quota paper gives shares; set the number of prompts with --total")
    shares = PAPER if text == "paper" else dict(map(_parse_share, text.split(",")))
    if total is not None:
        return apportion(shares, total)
    broken = next((share for share in shares.values() if share != int(share)), None)
    if broken is not None:
        raise InputError(f"--quota {text}: {broken:g} is not a whole number of prompts; with --total it is a share")
    return {modality: int(share) for modality, share in shares.items()}


def _parse_share(part: str) -> tuple[Modality, float]:
    name, _, number = part.partition("=")
    modality = next((one for one in MODALITIES if set(one.split("+")) == set(name.strip().split("+"))), None)
    try:
        share = float(number)
    except ValueError:
        share = -1.0
    if modality is None or not 0 <= share < 1e9:
        raise InputError(f"--quota: {part!r}, expected 'paper' or MODALITY=NUMBER with one of {', '.join(MODALITIES)}")
    return modality, share


def apportion(shares: Mapping[Modality, float], total: int) -> dict[Modality, int]:
    """Divide a total in proportion to shares, by largest remainders."""
    whole = sum(shares.values())
    if whole <= 0:
        return dict.fromkeys(shares, 0)
    exact = {name: total * share / whole for name, share in shares.items()}
    found = {name: int(value) for name, value in exact.items()}
    for name in sorted(exact, key=lambda name: found[name] - exact[name])[: total - sum(found.values())]:
        found[name] += 1
    return found


def says_vocal(text: str) -> bool | None:
    """Tell from its words whether a description asks for a voice; None if it does not say.

    >>> says_vocal("a female singer"), says_vocal("no vocals, only strings"), says_vocal("slow piano")
    (True, False, None)
    """
    return False if _INSTRUMENTAL.search(text) else True if _VOCAL.search(text) else None


@dataclass
class PromptCandidates:
    """What the choice depends on, for each prompt in the order of the sources: about 16 bytes each."""

    seed: int = 0
    modalities: "array[int]" = field(default_factory=lambda: array("b"))
    vocals: "array[int]" = field(default_factory=lambda: array("b"))  # 1, 0, or -1 for unknown
    ranks: "array[int]" = field(default_factory=lambda: array("Q"))

    def add(self, key: str, row: PromptRow) -> None:
        stated = row.vocals if row.vocals is not None else True if row.prompt.lyrics else says_vocal(row.prompt.text)
        self.modalities.append(MODALITIES.index(row.prompt.modality))
        self.vocals.append(-1 if stated is None else int(stated))
        name = f"{self.seed} {key}".encode("utf-8", "surrogatepass")
        self.ranks.append(int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "big"))


class ChosenPrompt(NamedTuple):
    """A chosen prompt, and the parts that it is given."""

    modality: Modality
    gets: tuple[Addition, ...] = ()
    vocals: bool | None = None  # None: as it came


@dataclass
class PromptChoice:
    """The chosen prompts by their place in the sources, and what could not be met, in sentences."""

    wanted: dict[Modality, int]
    chosen: dict[int, ChosenPrompt] = field(default_factory=dict)
    short: list[str] = field(default_factory=list)


class Supply(NamedTuple):
    """How many lyrics and references are available; None means unlimited."""

    lyrics: int | None = 0
    reference: int | None = 0


def choose(
    candidates: PromptCandidates,
    usable: Sequence[bool],
    wanted: Mapping[Modality, int] | None,
    total: int | None,
    supply: Supply,
    vocal_share: float | None,
) -> PromptChoice:
    """Choose prompts; without `wanted`, all usable ones or, in proportion, `total` of them."""
    pools: dict[Modality, list[int]] = {modality: [] for modality in MODALITIES}
    for row in sorted((row for row, is_usable in enumerate(usable) if is_usable), key=candidates.ranks.__getitem__):
        pools[MODALITIES[candidates.modalities[row]]].append(row)
    if wanted is None:
        counts = {modality: len(rows) for modality, rows in pools.items() if rows}
        wanted = counts if total is None else apportion(counts, min(total, sum(counts.values())))
    draw = _Draw(candidates.vocals, pools, supply, PromptChoice(dict(wanted)))
    targets = _vocal_targets(wanted, vocal_share)
    draws = {name: _Wanted(wanted[name], targets.get(name)) for name in MODALITIES if name in wanted}
    for shares in (draw.share_supply(wanted), None):  # first to each modality its part, then what is left to any
        for modality, still in draws.items():
            draw.fill(modality, still, shares)
    for modality, still in draws.items():
        draw.note_missing(modality, still)
    if vocal_share is not None:
        draw.note_vocal_share(vocal_share)
    return draw.choice


def _vocal_targets(wanted: Mapping[Modality, int], share: float | None) -> dict[Modality, int]:
    """Return how many prompts without lyrics should be vocal, by modality."""
    if share is None:
        return {}
    without = {name: count for name, count in wanted.items() if "lyrics" not in name}
    sung = sum(wanted.values()) - sum(without.values())
    left = max(0, round(share * sum(wanted.values())) - sung)
    return apportion(without, min(left, sum(without.values())))


def _take_as(stated: int, left: Mapping[bool, int], stage: Stage) -> bool | None:
    """Return whether a prompt is taken as vocal or as instrumental at this stage; None if it is not taken."""
    if stated < 0:
        return None if stage == "stated" else left[True] > 0
    return bool(stated) if stage == "any" or (stage == "stated" and left[bool(stated)] > 0) else None


class _Wanted:
    """How many prompts of a modality are still wanted; `left` says how many of them vocal and instrumental."""

    def __init__(self, count: int, vocal: int | None) -> None:
        self.count, self.missing = count, count
        self.left = None if vocal is None else {True: vocal, False: count - vocal}


class _Draw:
    def __init__(
        self, vocals: Sequence[int], pools: Mapping[Modality, list[int]], supply: Supply, choice: PromptChoice
    ) -> None:
        self.choice = choice
        self._vocals, self._pools = vocals, pools
        self._supply: dict[Addition, float] = {
            "lyrics": math.inf if supply.lyrics is None else supply.lyrics,
            "reference": math.inf if supply.reference is None else supply.reference,
        }

    def share_supply(self, wanted: Mapping[Modality, int]) -> dict[Modality, dict[Addition, float]]:
        """Divide lyrics and references among modalities, in proportion to what each lacks."""
        shares: dict[Modality, dict[Addition, float]] = {name: {} for name in wanted}
        for part, needing in HAVING.items():
            lacks = {name: max(0, wanted[name] - len(self._pools[name])) for name in needing if name in wanted}
            most = sum(lacks.values())
            for name, share in apportion(lacks, int(min(most, self._supply[part]))).items():
                shares[name][part] = share
        return shares

    def fill(self, modality: Modality, still: _Wanted, shares: Mapping[Modality, dict[Addition, float]] | None) -> None:
        """Choose prompts of a modality; `shares` limits what they are given."""
        gets_lyrics = "lyrics" in modality
        limits = [self._supply] if shares is None else [self._supply, shares[modality]]
        for stage in STAGES[-1:] if still.left is None else STAGES:
            for row, gets in self._rows(modality, limits):
                if not still.missing:
                    return
                if row in self.choice.chosen or (gets_lyrics and gets and self._vocals[row] == 0):
                    continue
                sings: bool | None = True if gets_lyrics else None
                if still.left is not None:
                    sings = _take_as(self._vocals[row], still.left, stage)
                    if sings is None:
                        continue
                    still.left[sings] -= 1
                self.choice.chosen[row] = ChosenPrompt(modality, gets, sings)
                still.missing -= 1
                for limit in limits:
                    for part in gets:
                        limit[part] -= 1

    def _rows(
        self, modality: Modality, limits: Sequence[Mapping[Addition, float]]
    ) -> Iterator[tuple[int, tuple[Addition, ...]]]:
        for origin, gets in BECOMES[modality].items():
            for row in self._pools[origin]:
                if any(limit[part] <= 0 for limit in limits for part in gets):
                    break
                yield row, gets

    def note_missing(self, modality: Modality, still: _Wanted) -> None:
        if still.missing:
            got = f"{still.count - still.missing:,} of {still.count:,} prompts"
            self.choice.short.append(f"{modality}: {got}, because {self._reason(modality)}")

    def _reason(self, modality: Modality) -> str:
        lacks = [part for part, having in HAVING.items() if modality in having and self._supply[part] <= 0]
        missing = [f"there are no more {NAMES[part]}" for part in lacks]
        return " and ".join(missing) or "the sources have no more that fit"

    def note_vocal_share(self, share: float) -> None:
        chosen = self.choice.chosen
        sung = sum(bool(one.vocals) for one in chosen.values())
        if chosen and abs(sung - share * len(chosen)) >= max(1, 0.01 * len(chosen)):
            self.choice.short.append(
                f"vocal: {sung:,} of {len(chosen):,} prompts ({sung / len(chosen):.2f}), wanted {share:g}"
            )
