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
from cmi.take import Axis, Prompt


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
    wronged: list[tuple[int, int]]  # takes that are there twice: under their own prompt, and under a wrong one


def load(examples: Sequence[Example], embeddings: Embeddings) -> Loaded:
    """The takes of all examples in their order, then those under wrong prompts."""
    loaded = Loaded([], [], [], [])
    firsts = []
    for place, example in enumerate(examples):
        firsts.append(len(loaded.takes))
        loaded.prompts.append(_prompt(example.prompt, embeddings))
        for take in example.takes:
            loaded.takes.append(embeddings.sound(take_job(take, embeddings.window))[None])
            loaded.owners.append(place)
    for first, example in zip(firsts, examples, strict=True):
        if example.wrong_prompt is not None:
            right = first + example.aligned
            loaded.wronged.append((right, len(loaded.takes)))
            loaded.owners.append(len(loaded.prompts))
            loaded.takes.append(loaded.takes[right])
            loaded.prompts.append(_prompt(example.wrong_prompt, embeddings))
    return loaded


def _prompt(prompt: Prompt, embeddings: Embeddings) -> PromptTokens:
    sound = None if prompt.reference is None else reference_job(prompt.reference, embeddings.window)
    reference = None if sound is None else embeddings.sound(sound)[None]
    text, lyrics = (embeddings.text(part)[None] for part in (prompt.text, prompt.lyrics))
    return PromptTokens(text, lyrics, reference)


def score(head: RewardHead, loaded: Loaded, device: torch.device) -> dict[Axis, Tensor]:
    """The scores of all takes, by axis: (n,) each. A take's score does not depend on its neighbours."""

    loaded = _moved(loaded, device)
    joined = [head.join(prompt)[0] for prompt in loaded.prompts]
    prompts, prompt_mask = _padded(joined)
    takes, take_mask = _padded([head.thin(take)[0] for take in loaded.takes])
    owners = torch.tensor(loaded.owners, device=device)
    fused = head.fuse(prompts, prompt_mask)[owners]
    alignment, musicality = head.judge(
        fused, takes, None if prompt_mask is None else prompt_mask[owners], take_mask
    ).unbind(dim=1)
    return {"musicality": musicality, "alignment": alignment, "overall": (musicality + alignment) / 2}


def _moved(loaded: Loaded, device: torch.device) -> Loaded:
    """On the device, in fp32: by one transfer, since hundreds of small ones cost more than the head."""
    tokens = [part for prompt in loaded.prompts for part in prompt if part is not None] + loaded.takes
    flat = torch.cat([part[0] for part in tokens]).to(device, torch.float32)
    rest = iter(part[None] for part in flat.split([part.shape[1] for part in tokens]))
    prompts = [
        PromptTokens(next(rest), next(rest), None if prompt.reference is None else next(rest))
        for prompt in loaded.prompts
    ]
    return loaded._replace(prompts=prompts, takes=list(rest))


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
    wronged: Sequence[tuple[int, int]] = (),
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
    if wronged:
        right, wrong = (loss.new_tensor(places, dtype=torch.long) for places in zip(*wronged, strict=True))
        difference = scores["alignment"][right] - scores["alignment"][wrong]
        part = pair_loss(difference, torch.ones_like(difference), settings.label_smoothing).sum()
        loss = loss + settings.wrong_prompts * part / totals["alignment"]
    return loss
