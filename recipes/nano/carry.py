"""What `train.py` needs beside clips: musicnn's variables, nano as it is, its ear, and libsndfile, in a folder.

python recipes/nano/carry.py CLIPS
"""

import shutil
import sys
from pathlib import Path

import _soundfile_data  # type: ignore[import-untyped]
import torch
from hear import musicnn_names

from cmi._util.wheels import find_wheel
from cmi.reward.model.checkpoint import WEIGHTS
from cmi.reward.model.encoders.musicnn import WHEEL, read_checkpoint
from cmi.reward.model.encoders.nano import Nano
from cmi.reward.model.reward_model import RewardModel

if __name__ == "__main__":
    folder, wheel = Path(sys.argv[1]), find_wheel(WHEEL)
    nets = {name: read_checkpoint(wheel, name) for name in musicnn_names()}
    used = {name: {k: torch.tensor(v) for k, v in own.items()} for name, own in nets.items()}
    torch.save(used, folder / "musicnn.pt")
    nano = RewardModel.from_pretrained("nano", device="cpu")
    assert isinstance(nano.encoder, Nano) and nano.folder is not None
    torch.save({key: tensor.half() for key, tensor in nano.encoder.ear.state_dict().items()}, folder / "ear.pt")
    torch.save(nano.encoder.encode_text(torch.tensor([nano.tokenize("")])).detach(), folder / "empty.pt")
    shutil.copy(nano.folder / WEIGHTS, folder / "nano.safetensors")
    shutil.copy(Path(_soundfile_data.__file__).parent / "libsndfile_x86_64.so", folder)
