"""The ear's training: to hear in a studio take what was done to it, how much, and what is played.

    flaws        how strong each is, from 0 to 1; all 0 of a clean take
    musicality   one number, higher for the better take of a pair (Bradley-Terry)
    the rest     style, instruments, tempo, density, mode, whether there is a voice, where the studio knows

The last layer, which answers, is dropped: what it answers from is kept.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from cmi.reward.encoders.ear import WIDTH, Ear, log_mel
from cmi.reward.encoders.nano import levelled
from cmi.reward.train.lessons import NAMES, Lessons

FULL_SCALE = 32_768
SHORTEST = 0.4  # of a take that is heard in a step: clips of all lengths are to be judged
WEIGHTS = {"flaw": 8.0, "style": 0.3, "instrument": 1.0, "density": 0.2, "mode": 0.1, "voice": 0.2}
ONE_OF = ("style", "density", "mode")  # subjects with one right name


class Pupil(nn.Module):
    """An ear with a last layer: one output for each name of each subject, the tempo, and musicality."""

    def __init__(self) -> None:
        super().__init__()
        self.ear = Ear()
        self.answer = nn.Linear(2 * WIDTH, sum(map(len, NAMES.values())) + 2)

    def forward(self, mel: Tensor) -> tuple[dict[str, Tensor], Tensor, Tensor]:
        frames = self.ear(mel)  # (B, t, 256)
        out = self.answer(torch.cat([frames.mean(dim=1), frames.amax(dim=1)], dim=-1)).float()
        *parts, tempo, musicality = out.split([*map(len, NAMES.values()), 1, 1], dim=1)
        return dict(zip(NAMES, parts, strict=True)), tempo[:, 0], musicality[:, 0]


def log_mels(sounds: Tensor, device: torch.device, size: int = 32) -> Tensor:
    """Takes of 16-bit integers as the ear gets them, in half precision on the device: (n, T, 96)."""
    parts = [log_mel(levelled(part.to(device).float() / FULL_SCALE)).half() for part in sounds.split(size)]
    return torch.cat(parts)


def train_ear(
    lessons: Lessons,
    mels: Tensor,
    steps: int = 3000,
    batch: int = 64,
    seed: int = 0,
    report: Callable[[int, dict[str, float]], None] = lambda step, losses: None,
) -> Ear:
    """An ear taught on takes whose `mels` are (takes, T, 96); a step hears `batch` pairs and as many single takes."""
    torch.manual_seed(seed)
    device = mels.device
    rng = torch.Generator().manual_seed(seed)
    pupil = Pupil().to(device).train()
    answers = {subject: values.to(device) for subject, values in lessons.answers.items()}
    optimizer = torch.optim.AdamW(pupil.parameters(), lr=2e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps, pct_start=0.05)
    for step in range(steps):
        pairs = lessons.pairs[torch.randint(len(lessons.pairs), (batch,), generator=rng)]
        others = torch.randint(len(lessons.takes), (batch,), generator=rng)
        places = torch.cat([pairs.T.flatten(), others]).to(device)
        length = int(mels.shape[1] * (SHORTEST + (1 - SHORTEST) * float(torch.rand((), generator=rng))))
        start = int(torch.randint(mels.shape[1] - length + 1, (), generator=rng))
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            said, tempo, musicality = pupil(mels[places, start : start + length].float())
        losses = _losses(said, tempo, {subject: values[places] for subject, values in answers.items()})
        better, worse = musicality[: 2 * batch].view(2, batch)
        losses["musicality"] = -functional.logsigmoid(better - worse).mean()
        optimizer.zero_grad()
        torch.stack(list(losses.values())).sum().backward()
        nn.utils.clip_grad_norm_(pupil.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0 or step == steps - 1:
            report(step, {name: float(loss.detach()) for name, loss in losses.items()})
    return pupil.ear.eval()


def _losses(said: dict[str, Tensor], tempo: Tensor, answers: dict[str, Tensor]) -> dict[str, Tensor]:
    """By subject, each with its weight; takes of which nothing is known count for nothing."""
    losses = {}
    for subject, weight in WEIGHTS.items():
        truth = answers[subject]
        known = truth[:, 0] >= 0
        if subject in ONE_OF:
            loss = functional.cross_entropy(said[subject], truth.clamp(min=0), reduction="none")
        else:
            loss = functional.binary_cross_entropy_with_logits(
                said[subject], truth.clamp(min=0), reduction="none"
            ).mean(dim=1)
        losses[subject] = weight * (loss * known).sum() / known.sum().clamp(min=1)
    right = answers["tempo"][:, 0]
    known = ~right.isnan()
    losses["tempo"] = ((tempo - right.nan_to_num()).square() * known).sum() / known.sum().clamp(min=1)
    return losses
