"""Give each prompt a split, so that no two splits share a text, lyrics or a recording.

Prompts that share one of these, directly or through others, are a group, and a group is in one split as a whole. A
prompt whose takes state a split keeps it. If a group's prompts state several, the split that most of them state is the
group's, and the pairs of the others are left out.

Groups are dealt out, large ones first and equals at random, so that each split has its share of the prompts of every
modality. A test split that must have so many pairs of each modality gets more prompts if it needs them, but never more
than MOST_TO_TEST of a modality's.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from cmi._util.errors import InputError
from cmi.pairs.leaks import Trait
from cmi.preferences import SPLITS
from cmi.take import Modality

MODALITIES: tuple[Modality, ...] = get_args(Modality)
MOST_TO_TEST = 0.5


@dataclass(frozen=True)
class SplitPrompt:
    """A prompt with everything that determines its split."""

    modality: Modality
    traits: frozenset[Trait]
    pairs: int  # that could be sampled of it
    stated: str = ""


def parse_shares(text: str) -> dict[str, float]:
    """Read shares such as 'train=0.8,valid=0.1,test=0.1'.

    >>> parse_shares("train=0.9,test=0.1")
    {'train': 0.9, 'test': 0.1}
    """
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = part.partition("=")
        try:
            value = float(share)
        except ValueError:
            value = -1.0
        if name.strip() not in SPLITS or name.strip() in shares or not 0 <= value <= 1:
            raise InputError(
                f"--split: {part.strip()!r}, expected a share of train, valid or test, such as train=0.8,test=0.2"
            )
        shares[name.strip()] = value
    if abs(sum(shares.values()) - 1) > 1e-6:
        raise InputError(f"--split: the shares add up to {sum(shares.values()):g}, expected 1")
    return {name: share for name, share in shares.items() if share}


def group_prompts(traits: Sequence[Iterable[Trait]]) -> list[int]:
    """Return the group of each prompt, as the number of its first prompt."""
    leader = list(range(len(traits)))

    def find(prompt: int) -> int:
        while leader[prompt] != prompt:
            leader[prompt] = leader[leader[prompt]]
            prompt = leader[prompt]
        return prompt

    owner: dict[Trait, int] = {}
    for prompt, own in enumerate(traits):
        for trait in own:
            a, b = find(owner.setdefault(trait, prompt)), find(prompt)
            leader[max(a, b)] = min(a, b)
    return [find(prompt) for prompt in range(len(traits))]


def assign_splits(
    prompts: Sequence[SplitPrompt],
    shares: Mapping[str, float],
    rng: random.Random,
    test_quota: Mapping[Modality, int] | None = None,
) -> list[str]:
    """Return the split of each prompt; '' for one that would leak.

    `test_quota` is how many pairs of each modality the test split needs.
    """
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for prompt, group in enumerate(group_prompts([one.traits for one in prompts])):
        groups[group].append(prompt)
    dealer = _Dealer(prompts, shares)
    free = []
    for members in groups.values():
        stated = Counter(prompts[member].stated for member in members if prompts[member].stated)
        if stated:
            dealer.give(members, max(sorted(stated), key=stated.__getitem__))
        else:
            free.append(members)
    rng.shuffle(free)
    free.sort(key=len, reverse=True)
    for members in free:
        dealer.deal(members)
    if test_quota:
        rng.shuffle(free)
        dealer.fill_test(free, test_quota)
    return dealer.splits


class _Dealer:
    def __init__(self, prompts: Sequence[SplitPrompt], shares: Mapping[str, float]) -> None:
        self._prompts = prompts
        self._shares = shares
        self._total = Counter(one.modality for one in prompts)
        self._given: Counter[tuple[str, Modality]] = Counter()  # prompts
        self.splits = [""] * len(prompts)

    def give(self, members: Iterable[int], split: str) -> None:
        for member in members:
            prompt = self._prompts[member]
            if prompt.stated in ("", split):
                if self.splits[member]:
                    self._given[self.splits[member], prompt.modality] -= 1
                self.splits[member] = split
                self._given[split, prompt.modality] += 1

    def deal(self, members: Sequence[int]) -> None:
        """Give a group to the split that lacks its modalities most."""
        modalities = Counter(self._prompts[member].modality for member in members)
        self.give(members, max(self._shares, key=lambda split: self._lack(split, modalities)))

    def fill_test(self, free: Iterable[Sequence[int]], quota: Mapping[Modality, int]) -> None:
        """Move groups to the test split until it has enough pairs."""
        pairs: Counter[Modality] = Counter()
        for split, prompt in zip(self.splits, self._prompts, strict=True):
            if split == "test":
                pairs[prompt.modality] += prompt.pairs
        for members in free:
            modalities = Counter(self._prompts[member].modality for member in members)
            is_needed = any(pairs[modality] < quota.get(modality, 0) for modality in modalities)
            has_room = all(
                self._given["test", modality] + count <= MOST_TO_TEST * self._total[modality]
                for modality, count in modalities.items()
            )
            if is_needed and has_room and self.splits[members[0]] != "test":
                self.give(members, "test")
                for member in members:
                    pairs[self._prompts[member].modality] += self._prompts[member].pairs

    def _lack(self, split: str, modalities: Mapping[Modality, int]) -> float:
        wanted = ((self._shares[split] * self._total[m] - self._given[split, m], n) for m, n in modalities.items())
        return sum(lack * n for lack, n in wanted)
