"""Compute scores and losses of batches of examples, with takes and prompts of any length."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from cmi.reward.model.head import Mask, PromptTokens, RewardHead, mask_of
from cmi.reward.train.config import LossSettings
from cmi.reward.train.data import AXES, RATED, TrainingExample
from cmi.reward.train.embeddings import Embeddings, reference_job, take_job
from cmi.reward.train.loss import RatingLoss, pair_loss
from cmi.take import Axis, Prompt


class Trainee(nn.Module):
    """The trained modules: the head, and the mapping of its scores to ratings."""

    def __init__(self, head: RewardHead, settings: LossSettings) -> None:
        super().__init__()
        self.head = head
        # Scores are computed in fp32, as in scoring: in bf16, close scores would be equal.
        for kind in ("cuda", "cpu"):
            exact = torch.autocast(kind, enabled=False)(head.score_projector.forward)
            head.score_projector.forward = exact  # type: ignore[method-assign]
        self.ratings = nn.ModuleDict({axis: RatingLoss(settings.mapping) for axis in RATED})


class LoadedExamples(NamedTuple):
    """The unpadded tokens of examples: each prompt once, and for each take the index of its prompt."""

    prompts: list[PromptTokens]  # (1, n, D) each
    takes: list[Tensor]  # (1, t, D) each
    owners: list[int]
    wronged: list[tuple[int, int]]  # takes that occur twice, under their own prompt and under a wrong one


def load(examples: Sequence[TrainingExample], embeddings: Embeddings) -> LoadedExamples:
    """Load the takes of all examples in their order, then those under wrong prompts."""
    loaded = LoadedExamples([], [], [], [])
    firsts = []
    for place, example in enumerate(examples):
        firsts.append(len(loaded.takes))
        loaded.prompts.append(_prompt(example.prompt, embeddings))
        for take in example.takes:
            loaded.takes.append(embeddings.tokens(take_job(take, embeddings.window))[None])
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
    reference = None if sound is None else embeddings.tokens(sound)[None]
    text, lyrics = (embeddings.tokens(part)[None] for part in (prompt.text, prompt.lyrics))
    return PromptTokens(text, lyrics, reference)


def score(head: RewardHead, loaded: LoadedExamples, device: torch.device) -> dict[Axis, Tensor]:
    """Return the scores of all takes, by axis: (n,) each. A take's score does not depend on the other takes."""
    loaded = _moved(loaded, device)
    parts = [head.parts(prompt) for prompt in loaded.prompts]
    every = [part for own in parts for part in own] + [(head.eval_downsampler, take) for take in loaded.takes]
    tokens, places = _thinned(every)
    rest = iter(places)
    prompts, prompt_mask = _rows(tokens, [[next(rest) for _ in own] for own in parts])
    takes, take_mask = _rows(tokens, [[place] for place in rest])
    owners = torch.tensor(loaded.owners, device=device)
    fused = head.fuse(prompts, prompt_mask)[owners]
    alignment, musicality = head.judge(
        fused, takes, None if prompt_mask is None else prompt_mask[owners], take_mask
    ).unbind(dim=1)
    return {"musicality": musicality, "alignment": alignment, "overall": (musicality + alignment) / 2}


def _moved(loaded: LoadedExamples, device: torch.device) -> LoadedExamples:
    """Move tensors to the device in fp32, in one transfer, because hundreds of small ones would take too long."""
    tokens = [part for prompt in loaded.prompts for part in prompt if part is not None] + loaded.takes
    flat = torch.cat([part[0] for part in tokens]).to(device, torch.float32)
    rest = iter(part[None] for part in flat.split([part.shape[1] for part in tokens]))
    prompts = [
        PromptTokens(next(rest), next(rest), None if prompt.reference is None else next(rest))
        for prompt in loaded.prompts
    ]
    return loaded._replace(prompts=prompts, takes=list(rest))


def _thinned(parts: Sequence[tuple[nn.Module, Tensor]]) -> tuple[Tensor, list[range]]:
    """Return all tokens after downsampling, concatenated: (N, D), and the slice of each part.

    Parts of equal length that are downsampled alike share a call, because hundreds of small calls would take too long.
    """
    groups: defaultdict[tuple[nn.Module, int], list[int]] = defaultdict(list)
    for i, (downsample, tokens) in enumerate(parts):
        groups[downsample, tokens.shape[1]].append(i)
    found, places, start = [], [range(0)] * len(parts), 0
    for (downsample, _), members in groups.items():
        thinned = downsample(torch.cat([parts[i][1] for i in members]))  # (B, T, D)
        found.append(thinned.flatten(0, 1))
        for i in members:
            places[i] = range(start, start + thinned.shape[1])
            start += thinned.shape[1]
    return torch.cat(found), places


def _rows(tokens: Tensor, rows: Sequence[Sequence[range]]) -> tuple[Tensor, Mask]:
    """Gather rows of tokens by their slices: (B, N, D), and their mask, or None if nothing is padded."""
    lengths = [sum(map(len, row)) for row in rows]
    index = torch.zeros(len(rows), max(lengths), dtype=torch.long)
    for i, row in enumerate(rows):
        index[i, : lengths[i]] = torch.tensor([place for part in row for place in part], dtype=torch.long)
    index = index.to(tokens.device)
    if min(lengths) == index.shape[1]:
        return functional.embedding(index, tokens), None
    mask = mask_of(torch.tensor(lengths, device=tokens.device), index.shape[1])
    assert mask is not None
    return functional.embedding(index, tokens) * mask[:, :, None], mask


def count_labels(examples: Sequence[TrainingExample]) -> Counter[Axis]:
    return Counter(axis for example in examples for axis in example.labels)


def objective(
    trainee: Trainee,
    scores: Mapping[Axis, Tensor],
    examples: Sequence[TrainingExample],
    totals: Mapping[Axis, int],
    settings: LossSettings,
    wronged: Sequence[tuple[int, int]] = (),
) -> Tensor:
    """Return the contribution of these examples to the loss of a batch with `totals` labels; contributions add up."""
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
