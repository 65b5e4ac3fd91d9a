"""Adds to a checkpoint of nano which of musicnn's tags texts ask for: `words.txt` and `names.txt`.

    python recipes/nano/words.py NANO OUT

A line is a phrase, a colon, and tags; `-tag` is one that does not go with it, and words in capitals stand for several.
`words.txt` says what tags go with 269 words and phrases that a text may be like. It was written down from general
knowledge of music, before anything was measured with it. `names.txt` says how the tags themselves are spelt: these
phrases count only where a text has them word for word.
"""

import shlex
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from cmi.reward.model.blend import ANY
from cmi.reward.model.checkpoint import WEIGHTS
from cmi.reward.model.encoders.nano import TAGS
from cmi.reward.scoring.tags import Tagger

WORDS, SPELT = (Path(__file__).with_name(name) for name in ("words.txt", "names.txt"))
SEVERAL = {
    "NOVOICE": ("no vocals", "no vocal", "no voice", "instrumental"),
    "VOICE": ("vocal", "vocals", "singing", "voice"),
    "MALE": ("male", "man", "male vocal", "male voice", "male vocalists"),
    "FEMALE": ("female", "woman", "female voice", "female vocal", "female vocalists", "female vocalist"),
}
A_NO = -9.0  # in `names.txt`: outweighs what a part of the phrase asks for ("no vocals")
NAMES = tuple(tag.lower() for tag in TAGS)  # some are in both lists


def main() -> None:
    nano, out = map(Path, sys.argv[1:])
    lines, spelt = read_lines(WORDS), read_lines(SPELT)
    tagger = Tagger()
    state = load_file(nano / WEIGHTS)
    state["bank_words"] = torch.stack([tagger.read(phrase) for phrase, _ in lines]).half()
    state["bank_meant"] = torch.stack([functional.normalize(meant, dim=0) for _, meant in lines]).half()
    pieces = [torch.tensor(tagger.tokenize(phrase)[1:-1]) for phrase, _ in spelt]
    state["bank_pieces"] = pad_sequence(pieces, batch_first=True, padding_value=ANY).float()  # half can't hold ids
    state["bank_spelt"] = torch.stack([torch.where(meant < 0, A_NO, meant) for _, meant in spelt]).half()
    save_file({key: tensor.contiguous() for key, tensor in state.items()}, out / WEIGHTS)


def read_lines(path: Path) -> list[tuple[str, Tensor]]:
    """Phrases, and the tags that go with each: (100,)."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        phrase, _, tags = line.partition(":")
        found.append((phrase.strip(), torch.stack([_weights(tag) for tag in shlex.split(tags)]).sum(dim=0)))
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
