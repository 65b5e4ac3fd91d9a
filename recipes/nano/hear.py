"""What nano's `craft` is told from, on a machine that has musicnn's variables and nano's weights in files only."""

from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from cmi.reward.model.blend import BlendedHead
from cmi.reward.model.checkpoint import split_state
from cmi.reward.model.encoders import craft, musicnn
from cmi.reward.model.encoders import nano as encoder
from cmi.reward.model.encoders.ear import log_mel
from cmi.reward.model.encoders.musicnn import Musicnn
from cmi.reward.model.head import Downsampling, HeadConfig, PromptTokens, RewardHead


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
        take, dim = self.head.thin(self.encoder.encode_sound(sounds)), self.head.config.dim
        return RewardHead.judge(self.head, prompt[..., :dim], take[..., :dim])[:, 1]

    @torch.no_grad()
    def summary(self, sounds: Tensor, parts: int = 1) -> Tensor:
        """Of clips of one length at 32 kHz, in parts one after the other: (B, n) -> (B, parts, 8612)."""
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


class Thinned(nn.Module):
    """Drops half of the last dimension in training: the same half of all versions of a clip, so that they compare."""

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        shape = (*x.shape[:-2], 1, x.shape[-1]) if x.dim() > 2 else x.shape
        return x * (torch.rand(shape, device=x.device) > 0.5) * 2


class Layer(nn.Module):
    """A judgement of summaries, whose numbers are in deviations of clean clips, at most 8; those not `used` are 0."""

    def __init__(self, clean: Tensor, used: Tensor) -> None:
        super().__init__()
        self.mean = nn.Parameter(clean.mean(dim=0), requires_grad=False)
        self.scale = nn.Parameter(used / clean.std(dim=0).clamp(min=1e-4), requires_grad=False)

    def inputs(self, x: Tensor) -> Tensor:
        return ((x - self.mean) * self.scale).clamp(-craft.FARTHEST, craft.FARTHEST)

    def judge(self, inputs: Tensor, keep: Tensor | None = None) -> Tensor:
        """Of (..., 8612) inputs, of which `keep` are heard in this step of the training."""
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.judge(self.inputs(part.float())) for part in x.split(4096)])


class Teller(Layer):
    """Log-odds of every kind of flaw against none; its judgement is the log-odds of none against any."""

    def __init__(self, clean: Tensor, used: Tensor, kinds: int, hidden: int, gain: Tensor) -> None:
        super().__init__(clean, used)
        self.gain = nn.Parameter(gain, requires_grad=False)
        self.tell = nn.Linear(len(self.mean), kinds).to(clean.device)
        nn.init.zeros_(self.tell.weight)
        nn.init.constant_(self.tell.bias, -3.0)
        self.layer = _hidden(clean, hidden, kinds) if hidden else None

    def inputs(self, x: Tensor) -> Tensor:
        return super().inputs(x) * self.gain

    def odds(self, inputs: Tensor, keep: Tensor | None = None) -> Tensor:
        """(..., 8612) -> (..., kinds)."""
        kept = inputs if keep is None else inputs * keep
        found: Tensor = self.tell(kept)
        return found if self.layer is None else found + self.layer(kept)

    def judge(self, inputs: Tensor, keep: Tensor | None = None) -> Tensor:
        return -self.odds(inputs, keep).logsumexp(dim=-1)


class Judge(Layer):
    """It weighs its inputs, and how far each is from usual, in either direction, with a layer beside."""

    def __init__(self, clean: Tensor, used: Tensor, hidden: int) -> None:
        super().__init__(clean, used)
        self.weight = nn.Parameter(torch.zeros_like(self.mean))
        self.bend = nn.Parameter(torch.zeros_like(self.mean))
        self.layer = _hidden(clean, hidden, 1)

    def judge(self, inputs: Tensor, keep: Tensor | None = None) -> Tensor:
        kept = inputs if keep is None else inputs * keep
        beside: Tensor = self.layer(kept)[..., 0]
        return kept @ self.weight + (kept.abs() - craft.USUAL) @ self.bend + beside


def _hidden(clean: Tensor, hidden: int, out: int) -> nn.Sequential:
    last = nn.Linear(hidden, out)
    nn.init.zeros_(last.weight)
    return nn.Sequential(nn.Linear(clean.shape[1], hidden), nn.GELU(), Thinned(), last).to(clean.device)


def load_nets(variables: Mapping[str, Mapping[str, Tensor]]) -> tuple[Musicnn, Musicnn]:
    """From the variables of both checkpoints."""
    first, second = (Musicnn({k: v.numpy() for k, v in variables[name].items()}) for name in musicnn_names())
    return first, second


def musicnn_names() -> tuple[str, str]:
    return "MTT_musicnn", "MSD_musicnn"
