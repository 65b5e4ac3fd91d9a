"""SongEval (Yao et al., 2025): five dimensions of a song's beauty, from 1 to 5, by a head over MuQ's features.

    the whole song, 24 kHz -> MuQ, output of layer 6 -> feed-forward -> four attentions -> mean over time
                                                                     -> maximum over time
    mean and maximum -> five numbers

A song is heard at once, as published, up to LONGEST seconds of it. Musicality is the dimension of that name, unless
another is asked for.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from cmi._util.device import choose_device
from cmi._util.errors import InputError
from cmi.reward.model.encoders.muq_mulan import RATE, SHORTEST, MuQ
from cmi.reward.scoring.baselines import MUSICALITY, BaselineVariant, muq
from cmi.reward.scoring.baselines.listening import MusicalityScorer, hear
from cmi.reward.scoring.baselines.sources import (
    PublishedCheckpoint,
    State,
    checked,
    depth,
    fill,
    find,
    read_state,
    shape,
    shapes_of,
)
from cmi.reward.scoring.scorers import NamedScorer
from cmi.take import Audio

DIMENSIONS = ("coherence", "musicality", "memorability", "clarity", "naturalness")  # in the head's order
LAYER = 6  # of MuQ's
HEADS = 8
LONGEST = 600.0  # seconds; MuQ's attention grows with the square of a song
HEAD = PublishedCheckpoint(
    "",
    "",
    ("model.safetensors",),
    "songeval's head is on no hub: run 'git clone https://github.com/ASLP-lab/SongEval', then name the model "
    "songeval=SongEval/ckpt",
)
SOURCES = (HEAD, muq.SOURCE)
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


class SongEval:
    def __init__(self, ear: MuQ, head: Head, device: torch.device) -> None:
        self.ear = ear.to(device)
        self.head = head.to(device)
        self.device = device

    @torch.inference_mode()
    def judge(self, sound: Audio) -> dict[str, float]:
        """A recording's five dimensions."""
        samples = hear(sound, RATE, LONGEST)
        if len(samples) < SHORTEST:
            raise InputError(f"{sound}: {len(samples)} samples, the fewest that are heard are {SHORTEST}")
        features = muq.hidden_state(self.ear, samples[None].to(self.device), LAYER)
        return dict(zip(DIMENSIONS, self.head(features)[0].tolist(), strict=True))


def load(places: Sequence[str], device: str, dimension: str = "musicality") -> NamedScorer:
    found, ear = find(HEAD, places), find(muq.SOURCE, places, 1)
    head = checked(found.weights, lambda: _head(read_state(found.weights)))
    heard = checked(ear.weights, lambda: muq.load_muq(read_state(ear.weights), ear.config))
    model = SongEval(heard, head, choose_device(device))
    return NamedScorer(f"{found.name}, {ear.name}", MusicalityScorer(lambda sound: model.judge(sound)[dimension]))


def _head(state: State) -> Head:
    shapes = shapes_of(state)
    hidden, dim = shape(shapes, "ffd.0.weight")
    head = Head(dim, hidden, depth(shapes, "attn"))
    fill(head, state)
    return head
