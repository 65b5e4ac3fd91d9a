"""The ear's training: to hear in a take what was done to it, how much, and what is played.

    flaws          how strong each of the studio's is, from 0 to 1; all 0 of a clean take
    degradations   the same of what is done to clean takes here, anew in every step (`degrade.py`)
    musicality     one number, higher for the better take of a pair (Bradley-Terry), of the same piece or of two
    the rest       style, instruments, tempo, density, mode, whether there is a voice, where the studio knows

Every take is heard at a speed and with a tone of its own, so that none is learned by heart, and half of them with
silence in front or through something like a codec, so that neither matters.
"""

import random
from collections.abc import Callable
from typing import NamedTuple

import torch
from degrade import DEGRADATIONS, degraded, harmless, varied
from ear_targets import NAMES, UNKNOWN, Targets
from torch import Tensor, nn
from torch.nn import functional

from cmi.reward.model.encoders.ear import WORD_FRAMES, Ear, log_mel
from cmi.reward.model.encoders.nano import levelled

FULL_SCALE = 32_768
LENGTHS = (0.4, 0.6, 0.8, 1.0)  # of a take that is heard in a step: clips of all lengths are to be judged
WEIGHTS = {
    "flaw": 8.0, "degradation": 8.0, "style": 0.3, "instrument": 1.0, "density": 0.2, "mode": 0.1, "voice": 0.2,
}  # fmt: skip
ONE_OF = ("style", "density", "mode")  # subjects with one right name
SUBJECTS = {**NAMES, "degradation": tuple(DEGRADATIONS)}
WEAKEST = 0.15
APART = 0.25  # in strength, of takes of which one is surely worse
SLIGHTLY = 0.3  # of the takes that are degraded are set against themselves degraded less, the others as they were
DROPOUT = 0.15  # of each word's numbers in a step
HEARD = 64  # takes at once in a test


class Predictions(NamedTuple):
    """An ear's answers: one for each name of each subject (B, names), the tempo (B,), and musicality (B,)."""

    subjects: dict[str, Tensor]
    tempo: Tensor
    musicality: Tensor


