"""From takes to pairs: check, filter, split, sample, choose sides, write.

A folder of pairs
    preferences.jsonl    a row for each pair: id, text, lyrics, reference, a, b, generator_a, generator_b, modality,
                         split; it has neither axis nor choice, so judges and arenas take it as pairs to be judged
    left_out.jsonl       the takes that were left out: audio, generator and reason
    report.json          the counts that the command prints

The same takes, options and seed give the same bytes. A pair's id follows from its prompt and its two recordings, so a
label of one run never belongs to other takes in another.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.cache import content_key
from cmi._util.errors import InputError
from cmi._util.files import write_whole
from cmi.pairs.checks import Checker
from cmi.pairs.filters import DroppedTake, Filtered, GoodTake, TakeLimits, filter_takes
from cmi.pairs.leaks import Trait, prompt_traits
from cmi.pairs.pool import TakePool
from cmi.pairs.sampling import (
    CandidatePair,
    Match,
    PairSampler,
    candidates_per_prompt,
    choose_sides,
    list_candidates,
)
from cmi.pairs.splits import MODALITIES, SplitPrompt, assign_splits
from cmi.pairs.uncertainty import weigh_matches
from cmi.preferences import NAME, SPLITS, Preference, normalise_text, write_rows
from cmi.report.tables import to_json, to_json_line
from cmi.take import Modality, Prompt, relative_path

PAIRS, LEFT_OUT, REPORT = f"{NAME}.jsonl", "left_out.jsonl", "report.json"


@dataclass(frozen=True)
class PairSettings:
    """How pairs are made; None means as many as possible."""

    pairs: int | None = None
    per_prompt: int | None = None
    same_system: bool = False
    shares: Mapping[str, float] = field(default_factory=lambda: SPLITS)
    hold_out: tuple[str, ...] = ()  # systems
    test_pairs: int | None = None
    limits: TakeLimits = field(default_factory=TakeLimits)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.test_pairs and "test" not in self.shares:
            raise InputError("--test-pairs needs a share of prompts for test in --split")
        if self.hold_out and "test" not in self.shares:
            raise InputError("--hold-out-system needs a share of prompts for test in --split")
        if self.pairs and self.test_pairs and self.test_pairs > self.pairs:
            raise InputError(f"--test-pairs {self.test_pairs} is more than --pairs {self.pairs}")

    def record(self) -> dict[str, Any]:
        """The settings as JSON."""
        return {**asdict(self), "hold_out": list(self.hold_out)}


class MadePair(NamedTuple):
    prompt: Prompt
    a: GoodTake
    b: GoodTake
    split: str


@dataclass(frozen=True)
class MadePairs:
    pairs: list[MadePair]
    prompts: int  # different ones
    takes: int  # read
    left_out: list[DroppedTake]
    possible: int  # pairs of takes that are left
    would_leak: int  # of them: the prompt's or the system's split is another
    settings: PairSettings


class _Identified(NamedTuple):
    """The pool's prompts by what is in them: equal ones have one number."""

    prompts: list[Prompt]
    traits: list[frozenset[Trait]]
    numbers: list[int | None]  # of the pool's prompts; None if the reference cannot be read


def make_pairs(
    pool: TakePool,
    settings: PairSettings,
    checker: Checker,
    votes: Iterable[Preference] | None = None,
    on_checked: Callable[[int, int], None] = lambda done, total: None,
) -> MadePairs:
    """Make pairs of the pool's takes; with votes, where the ranking that follows from them is least certain."""
    unknown = [name for name in settings.hold_out if name not in pool.systems]
    if unknown:
        names = ", ".join(name for name in pool.systems if name)
        raise InputError(f"--hold-out-system {unknown[0]}: no take is by that system; the systems are {names}")
    weights = None if votes is None else weigh_matches(votes, pool.systems)
    asked = _identify(pool.prompts, checker)
    files = checker.check_all(list(dict.fromkeys(take.path for take in pool.takes)), on_checked)
    numbers = [asked.numbers[take.prompt] for take in pool.takes]
    kept = filter_takes(pool.takes, numbers, files, checker, settings.limits)
    rng = random.Random(f"cmi.pairs {settings.seed}")  # noqa: S311
    return _sample(asked, kept, len(pool.takes), settings, weights, rng)


