"""What nano's `craft` is told from, on a machine that has musicnn's variables and nano's weights in files only."""

from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from cmi.reward.model.blend import OWN, BlendedHead
from cmi.reward.model.checkpoint import split_state
from cmi.reward.model.encoders import craft, musicnn
from cmi.reward.model.encoders import nano as encoder
from cmi.reward.model.encoders.ear import log_mel
from cmi.reward.model.encoders.musicnn import Musicnn
from cmi.reward.model.head import Downsampling, HeadConfig, PromptTokens

COMPONENTS, RIDGE = 64, 0.1  # of what is played


class Listener(nn.Module):
    """nano without MiniLM: its encoder, and what its head says of a sound that nothing was asked of."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        found = dict(zip(musicnn_names(), load_nets(torch.load(folder / "musicnn.pt")), strict=True))
        parts = split_state(load_file(folder / "nano.safetensors"))
        own = Downsampling("mean+mlp", 1, mlp_ratio=1.0)
        config = HeadConfig(encoder.DIM, 6, 64, 768, 2, 2, mlp_dim=256, take=own, reference=own, text=own)
        with patch.object(encoder, "load_minilm", nn.Identity), patch.object(musicnn, "load_musicnn", found.get):
            self.encoder, self.head = encoder.Nano(tagged=True), BlendedHead(config)
        heard = {key: tensor for key, tensor in parts["encoder"].items() if not key.startswith("craft.")}
        self.encoder.load_state_dict(heard, strict=False)
        self.head.load_state_dict(parts["head"], strict=False)
        self.register_buffer("empty", torch.load(folder / "empty.pt"))
        self.eval().requires_grad_(False)
        self.encoder._craft = lambda heard, seconds: torch.zeros(1, device=heard[0].device)  # type: ignore[method-assign]  # one by one, it would take most of the time

    @torch.no_grad()
    def musicality(self, sounds: Tensor) -> Tensor:
        """What nano's own head says: (B, n) at 32 kHz -> (B,)."""
        empty = self.get_buffer("empty").expand(1, -1, -1)
        prompt = self.head.fuse(self.head.join(PromptTokens(empty, empty))).expand(len(sounds), -1, -1)
        return self.head.judge(prompt, self.head.thin(self.encoder.encode_sound(sounds)))[:, 1] / OWN

    @torch.no_grad()
    def summary(self, sounds: Tensor, parts: int = 1) -> Tensor:
        """Of clips of one length at 32 kHz, in parts one after the other: (B, n) -> (B, parts, 8308)."""
        level = encoder.begun(encoder.levelled(sounds))
        mel = musicnn.mel(encoder.halve_rate(level))
        frames = [net.frames(mel) for net in self.encoder.taggers]  # type: ignore[operator]
        ear = log_mel(level)
        words = self.encoder.ear.words(self.encoder.ear(ear), -(-sounds.shape[1] // encoder.TOKEN))
        found = []
        for part in zip(*(torch.tensor_split(x, parts, dim=1) for x in (*frames, mel, ear, words, level)), strict=True):
            first, second, own_mel, own_ear, own_words, own_level = part
            answers = self.encoder.ear.answers(own_words)
            heard = craft.Heard((first, second), own_mel, own_ear, own_words, answers, own_level)
            found.append(craft.summary(heard))
        return torch.stack(found, dim=1)


class Judge(nn.Module):
    """One number of a summary, standardised as clean clips are and cut off at 8 deviations.

    Of its numbers some are `used`. `curved` also weighs how far each number is from usual, in either
    direction; with `hidden`, a layer stands beside. With `given`, of each of those numbers what is usual of clips
    whose musicnn hears the same is taken away first.
    """

    def __init__(
        self, clean: Tensor, used: Tensor, curved: bool = False, hidden: int = 0, given: Tensor | None = None
    ) -> None:
        super().__init__()
        self.played: nn.Parameter | None = None
        self.usual: nn.Parameter | None = None
        self.rest: nn.Parameter | None = None
        self.mean = nn.Parameter(clean.mean(dim=0), requires_grad=False)
        self.scale = nn.Parameter(used / clean.std(dim=0).clamp(min=1e-4), requires_grad=False)
        self.weight = nn.Parameter(torch.zeros_like(self.mean))
        self.bend = nn.Parameter(torch.zeros_like(self.mean), requires_grad=curved)
        self.layer = None
        if hidden:
            layers = nn.Linear(len(self.mean), hidden), nn.GELU(), nn.Dropout(0.5), nn.Linear(hidden, 1)
            self.layer = nn.Sequential(*layers).to(clean.device)
            nn.init.zeros_(layers[3].weight)
        if given is not None:
            self._fit_usual(clean, given)

    @torch.no_grad()
    def _fit_usual(self, clean: Tensor, given: Tensor) -> None:
        """A ridge from the first components of musicnn's mean features to every number that is `given` them."""
        z = self.inputs(clean)
        features = z[:, _mean_features(z.device)]
        _, vectors = torch.linalg.eigh(features.T @ features / len(z))
        played = vectors[:, -COMPONENTS:]
        known = features @ played
        gram = known.T @ known + RIDGE * len(z) * torch.eye(COMPONENTS, device=z.device)
        usual = torch.linalg.solve(gram, known.T @ z) * given
        rest = torch.where(given, 1 / (z - known @ usual).std(dim=0).clamp(min=0.05), 1.0)
        self.played, self.usual, self.rest = (nn.Parameter(x, requires_grad=False) for x in (played, usual, rest))

    def inputs(self, x: Tensor) -> Tensor:
        z = ((x - self.mean) * self.scale).clamp(-craft.FARTHEST, craft.FARTHEST)
        if self.played is None or self.usual is None or self.rest is None:
            return z
        usual = z[..., _mean_features(z.device)] @ self.played @ self.usual
        return ((z - usual) * self.rest).clamp(-craft.FARTHEST, craft.FARTHEST)

    def judge(self, inputs: Tensor, keep: Tensor | None = None) -> Tensor:
        """Of (..., 8308) inputs, of which `keep` are heard in this step of the training."""
        kept = inputs if keep is None else inputs * keep
        found = kept @ self.weight
        if self.bend.requires_grad:
            found = found + (kept.abs() - craft.USUAL) @ self.bend
        return found if self.layer is None else found + self.layer(kept)[..., 0]

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.judge(self.inputs(part.float())) for part in x.split(4096)])


def _mean_features(device: torch.device) -> Tensor:
    """Where the means of both of musicnn's nets stand in a summary."""
    each = torch.arange(musicnn.DIM, device=device)
    return torch.cat([each, 4 * musicnn.DIM + each])


def load_nets(variables: Mapping[str, Mapping[str, Tensor]]) -> tuple[Musicnn, Musicnn]:
    """From the variables of both checkpoints."""
    first, second = (Musicnn({k: v.numpy() for k, v in variables[name].items()}) for name in musicnn_names())
    return first, second


def musicnn_names() -> tuple[str, str]:
    return "MTT_musicnn", "MSD_musicnn"
