"""Adds to a checkpoint of nano what `words.txt` says: which of musicnn's tags go with 269 words and phrases.

    python recipes/nano/words.py NANO OUT

A line of `words.txt` is a phrase, a colon, and tags; `-tag` is one that does not go with it, and words in capitals
stand for several. It was written down from general knowledge of music, before anything was measured with it.
"""

import shlex
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional

from cmi.reward.model.checkpoint import WEIGHTS
from cmi.reward.model.encoders.nano import TAGS
from cmi.reward.scoring.tags import Tagger

WORDS = Path(__file__).with_name("words.txt")
SEVERAL = {
    "NOVOICE": ("no vocals", "no vocal", "no voice", "instrumental"),
    "VOICE": ("vocal", "vocals", "singing", "voice"),
    "MALE": ("male", "man", "male vocal", "male voice", "male vocalists"),
    "FEMALE": ("female", "woman", "female voice", "female vocal", "female vocalists", "female vocalist"),
}
NAMES = tuple(tag.lower() for tag in TAGS)  # some are in both lists


def main() -> None:
    nano, out = map(Path, sys.argv[1:])
    lines = read_words()
    tagger = Tagger()
    state = load_file(nano / WEIGHTS)
    state["bank_words"] = torch.stack([tagger.read(phrase) for phrase, _ in lines]).half()
    state["bank_meant"] = torch.stack([meant for _, meant in lines]).half()
    save_file({key: tensor.contiguous() for key, tensor in state.items()}, out / WEIGHTS)


def read_words() -> list[tuple[str, Tensor]]:
    """Phrases, and the tags that go with each, at unit length: (100,)."""
    found = []
    for line in WORDS.read_text(encoding="utf-8").splitlines():
        phrase, _, tags = line.partition(":")
        weights = torch.stack([_weights(tag) for tag in shlex.split(tags)]).sum(dim=0)
        found.append((phrase.strip(), functional.normalize(weights, dim=0)))
    return found


def _weights(tag: str) -> Tensor:
    sign, name = (-1.0, tag[1:]) if tag.startswith("-") else (1.0, tag)
    asked = SEVERAL.get(name, (name.lower(),))
    unknown = set(asked) - set(NAMES)
    assert not unknown, f"no tag: {unknown}"
    share = 0.5 if name in SEVERAL else 1.0
    return torch.tensor([sign * share * (known in asked) for known in NAMES])


if __name__ == "__main__":
    main()