class EarTrainer(nn.Module):
    """An ear with dropout, and what it predicts about whole takes."""

    def __init__(self) -> None:
        super().__init__()
        self.ear = Ear()
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, mel: Tensor) -> Predictions:
        frames = self.ear(mel)
        words = self.ear.words(frames, -(-frames.shape[1] // WORD_FRAMES))  # (B, t, 128)
        answers = self.ear.answers(self.dropout(words)).float()
        *parts, tempo, musicality = answers.split([*map(len, SUBJECTS.values()), 1, 1], dim=1)
        return Predictions(dict(zip(SUBJECTS, parts, strict=True)), tempo[:, 0], musicality[:, 0])


class Batch(NamedTuple):
    """A step's takes, `batch` of each: studio pairs (better, then worse), clean takes (a few slightly degraded), and
    the same degraded."""

    sounds: Tensor  # (4 batch, n)
    answers: dict[str, Tensor]
    severity: Tensor  # (4 batch,), 0 of clean takes


def train_ear(
    targets: Targets,
    sounds: Tensor,
    steps: int = 3000,
    batch: int = 48,
    seed: int = 0,
    report: Callable[[int, dict[str, float]], None] = lambda step, losses: None,
) -> Ear:
    """An ear taught on takes whose `sounds` are 16-bit integers on its device, (takes, n)."""
    torch.manual_seed(seed)
    device = sounds.device
    trainer = EarTrainer().to(device).to(memory_format=torch.channels_last).train()  # type: ignore[call-overload]
    answers = {subject: values.to(device) for subject, values in targets.answers.items()}
    batches = _Batches(targets, sounds, answers, batch, seed)
    optimizer = torch.optim.AdamW(trainer.parameters(), lr=2e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps, pct_start=0.05)
    for step in range(steps):
        heard = batches.step()
        mel = log_mel(heard.sounds)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            predicted = trainer(mel)
        losses = _losses(predicted, heard.answers)
        losses["musicality"] = _ranking_loss(predicted.musicality, heard.severity)
        optimizer.zero_grad()
        torch.stack(list(losses.values())).sum().backward()
        nn.utils.clip_grad_norm_(trainer.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0 or step == steps - 1:
            report(step, {name: float(loss.detach()) for name, loss in losses.items()})
    return trainer.ear.eval()


class _Batches:
    """What is heard in each step, from a seed."""

    def __init__(self, targets: Targets, sounds: Tensor, answers: dict[str, Tensor], batch: int, seed: int) -> None:
        self._pairs = targets.pairs
        self._sounds = sounds
        self._answers = answers
        self._batch = batch
        self._severity = answers["flaw"].amax(dim=1)
        self._clean = (self._severity == 0).nonzero()[:, 0]
        self._chance = random.Random(seed)  # noqa: S311
        self._rng = torch.Generator().manual_seed(seed)
        self._device_rng = torch.Generator(sounds.device).manual_seed(seed)

    def step(self) -> Batch:
        batch, device = self._batch, self._sounds.device
        pairs = self._pairs[torch.randint(len(self._pairs), (batch,), generator=self._rng)].T.flatten().to(device)
        clean = self._clean[torch.randint(len(self._clean), (batch,), generator=self._rng).to(device)]
        places = torch.cat([pairs, clean])
        length = int(self._sounds.shape[1] * self._chance.choice(LENGTHS))
        start = self._chance.randint(0, self._sounds.shape[1] - length)
        sounds = levelled(self._sounds[places, start : start + length].float() / FULL_SCALE)
        sounds, faster = varied(sounds, self._device_rng)
        strength = WEAKEST + (1 - WEAKEST) * torch.rand(batch, generator=self._device_rng, device=device)
        kinds = [self._chance.choice(SUBJECTS["degradation"]) for _ in range(batch)]
        worse = degraded(sounds[2 * batch :], strength, kinds, self._device_rng)
        count = int(SLIGHTLY * batch)
        slight = strength * torch.rand(batch, generator=self._device_rng, device=device) * 0.7
        slight[count:] = 0
        better = sounds[2 * batch :]
        better[:count] = degraded(better[:count], slight[:count], kinds[:count], self._device_rng)
        every = levelled(harmless(levelled(torch.cat([sounds, worse])), self._device_rng))
        severity = torch.cat([self._severity[pairs], slight, strength])
        known = self._known(torch.cat([places, clean]), torch.cat([slight, strength]), kinds)
        known["tempo"] += torch.cat([faster, faster[2 * batch :]])[:, None]
        return Batch(every, known, severity)

    def _known(self, places: Tensor, strength: Tensor, kinds: list[str]) -> dict[str, Tensor]:
        """What was done to a studio's take is not among the degradations, and the other way round."""
        batch, known = self._batch, {subject: values[places] for subject, values in self._answers.items()}
        known["flaw"][2 * batch :][strength > 0] = UNKNOWN
        done = torch.full((4 * batch, len(DEGRADATIONS)), UNKNOWN, device=places.device)
        done[2 * batch :] = 0
        columns = torch.tensor([SUBJECTS["degradation"].index(kind) for kind in kinds], device=places.device)
        done[torch.arange(2 * batch, 4 * batch, device=places.device), columns.repeat(2)] = strength
        return {**known, "degradation": done}


def _ranking_loss(musicality: Tensor, severity: Tensor) -> Tensor:
    """Of the studio's pairs, of clean takes against themselves degraded, and of any two that are plainly apart."""
    better, worse, clean, degraded_ones = musicality.chunk(4)
    same = functional.softplus(torch.cat([worse - better, degraded_ones - clean])).mean()
    gap = severity[None] - severity[:, None]  # how much worse the second is
    sure = (gap > APART).float()
    across = functional.softplus(musicality[None] - musicality[:, None])
    return same + (across * sure).sum() / sure.sum().clamp(min=1)


def _losses(predicted: Predictions, answers: dict[str, Tensor]) -> dict[str, Tensor]:
    """By subject, each with its weight; takes of which nothing is known count for nothing."""
    losses = {}
    for subject, weight in WEIGHTS.items():
        truth, said = answers[subject], predicted.subjects[subject]
        known = truth[:, 0] >= 0
        if subject in ONE_OF:
            loss = functional.cross_entropy(said, truth.clamp(min=0), reduction="none")
        else:
            loss = functional.binary_cross_entropy_with_logits(said, truth.clamp(min=0), reduction="none").mean(dim=1)
        losses[subject] = weight * (loss * known).sum() / known.sum().clamp(min=1)
    right = answers["tempo"][:, 0]
    known = ~right.isnan()
    losses["tempo"] = ((predicted.tempo - right.nan_to_num()).square() * known).sum() / known.sum().clamp(min=1)
    return losses


@torch.no_grad()
def ear_accuracy(ear: Ear, targets: Targets, sounds: Tensor) -> float:
    """How often the better take of a pair has the higher musicality; NaN if there are no pairs."""
    trainer = EarTrainer().to(sounds.device).eval()
    trainer.ear = ear
    parts = (part.float() / FULL_SCALE for part in sounds.split(HEARD))
    predicted = torch.cat([trainer(log_mel(levelled(part))).musicality for part in parts])
    better, worse = predicted[targets.pairs.to(predicted.device)].T
    return float((better > worse).float().mean())
