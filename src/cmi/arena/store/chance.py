"""Chance that can be computed again: a number from a seed and names, the same on every machine."""

import hashlib


def chance(seed: int, *names: object) -> float:
    """A number from 0 up to 1, exclusive."""
    text = "\x1f".join(map(str, ("cmi.arena", seed, *names)))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:6]) / 2**48
