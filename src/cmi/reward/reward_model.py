"""`RewardModel`: the frozen encoder and the head together, loaded from a folder and saved to one."""

from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from cmi.errors import InputError
from cmi.hub import find_model
from cmi.reward.checkpoint import WEIGHTS, check_keys, encoder_config, head_config, read_config, split_state
from cmi.reward.encoders.muq_mulan import CHUNK, SHORTEST, MuQMuLan
from cmi.reward.model import PromptTokens, RewardHead


class RewardModel(nn.Module):
    """CMI-RM: a take and its prompt in, [alignment, musicality] out."""

    def __init__(
        self, encoder: MuQMuLan, head: RewardHead, name: str = "untrained", folder: Path | None = None
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head
        self.name = name  # with the revision; goes into every output
        self.folder = folder  # where it was loaded from
        self.eval()

    @classmethod
    def from_pretrained(cls, name: Path | str, revision: str | None = None) -> "RewardModel":
        """The model in a folder, or on the hub, with the authors' `model.safetensors` and `config.yaml`."""
        folder, full_name = find_model(str(name), revision, "the reward model")
        path = folder / WEIGHTS
        if not path.is_file():
            raise InputError(f"{path}: no such file; expected a folder with {WEIGHTS}")
        try:
            with safe_open(path, "pt") as file:
                shapes = {key: tuple(file.get_slice(key).get_shape()) for key in file.keys()}  # noqa: SIM118
            state = load_file(path)
        except SafetensorError as error:
            raise InputError(f"{path}: not a safetensors file ({error})") from error
        try:
            with torch.device("meta"):
                model = cls(MuQMuLan(encoder_config(shapes)), RewardHead(head_config(shapes, read_config(folder))))
            check_keys({key: tuple(tensor.shape) for key, tensor in model.checkpoint_state().items()}, shapes)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        # The checkpoint's tensors take the place of the empty ones: nothing is initialised only to be overwritten.
        for part_name, part in split_state(state).items():
            getattr(model, part_name).load_state_dict(part, strict=False, assign=True)
        model.encoder.restore_buffers()
        model.name, model.folder = full_name, folder
        return model.float()

    def save_pretrained(self, folder: Path | str) -> None:
        """Weights under the authors' names."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        save_file(self.checkpoint_state(), Path(folder) / WEIGHTS)

    def checkpoint_state(self) -> dict[str, Tensor]:
        """All weights under the authors' names."""
        return {**self.encoder.state_dict(), **self.head.state_dict()}

    def hear(self, samples: Tensor) -> Tensor:
        """The tokens of one recording at 24 kHz: (n,) -> (1, T, D), 25 a second.

        It is heard in chunks of 30 s, each on its own. A last chunk of 1024 samples (43 ms) or less
        is too short to be heard and left out; a whole recording that short is refused.
        """
        chunks = [chunk for chunk in torch.split(samples, CHUNK) if len(chunk) >= SHORTEST]
        if not chunks:
            raise InputError(f"{len(samples)} samples are too short to be heard: {SHORTEST} are the fewest")
        return torch.cat([self.encoder.encode_chunks(chunk[None]) for chunk in chunks], dim=1)

    def forward(self, prompt: PromptTokens, take: Tensor) -> Tensor:
        """Scores of takes under their prompts, both as tokens: (B, 2) alignment, musicality."""
        return self.head(prompt, take)
