"""Score a second of noise, so that a model fetches what it needs on its first use: python warm_up.py nano."""

import sys
import tempfile
from pathlib import Path

import numpy as np
import soundfile

import cmi


def main(model: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        take = Path(folder, "noise.wav")
        soundfile.write(take, 0.1 * np.random.default_rng(0).standard_normal(32_000 * 6), 32_000)
        score = cmi.load_scorer(model).score([cmi.Take(cmi.Prompt("noise", "la la", take), take)])[0]
    print(f"{model}: {score}")


if __name__ == "__main__":
    main(*sys.argv[1:2] or ["nano"])
