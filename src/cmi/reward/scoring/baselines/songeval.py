"""SongEval (Yao et al., 2025): five aesthetic dimensions of a song, from 1 to 5, by a head on MuQ's features.

    the whole song, 24 kHz -> MuQ, output of layer 6 -> feed-forward -> four attentions -> mean over time
                                                                     -> maximum over time
    mean and maximum -> five numbers

A song is encoded at once, as published, up to LONGEST seconds. Musicality is the dimension of that name, or the one
that the scorer's name states.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from cmi._util.device import choose_device
from cmi._util.errors import InputError
from cmi.reward.model.checkpoint import MUQ as MUQ_PLACE
from cmi.reward.model.checkpoint import check_keys, depth, muq_config, shape
from cmi.reward.model.encoders.muq_mulan import MEL_MEAN, MEL_STD, RATE, SHORTEST, LogMel, MuQ, RotaryPositions
from cmi.reward.scoring.baselines import MUSICALITY, BaselineVariant, sources
from cmi.reward.scoring.baselines.listening import MusicalityScorer, load_audio
from cmi.reward.scoring.scorers import NamedScorer
from cmi.take import Audio

DIMENSIONS = ("coherence", "musicality", "memorability", "clarity", "naturalness")  # in the head's order
LAYER = 6  # of MuQ's
HEADS = 8
LONGEST = 600.0  # seconds; MuQ's attention grows with the square of a song
HEAD = sources.PublishedCheckpoint(
    "",
    "",
    ("model.safetensors",),
    "songeval's head is not on a hub: run 'git clone https://github.com/ASLP-lab/SongEval', then name the model "
    "songeval=SongEval/ckpt",
)
MUQ = sources.PublishedCheckpoint("OpenMuQ/MuQ-large-msd-iter", "0562a57814f6f8bbd9fdea0a25921a2fce1a841a")
SOURCES = (HEAD, MUQ)
VARIANTS = {
    "songeval": BaselineVariant(MUSICALITY),
    **{f"songeval-{one}": BaselineVariant(MUSICALITY, {"dimension": one}) for one in DIMENSIONS if one != "musicality"},
}


class Head(nn.Module):
    """Five numbers for the features of a song. Module names are those of the published checkpoint."""

    def __init__(self, dim: int, hidden: int, layers: int) -> None:
        super().__init__()
        self.attn = nn.ModuleList([nn.MultiheadAttention(dim, HEADS, batch_first=True) for _ in range(layers)])
        self.ffd = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, dim))
        self.fc = nn.Linear(2 * dim, len(DIMENSIONS))

    def forward(self, features: Tensor) -> Tensor:
        x = attended = self.ffd(features)  # (B, T, dim)
        for attention in self.attn:  # without residuals
            attended, _ = attention(attended, attended, attended, need_weights=False)
        pooled = torch.cat([attended.mean(dim=1), x.amax(dim=1)], dim=1)  # (B, 2 dim)
        return 3 + 2 * self.fc(pooled).tanh()  # (B, 5)


def encode_layers(muq: MuQ, samples: Tensor, layers: int) -> Tensor:
    """Return the output of the first `layers` of MuQ's conformer for clips at 24 kHz: (B, n) -> (B, T, dim), 25 Hz."""
    x = muq.conv(muq.mel(samples))
    turns = muq.conformer.embed_positions(x)
    for layer in muq.conformer.layers[:layers]:
        x = layer(x, turns, None)
    return x


class SongEval(NamedTuple):
    muq: MuQ
    head: Head
    device: torch.device

    def judge(self, sound: Audio) -> dict[str, float]:
        """A recording's five dimensions."""
        samples = load_audio(sound, RATE, LONGEST)
        if len(samples) < SHORTEST:
            raise InputError(f"{sound}: {len(samples)} samples, expected {SHORTEST} or more")
        features = encode_layers(self.muq, samples[None].to(self.device), LAYER)
        return dict(zip(DIMENSIONS, self.head(features)[0].tolist(), strict=True))


def load(places: Sequence[str], device: str, dimension: str = "musicality") -> NamedScorer:
    (found, head), (ear, muq) = sources.build(HEAD, places, _head), sources.build(MUQ, places, _muq, 1)
    there = choose_device(device)
    model = SongEval(muq.to(there), head.to(there), there)
    return NamedScorer(f"{found.name}, {ear.name}", MusicalityScorer(lambda sound: model.judge(sound)[dimension]))


def _muq(state: sources.State, config: Mapping[str, Any]) -> MuQ:
    """On our own modules, which know one pair of statistics of spectrograms. Keys begin with `model.`."""
    stated = config.get("stat") or {}
    for key, ours in (("melspec_2048_mean", MEL_MEAN), ("melspec_2048_std", MEL_STD)):
        if abs(float(stated.get(key, ours)) - ours) > 1e-6:
            raise InputError(f"config.json states {key} {stated[key]}, expected {ours}")
    # Under its name in our towers, of whose keys it is known which are never read.
    found = sources.renamed(state, {r"^model\.": f"{MUQ_PLACE}."})
    shapes = sources.shapes_of(found)
    built = muq_config(shapes)
    with torch.device("meta"):
        muq = MuQ(built)
    check_keys({f"{MUQ_PLACE}.{key}": size for key, size in sources.shapes_of(muq.state_dict()).items()}, shapes)
    own = {key.removeprefix(f"{MUQ_PLACE}."): tensor.float() for key, tensor in found.items()}
    muq.load_state_dict(own, strict=False, assign=True)
    muq.mel = LogMel()
    muq.conformer.embed_positions = RotaryPositions(built.conformer_dim // built.conformer_heads)
    return muq.requires_grad_(False).eval()


def _head(state: sources.State, _: object) -> Head:
    shapes = sources.shapes_of(state)
    hidden, dim = shape(shapes, "ffd.0.weight", 2)
    head = Head(dim, hidden, depth(shapes, "attn"))
    sources.fill(head, state)
    return head
