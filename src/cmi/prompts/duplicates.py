"""Find prompts that say what an earlier one says, exactly or nearly, in linear time.

Exact     The same words in the same order, the same lyrics and the same reference; case and punctuation do not count.
Near      The sets of words have a Jaccard similarity of at least the threshold: shared words over all words. Words of
          the text and of the lyrics are kept apart. Prompts with different references are never alike, nor are a
          prompt with lyrics and one without.

Candidates come from MinHash: prompts that share a band of their signatures are compared by their words, each with at
most MOST_COMPARED others of its band. A pair exactly at the threshold is found with a probability of 0.999 or more.
Scripts without spaces are cut into pairs of characters.
"""

import hashlib
import re
import unicodedata
import zlib
from array import array
from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cmi.take import Prompt

HASHES = 64
BAND_SIZES = (16, 8, 4, 2, 1)  # hashes of a band, from the fewest candidates to the most
CERTAINTY = 0.999
MOST_COMPARED = 16
_CHUNK = 128  # prompts whose signatures are computed at once
_RUN = re.compile(r"\w+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")

Repeat = Literal["", "exact", "near"]


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation.

    >>> split_words("Slow, sad PIANO!"), split_words("慢钢琴")
    (['slow', 'sad', 'piano'], ['慢钢', '钢琴'])
    """
    runs: list[str] = _RUN.findall(unicodedata.normalize("NFKC", text).casefold())
    if text.isascii() or not _UNSPACED.search(text):
        return runs
    words: list[str] = []
    for run in runs:
        is_unspaced = len(run) > 2 and _UNSPACED.search(run)
        words += [run[i : i + 2] for i in range(len(run) - 1)] if is_unspaced else [run]
    return words


class DuplicateFinder:
    """Collects prompts one by one, then says which of them repeat an earlier one. About 400 bytes for each prompt."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._seen: set[bytes] = set()
        self._exact = array("b")
        self._words = array("I")  # hashes of the words of all prompts, one prompt after the other
        self._ends = array("q")
        self._kinds = array("I")  # hashes of the reference, and of whether there are lyrics

    def add(self, prompt: Prompt) -> None:
        text, lyrics = split_words(prompt.text), split_words(prompt.lyrics)
        reference = "" if prompt.reference is None else str(prompt.reference)
        parts = (" ".join(text) or prompt.text.strip(), " ".join(lyrics) or prompt.lyrics.strip(), reference)
        key = hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=12).digest()
        self._exact.append(key in self._seen)
        self._seen.add(key)
        words = {_hash(word) for word in text} | {_hash(f"\0{word}") for word in lyrics}
        self._words.extend(() if self._exact[-1] else sorted(words))
        self._ends.append(len(self._words))
        self._kinds.append(_hash(f"{bool(lyrics)} {reference}"))

    def find(self) -> list[Repeat]:
        """Return for each prompt whether it repeats an earlier one."""
        found: list[Repeat] = ["exact" if is_exact else "" for is_exact in self._exact]
        if self._threshold < 1:
            for row in self._find_near():
                found[row] = "near"
        return found

    def _find_near(self) -> set[int]:
        ends = np.frombuffer(self._ends, np.int64) if self._ends else np.zeros(0, np.int64)
        starts = np.concatenate([[0], ends[:-1]]) if ends.size else ends
        rows = np.flatnonzero(ends > starts)
        if not rows.size:
            return set()
        signatures = _signatures(np.frombuffer(self._words, np.uint32), starts[rows], ends[rows])
        size = band_size(self._threshold)
        removed: set[int] = set()
        for first in range(0, HASHES, size):
            for bucket in _buckets(signatures[:, first : first + size]):
                self._compare([int(rows[i]) for i in bucket], removed)
        return removed

    def _compare(self, bucket: list[int], removed: set[int]) -> None:
        """Add to `removed` those that are like an earlier prompt of the bucket."""
        different: list[tuple[int, set[int]]] = []
        for row in bucket:
            if row in removed:
                continue
            words, kind = self._set_of(row), self._kinds[row]
            for other_kind, others in different:
                if kind == other_kind and _are_alike(words, others, self._threshold):
                    removed.add(row)
                    break
            else:
                if len(different) < MOST_COMPARED:
                    different.append((kind, words))

    def _set_of(self, row: int) -> set[int]:
        return set(self._words[self._ends[row - 1] if row else 0 : self._ends[row]])


def band_size(threshold: float) -> int:
    """Return the largest size of bands with which a pair at the threshold is found with CERTAINTY."""
    for size in BAND_SIZES:
        if 1 - (1 - threshold**size) ** (HASHES // size) >= CERTAINTY:
            return size
    return BAND_SIZES[-1]


def _are_alike(words: set[int], others: set[int], threshold: float) -> bool:
    fewer, more = sorted((len(words), len(others)))
    if fewer < threshold * more:  # whatever they share
        return False
    shared = len(words & others)
    return shared >= threshold * (fewer + more - shared)


def _hash(word: str) -> int:
    return zlib.crc32(word.encode("utf-8", "surrogatepass"))


def _signatures(words: NDArray[np.uint32], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return the MinHash signature of each prompt, whose words are `words[start:end]`."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 2**63, HASHES, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    shifts = rng.integers(0, 2**63, HASHES, dtype=np.uint64)
    found = np.empty((len(starts), HASHES), np.uint32)
    for first in range(0, len(starts), _CHUNK):
        low, high = starts[first], ends[min(first + _CHUNK, len(ends)) - 1]
        mixed = _mix(words[low:high].astype(np.uint64))
        hashes = (mixed * factors[:, None] + shifts[:, None]) >> np.uint64(32)  # (hashes, words)
        least = np.minimum.reduceat(hashes, starts[first : first + _CHUNK] - low, axis=1)
        found[first : first + _CHUNK] = least.T
    return found


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread 32-bit hashes over 64 bits (the finaliser of splitmix64)."""
    values = (values ^ (values >> np.uint64(30)) ^ (values << np.uint64(32))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _buckets(band: NDArray[np.uint32]) -> Iterator[list[int]]:
    """Yield the rows, in ascending order, that have the same values in a band; only where there are two or more."""
    keys = np.zeros(len(band), np.uint64)
    for column in band.T:
        keys = _mix(keys * np.uint64(31) + column)
    order = np.argsort(keys, kind="stable")
    edges = np.flatnonzero(np.diff(keys[order])) + 1
    starts, ends = np.concatenate([[0], edges]), np.concatenate([edges, [len(order)]])
    for i in np.flatnonzero(ends - starts > 1):
        yield order[starts[i] : ends[i]].tolist()
