"""MuQ-MuLan (Zhu et al., 2025): a joint embedding of music and text.

Windows of 10 s, the last filled up with the recording's start, are embedded and normalised; a recording's embedding is
their mean. Its inner product with the normalised text embedding is the similarity of the `muq` package. Texts are
truncated to 512 tokens.

The paper compares a take with the text alone. `muq-mulan-all` compares it with lyrics and reference too.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from cmi._util.device import choose_device
from cmi._util.errors import InputError
from cmi.reward.model.checkpoint import check_keys, encoder_config, shape
from cmi.reward.model.encoders.muq_mulan import RATE, SHORTEST, TEXT_TOKENS, MuQMuLan, MuQMuLanConfig
from cmi.reward.model.tokenizer import Tokenize, load_tokenizer
from cmi.reward.scoring.baselines import ALIGNMENT, BaselineVariant, sources
from cmi.reward.scoring.baselines.listening import AlignmentScorer, apply_in_batches, load_audio
from cmi.reward.scoring.scorers import NamedScorer
from cmi.take import Audio

SOURCE = sources.PublishedCheckpoint("OpenMuQ/MuQ-MuLan-large", "2e01c796b71dca71b45251384c04cd7b237c9020")
SOURCES = (SOURCE,)
VARIANTS = {
    "muq-mulan": BaselineVariant(ALIGNMENT),
    "muq-mulan-all": BaselineVariant(ALIGNMENT, {"whole_prompt": True}),
}
WINDOW = 10 * RATE
NAMES = {r"^mulan\.audio\.": "audio_module.", r"^mulan\.text\.": "text_module.", r"^mulan\.": ""}


class JointSpace(nn.Module):
    """The two towers and their projections into the joint space."""

    def __init__(self, config: MuQMuLanConfig, dim: int) -> None:
        super().__init__()
        self.towers = MuQMuLan(config)
        self.audio_to_latents = nn.Linear(config.audio_tower.dim, dim)
        self.text_to_latents = nn.Linear(config.text_tower.dim, dim)

    def embed_sound(self, windows: Tensor) -> Tensor:
        """(B, n) -> (B, dim), of unit length."""
        tokens = self.towers.encode_sound(windows)
        return functional.normalize(self.audio_to_latents(tokens.mean(dim=1)), dim=-1)

    def embed_text(self, ids: Tensor) -> Tensor:
        tokens = self.towers.encode_text(ids)
        return functional.normalize(self.text_to_latents(tokens.mean(dim=1)), dim=-1)


def windows_of(samples: Tensor) -> Tensor:
    """Windows (N, n), the last completed with the recording's start; shorter than 10 s only if twice it is."""
    whole = samples[: len(samples) // WINDOW * WINDOW].view(-1, WINDOW)
    rest = samples[whole.numel() :]
    if not len(rest):
        return whole
    last = torch.cat([rest, samples[: WINDOW - len(rest)]])[None]
    return torch.cat([whole, last]) if len(whole) else last


class MuQMuLanSimilarity(NamedTuple):
    space: JointSpace
    tokenize: Tokenize
    device: torch.device

    def embed_sound(self, sound: Audio) -> Tensor:
        windows = windows_of(load_audio(sound, RATE)).to(self.device)
        if windows.shape[1] < SHORTEST:
            raise InputError(f"{sound}: too short, expected {SHORTEST} samples or more at {RATE} Hz")
        return apply_in_batches(self.space.embed_sound, windows).mean(dim=0).cpu()

    def embed_text(self, text: str) -> Tensor:
        ids = self.tokenize(text)
        kept = ids if len(ids) <= TEXT_TOKENS else [*ids[: TEXT_TOKENS - 1], ids[-1]]
        return self.space.embed_text(torch.tensor([kept], device=self.device))[0].cpu()


def load(places: Sequence[str], device: str, whole_prompt: bool = False) -> NamedScorer:
    found, space = sources.build(SOURCE, places, _space)
    tokenize, there = load_tokenizer(found.folder, space.towers.config.vocabulary), choose_device(device)
    model = MuQMuLanSimilarity(space.to(there), tokenize, there)
    return NamedScorer(found.name, AlignmentScorer(model.embed_sound, model.embed_text, whole_prompt))


def load_towers(place: str = "", revision: str | None = None) -> tuple[sources.FoundCheckpoint, MuQMuLan]:
    """The two towers alone, in full precision; `place` is a folder or a hub id, by default the published one."""
    source = SOURCE if revision is None else SOURCE._replace(revision=revision)
    found, space = sources.build(source, [place] if place else [], _space)
    return found, space.towers


def _space(state: sources.State, _: object) -> JointSpace:
    state = sources.renamed(
        {key: tensor for key, tensor in state.items() if not key.startswith("mulan.contrast.")}, NAMES
    )
    shapes = sources.shapes_of(state)
    with torch.device("meta"):
        space = JointSpace(encoder_config(shapes), shape(shapes, "audio_to_latents.weight", 2)[0])
    own = {key.removeprefix("towers."): size for key, size in sources.shapes_of(space.state_dict()).items()}
    check_keys(own, shapes)
    latents = ("audio_to_latents.", "text_to_latents.")
    placed = {key if key.startswith(latents) else f"towers.{key}": tensor.float() for key, tensor in state.items()}
    space.load_state_dict(placed, strict=False, assign=True)
    space.towers.restore_buffers()
    return space.requires_grad_(False).eval()