def _identify(prompts: Sequence[Prompt], checker: Checker) -> _Identified:
    references = [prompt.reference for prompt in prompts if isinstance(prompt.reference, Path)]
    digests = checker.digest_all(list(dict.fromkeys(references)))
    keys: list[tuple[str, str, str] | None] = []
    for prompt in prompts:
        digest = digests.get(prompt.reference, "") if isinstance(prompt.reference, Path) else ""
        is_lost = prompt.reference is not None and not digest
        keys.append(None if is_lost else (normalise_text(prompt.text), normalise_text(prompt.lyrics), digest))
    first = {key: prompt for key, prompt in zip(reversed(keys), reversed(prompts), strict=True) if key}
    numbers = {key: number for number, key in enumerate(sorted(first))}  # so that the order of files does not matter
    traits = [
        frozenset([*prompt_traits(first[key]), *([Trait("recording", key[2])] if key[2] else [])]) for key in numbers
    ]
    return _Identified([first[key] for key in numbers], traits, [numbers[key] if key else None for key in keys])


def _sample(
    asked: _Identified,
    kept: Filtered,
    read: int,
    settings: PairSettings,
    weights: Mapping[Match, float] | None,
    rng: random.Random,
) -> MadePairs:
    most = candidates_per_prompt(len(asked.prompts), settings.pairs, settings.per_prompt)
    candidates = list_candidates(kept.good, settings.same_system, rng, most)
    if not candidates:
        raise InputError(_why_none(kept, settings.same_system))
    splits = _split(asked, kept.good, candidates, settings, rng)
    usable: defaultdict[str, list[CandidatePair]] = defaultdict(list)
    for one in candidates:
        split = splits[one.prompt]
        if split and (split == "test" or not set(one.match) & set(settings.hold_out)):
            usable[split].append(one)
    drawn = _draw(usable, asked.prompts, settings, weights, rng)
    rng.shuffle(drawn)
    made = [
        MadePair(asked.prompts[pair.prompt], kept.good[a], kept.good[b], splits[pair.prompt])
        for pair, (a, b) in zip(drawn, choose_sides(drawn, kept.good, rng), strict=True)
    ]
    prompts = len({pair.prompt for pair in drawn})
    would_leak = len(candidates) - sum(map(len, usable.values()))
    return MadePairs(made, prompts, read, kept.left_out, len(candidates), would_leak, settings)


def _split(
    asked: _Identified,
    takes: Sequence[GoodTake],
    candidates: Iterable[CandidatePair],
    settings: PairSettings,
    rng: random.Random,
) -> list[str]:
    """The split of each prompt."""
    sounds: defaultdict[int, set[Trait]] = defaultdict(set)
    stated: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for one in takes:
        sounds[one.prompt].add(Trait("recording", one.digest))
        if one.take.split:
            stated[one.prompt][one.take.split] += 1
    pairs = Counter(one.prompt for one in candidates)
    most = settings.per_prompt
    prompts = [
        SplitPrompt(
            prompt.modality,
            asked.traits[number] | sounds[number],
            pairs[number] if most is None else min(most, pairs[number]),
            stated[number].most_common(1)[0][0] if stated[number] else "",
        )
        for number, prompt in enumerate(asked.prompts)
    ]
    used = [number for number in range(len(prompts)) if pairs[number]]
    quota = _test_quota(settings.test_pairs)
    found = assign_splits([prompts[number] for number in used], settings.shares, rng, quota)
    splits = [""] * len(prompts)
    for number, split in zip(used, found, strict=True):
        splits[number] = split
    return splits


