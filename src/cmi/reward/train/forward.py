"""From examples to scores, and from scores to the loss: batches of takes of any length, under prompts of any length."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from cmi.reward.model import Mask, PromptTokens, RewardHead, mask_of
from cmi.reward.train.config import LossSettings
from cmi.reward.train.data import AXES, RATED, Example
from cmi.reward.train.embeddings import Embeddings, reference_job, take_job
from cmi.reward.train.loss import RatingLoss, pair_loss
from cmi.take import Axis


class Trainee(nn.Module):
    """What is trained: the head, and what maps its scores to ratings."""

    def __init__(self, head: RewardHead, settings: LossSettings) -> None:
        super().__init__()
        self.head = head
        # Scores are compared: in bf16, of three digits, near ones would be the same. As when scoring, they are exact.
        for kind in ("cuda", "cpu"):
            exact = torch.autocast(kind, enabled=False)(head.score_projector.forward)
            head.score_projector.forward = exact  # type: ignore[method-assign]
        self.ratings = nn.ModuleDict({axis: RatingLoss(settings.mapping) for axis in RATED})


class Loaded(NamedTuple):
    """The tokens of examples, unpadded: each prompt once, and for each take the place of its prompt."""

    prompts: list[PromptTokens]  # (1, n, D) each
    takes: list[Tensor]  # (1, t, D) each
    owners: list[int]


def load(examples: Sequence[Example], embeddings: Embeddings) -> Loaded:
    loaded = Loaded([], [], [])
    for place, example in enumerate(examples):
        prompt, window = example.prompt, embeddings.window
        reference = (
            None if prompt.reference is None else embeddings.sound(reference_job(prompt.reference, window))[None]
        )
        text, lyrics = (embeddings.text(part)[None] for part in (prompt.text, prompt.lyrics))
        loaded.prompts.append(PromptTokens(text, lyrics, reference))
        for take in example.takes:
            loaded.takes.append(embeddings.sound(take_job(take, window))[None])
            loaded.owners.append(place)
    return loaded


def score(head: RewardHead, loaded: Loaded, device: torch.device) -> dict[Axis, Tensor]:
    """The scores of all takes, by axis: (n,) each. A take's score does not depend on its neighbours."""

    def here(tokens: Tensor) -> Tensor:
        return tokens.to(device, torch.float32)

    joined = [
        head.join(PromptTokens(here(p.text), here(p.lyrics), None if p.reference is None else here(p.reference)))[0]
        for p in loaded.prompts
    ]
    prompts, prompt_mask = _padded(joined)
    takes, take_mask = _padded([head.thin(here(take))[0] for take in loaded.takes])
    owners = torch.tensor(loaded.owners, device=device)
    fused = head.fuse(prompts, prompt_mask)[owners]
    alignment, musicality = head.judge(
        fused, takes, None if prompt_mask is None else prompt_mask[owners], take_mask
    ).unbind(dim=1)
    return {"musicality": musicality, "alignment": alignment, "overall": (musicality + alignment) / 2}


def _padded(rows: Sequence[Tensor]) -> tuple[Tensor, Mask]:
    """Rows (n, D) as (B, N, D), and where there are tokens; None if everywhere."""
    padded = pad_sequence(list(rows), batch_first=True)
    if all(len(row) == padded.shape[1] for row in rows):
        return padded, None
    return padded, mask_of(torch.tensor([len(row) for row in rows], device=padded.device), padded.shape[1])


def count_labels(examples: Sequence[Example]) -> Counter[Axis]:
    return Counter(axis for example in examples for axis in example.labels)


def objective(
    trainee: Trainee,
    scores: Mapping[Axis, Tensor],
    examples: Sequence[Example],
    totals: Mapping[Axis, int],
    settings: LossSettings,
) -> Tensor:
    """These examples' part of the loss of a batch that has `totals` labels: the parts of a batch add up to its loss."""
    starts = torch.tensor([0, *(len(example.takes) for example in examples)]).cumsum(0).tolist()
    loss = scores["overall"].new_zeros(())
    for axis in AXES:
        labelled = [(start, e, e.labels[axis]) for start, e in zip(starts, examples, strict=False) if axis in e.labels]
        pairs = [(start, label) for start, example, label in labelled if example.is_pair]
        rated = [(start, label) for start, example, label in labelled if not example.is_pair]
        if pairs:
            first = loss.new_tensor([start for start, _ in pairs], dtype=torch.long)
            weight = loss.new_tensor([label.weight(settings.confidence_weighting) for _, label in pairs])
            difference = scores[axis][first] - scores[axis][first + 1]
            a_preferred = loss.new_tensor([label.value for _, label in pairs])
            part = (weight * pair_loss(difference, a_preferred, settings.label_smoothing)).sum()
            loss = loss + part / totals[axis]
        if rated:
            place = loss.new_tensor([start for start, _ in rated], dtype=torch.long)
            rating = loss.new_tensor([label.value for _, label in rated])
            part = settings.rating_weight * trainee.ratings[axis](scores[axis][place], rating).sum()
            loss = loss + part / totals[axis]
    return loss
