"""What stand-ins share: a log of what they were given, which the tests read, and noise in place of music."""

import json
import os
from pathlib import Path

import torch


def record(function: str, **given: object) -> None:
    with Path(os.environ["STAND_IN_LOG"]).open("a", encoding="utf-8") as log:
        log.write(json.dumps({"function": function, **given}, default=str) + "\n")


def make_noise(*shape: int) -> torch.Tensor:
    return 0.2 * torch.rand(shape) - 0.1
