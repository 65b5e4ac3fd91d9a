"""What a clip is tagged as: musicnn's two networks (Pons and Serra), 100 tags with their log-odds.

A tag's lift is its log-odds less those of its share in the networks' training data, since `rock` is likely everywhere
there. Shares fall with a tag's rank, which both lists keep; the two curves below pass within a factor of 1.5 of the
counts that the data sets' authors publish.
"""

import math
from collections.abc import Mapping

import numpy as np
import torch

from cmi.bench.ask import Question
from cmi.bench.ask.clips import clip
from cmi.reward.model.encoders.musicnn import MSD_TAGS, MTT_TAGS, RATE, SHORTEST, Musicnn, load_musicnn, mel

LONGEST = 60.0  # seconds
Lifts = Mapping[str, float]  # by tag, in lower case; of a tag that both networks know, the mean


def _share(rank: int, first: float, half: float) -> float:
    """The share of tracks with the tag of that rank: `first` at rank 0, half of it at rank `half`."""
    return first / (1 + rank / half)


def _log_odds(share: float) -> float:
    return math.log(share / (1 - share))


_PRIORS = {
    "MTT_musicnn": [_log_odds(_share(rank, 0.19, 6)) for rank in range(len(MTT_TAGS))],
    "MSD_musicnn": [_log_odds(_share(rank, 0.42, 3)) for rank in range(len(MSD_TAGS))],
}


class Tagger:
    def __init__(self) -> None:
        self._networks: dict[str, tuple[Musicnn, tuple[str, ...]]] = {
            "MTT_musicnn": (load_musicnn("MTT_musicnn"), MTT_TAGS),
            "MSD_musicnn": (load_musicnn("MSD_musicnn"), MSD_TAGS),
        }

    def lifts(self, question: Question) -> Lifts:
        samples = torch.from_numpy(clip(question, RATE, LONGEST).samples)
        samples = torch.nn.functional.pad(samples, (0, max(0, SHORTEST - len(samples))))
        heard = mel(samples[None])
        found: dict[str, list[float]] = {}
        for name, (network, tags) in self._networks.items():
            odds = network.odds(network.frames(heard))[0].tolist()
            for tag, value, prior in zip(tags, odds, _PRIORS[name], strict=True):
                found.setdefault(tag.lower(), []).append(value - prior)
        return {tag: float(np.mean(values)) for tag, values in found.items()}