def _test_quota(test_pairs: int | None) -> dict[Modality, int] | None:
    """An equal number of pairs of each modality; the first ones get what is left over."""
    if test_pairs is None:
        return None
    even, rest = divmod(test_pairs, len(MODALITIES))
    return {modality: even + (place < rest) for place, modality in enumerate(MODALITIES)}


def _draw(
    usable: Mapping[str, Sequence[CandidatePair]],
    prompts: Sequence[Prompt],
    settings: PairSettings,
    weights: Mapping[Match, float] | None,
    rng: random.Random,
) -> list[CandidatePair]:
    """Draw each split's pairs by itself, and the modalities of a balanced test split one after the other."""
    quota = _test_quota(settings.test_pairs)
    shared = settings.pairs if settings.pairs is None or quota is None else settings.pairs - sum(quota.values())
    sizes = {
        split: len({one.prompt for one in some}) for split, some in usable.items() if not (quota and split == "test")
    }
    wanted: Mapping[str, int | None] = dict.fromkeys(sizes) if shared is None else share_out(shared, sizes)
    drawn: list[CandidatePair] = []
    for split in sorted(usable):
        sampler = PairSampler(rng, settings.per_prompt, weights)
        if quota and split == "test":
            for modality, count in quota.items():
                drawn += sampler.draw([one for one in usable[split] if prompts[one.prompt].modality == modality], count)
        else:
            drawn += sampler.draw(usable[split], wanted[split])
    return drawn


def share_out(total: int, sizes: Mapping[str, int]) -> dict[str, int]:
    """Divide a total in proportion to sizes, by the largest remainders.

    >>> share_out(10, {"train": 8, "valid": 1, "test": 1})
    {'train': 8, 'valid': 1, 'test': 1}
    """
    whole = sum(sizes.values())
    exact = {name: total * size / whole for name, size in sizes.items()}
    found = {name: int(value) for name, value in exact.items()}
    by_remainder = sorted(exact, key=lambda name: (found[name] - exact[name], name))
    for name in by_remainder[: total - sum(found.values())]:
        found[name] += 1
    return found


def _why_none(kept: Filtered, same_system: bool) -> str:
    if not kept.good:
        reasons = Counter(one.reason for one in kept.left_out)
        counts = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        return f"no pair can be made: all {len(kept.left_out)} takes were left out ({counts})"
    advice = "give takes of other systems for the same prompts, or --same-system"
    if same_system:
        advice = "give several takes for a prompt"
    return f"no pair can be made: no prompt has two of the {len(kept.good)} takes that are left; {advice}"


def write_pairs(made: MadePairs, report: Mapping[str, Any], folder: Path) -> Path:
    """Write a folder of pairs and return the file of pairs."""
    names = _RelativeNames(folder)
    left_out = ({"audio": names.of(t.path), "generator": t.system, "reason": reason} for t, reason in made.left_out)
    write_whole(folder / LEFT_OUT, "".join(map(to_json_line, left_out)))
    write_whole(folder / REPORT, to_json(report))
    write_rows(_rows(made, names), folder / PAIRS)
    return folder / PAIRS


def _rows(made: MadePairs, names: "_RelativeNames") -> Iterator[dict[str, Any]]:
    for prompt, a, b, split in made.pairs:
        key = content_key(f"{normalise_text(prompt.text)}\n{normalise_text(prompt.lyrics)}\n{a.digest} {b.digest}")
        yield {
            "id": key.hex()[:16],
            "text": prompt.text,
            "lyrics": prompt.lyrics,
            "reference": names.of(prompt.reference) if isinstance(prompt.reference, Path) else "",
            "a": names.of(a.take.path),
            "b": names.of(b.take.path),
            "generator_a": a.take.system,
            "generator_b": b.take.system,
            "modality": prompt.modality,
            "split": split,
        }


class _RelativeNames:
    """Paths relative to a folder; each folder on the way is resolved once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[Path, str] = {}

    def of(self, path: Path) -> str:
        parent = path.parent
        if parent not in self._known:
            self._known[parent] = relative_path(parent / "_", self._folder).removesuffix("_")
        return self._known[parent] + path.name
