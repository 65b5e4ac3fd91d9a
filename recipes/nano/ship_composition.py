"""Puts a variant of `train_composition.py` into a checkpoint of nano.

python recipes/nano/ship_composition.py OUT/variants.pt longer NANO/ SHIPPED/
"""

import argparse
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from cmi.reward.model.checkpoint import WEIGHTS
from cmi.reward.model.encoders.composition import Composition


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("variants", type=Path)
    parser.add_argument("name")
    for name in ("nano", "out"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args()
    network = Composition()
    network.load_state_dict(torch.load(options.variants, map_location="cpu", weights_only=True)[options.name])
    learned = {f"composition.{name}": tensor.half().contiguous() for name, tensor in network.state_dict().items()}
    save_file(load_file(options.nano / WEIGHTS) | learned, options.out / WEIGHTS)


if __name__ == "__main__":
    main()
