"""The training loss, as pure functions of scores.

    L = L_musicality + L_alignment (+ L_overall)

    L_axis = (sum of the pairs' losses + rating_weight * sum of the ratings' losses) / number of labels on that axis

Pairs (Bradley and Terry 1952; the paper's equation 5)
    p(a preferred) = sigmoid(s_a - s_b). The loss is the cross-entropy with label smoothing e: the target is 1 - e/2 for
    the preferred take and e/2 for the other. (The paper's 0.2 thus means 0.9 and 0.1, the usual definition; its printed
    formula is not legible in our copy.) 'overall' compares the means of both scores.

Wrong prompts (ours; `wrong_prompts` is their weight, 0 by default)
    Pairs under one prompt do not determine how scores under different prompts compare. Therefore the take of a pair
    that is preferred on alignment should also score higher than the same take under another pair's prompt: the same
    loss, added to L_alignment.

Ratings y from 1 to 5 (equation 6, and the four mappings of appendix F.1)
    tanh       (c tanh(s) + d - y)^2, initially c = 2 and d = 3, which covers the scale
    linear     (c s + d - y)^2, with the same initial values
    none       (s - y)^2
    ordinal    cumulative link (McCullagh 1980): p(y <= k) = sigmoid(t_k - s) with thresholds t_1 < ... < t_4; the loss
               is -log p(y). A rating between two marks counts as either in proportion.

c stays positive, so that a higher score always means a higher rating. Each axis has its own parameters. They are
dropped after training, because scores are only compared and need no scale.
"""

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

LOWEST, HIGHEST = 1, 5  # ratings
MIDDLE_CONFIDENCE = 3.0
Mapping = Literal["tanh", "linear", "none", "ordinal"]


def pair_loss(difference: Tensor, a_preferred: Tensor, smoothing: float = 0.0) -> Tensor:
    """Cross-entropy of each pair, from s_a - s_b (n,) and whether a was preferred (n,)."""
    target = a_preferred.to(difference.dtype) * (1 - smoothing) + smoothing / 2
    return -target * functional.logsigmoid(difference) - (1 - target) * functional.logsigmoid(-difference)


def confidence_weight(confidence: int | None) -> float:
    """Return a weight from 1/3 to 5/3; 1 in the middle of the scale and for missing confidences."""
    return 1.0 if confidence is None else confidence / MIDDLE_CONFIDENCE


class RatingLoss(nn.Module):
    """The loss of each rating (n,) given its score (n,), on one axis."""

    def __init__(self, mapping: Mapping) -> None:
        super().__init__()
        self.mapping = mapping
        if mapping in ("tanh", "linear"):
            self.log_scale = nn.Parameter(torch.tensor((HIGHEST - LOWEST) / 2).log())
            self.offset = nn.Parameter(torch.tensor((HIGHEST + LOWEST) / 2))
        if mapping == "ordinal":
            marks = HIGHEST - LOWEST
            self.first = nn.Parameter(torch.tensor(-(marks - 1) / 2))
            self.gaps = nn.Parameter(torch.full((marks - 1,), math.log(math.e - 1)))  # softplus of it is 1

    def thresholds(self) -> Tensor:
        """Return the thresholds of the ordinal mapping, in ascending order: (4,)."""
        return self.first + functional.pad(functional.softplus(self.gaps).cumsum(0), (1, 0))

    def forward(self, score: Tensor, rating: Tensor) -> Tensor:
        if self.mapping == "ordinal":
            return ordinal_loss(score, rating, self.thresholds())
        if self.mapping == "none":
            return (score - rating).square()
        bounded = torch.tanh(score) if self.mapping == "tanh" else score
        return (self.log_scale.exp() * bounded + self.offset - rating).square()


def ordinal_loss(score: Tensor, rating: Tensor, thresholds: Tensor) -> Tensor:
    """Return -log p(rating) of each rating under the cumulative link model with these thresholds."""
    end = thresholds.new_full((1,), math.inf)
    edges = torch.cat([-end, thresholds, end]) - score[:, None]  # (n, 6)
    low, high = edges[:, :-1], edges[:, 1:]
    # log(sigmoid(high) - sigmoid(low)), which would be log(0) far from the thresholds
    apart = torch.log(-torch.expm1(low - high))
    log_p = functional.logsigmoid(high) + functional.logsigmoid(-low) + apart  # (n, 5)
    place = (rating - LOWEST).clamp(0, HIGHEST - LOWEST)
    below = place.floor().long().clamp(max=HIGHEST - LOWEST - 1)
    share = place - below
    return -((1 - share) * _at(log_p, below) + share * _at(log_p, below + 1))


def _at(table: Tensor, index: Tensor) -> Tensor:
    return table.gather(1, index[:, None])[:, 0]
