"""Adds the banks of `cmi.reward.model.blend` to a checkpoint of nano's plain head, made by `cmi.reward.train.nano`.

    python recipes/nano/bank.py PLAIN MUSIC OUT

MUSIC is a folder of `cmi studio fetch`, with the tracks that the bank of `tags` names; ten seconds from the middle of
at most EACH of a package. drascula-music is left out, since it may not be sold alone.
"""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import soundfile
import torch
from safetensors.torch import load_file, save_file

from cmi.audio import load
from cmi.reward.model.blend import FEATURES
from cmi.reward.model.checkpoint import WEIGHTS
from cmi.reward.model.encoders.melody import melody
from cmi.reward.model.encoders.nano import RATE, begun, halve_rate, levelled
from cmi.reward.model.reward_model import RewardModel
from cmi.reward.scoring.tags import BANK

EACH, SECONDS = 6, 10.0
LEFT_OUT = "drascula-music/"


def main() -> None:
    plain, music, out = map(Path, sys.argv[1:])
    names = BANK.with_name("bank.txt").read_text(encoding="utf-8").splitlines()
    kept = [place for place, name in enumerate(names) if not name.startswith(LEFT_OUT)]
    model = RewardModel.from_pretrained(plain, device="cpu").plain()
    packages: Counter[str] = Counter()
    heard, tunes = [], []
    for name in (names[place] for place in kept):
        package = name.split("/")[0]
        packages[package] += 1
        if packages[package] <= EACH:
            offset = int(max(0.0, soundfile.info(music / name).duration / 2 - SECONDS / 2))
            sound = load(music / name, RATE, SECONDS, offset).samples
            with torch.inference_mode():
                heard.append(model.hear(torch.from_numpy(sound))[0])
                tunes.append(melody(halve_rate(begun(levelled(torch.from_numpy(sound)[None])))[0]))
    tokens = torch.stack(heard)
    state = load_file(plain / WEIGHTS)
    state["bank_tokens"] = tokens[::2].half().contiguous()
    state["bank_features"] = tokens[:, :-1, :FEATURES].mean(dim=1).half()
    state["bank_melodies"] = torch.stack(tunes).half()
    state["bank_tags"] = torch.from_numpy(np.load(BANK, allow_pickle=False)[kept])
    state["bank_names"] = state["tag_vectors"].clone()
    save_file(state, out / WEIGHTS)


if __name__ == "__main__":
    main()
