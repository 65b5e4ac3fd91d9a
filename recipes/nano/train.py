"""Trains and measures ways to tell how well a recording is made, on real music made worse in many ways.

    python recipes/nano/train.py CLIPS OUT --seconds 540      on a GPU; CLIPS is a folder of `clips.py`

CLIPS also holds `musicnn.pt` (`carry.py`). One run makes a set of clips in groups, all heard once, and trains on it:

    group     a clip as it is (at a speed and of a tone of its own), the same after something harmless, and three that
              are worse: one flaw at two strengths, and another flaw, or two of them one after the other
    linear    one weight for each number of `hear.summary`
    critic    a network on log-mels (`hear.Critic`), from nano's ear where that helps

Each is trained three times: on all flaws, and twice with whole families left out (`flaws.FOLDS`), so that every family
left out is also measured by a model that never met it. The songs measured on are of packages that none was trained on.
OUT/*.pt hold the weights, OUT/scores.pt what each said of every test clip: `table.py` prints it.
"""

import argparse
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import torch
from degrade import varied
from flaws import FAMILIES, FLAWS, FOLDS, chained, not_music, unhurt
from hear import PARTS, Critic, Linear, Widths, load_nets, musicnn_names, summary
from numpy.typing import NDArray
from packs import FULL_SCALE, HEARD, HEARD_RATE, read_pack, read_rows
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from cmi.reward.model.checkpoint import split_state
from cmi.reward.model.encoders import musicnn
from cmi.reward.model.encoders import nano as encoder
from cmi.reward.model.encoders.ear import log_mel
from cmi.reward.model.encoders.musicnn import Musicnn
from cmi.reward.model.encoders.nano import levelled
from cmi.reward.model.head import Downsampling, HeadConfig, PromptTokens, RewardHead
from cmi.studio.flaws import FLAWS as STUDIO_FLAWS
from cmi.studio.flaws import SOUND_FLAWS, TAPE_FLAWS, SoundFlaw

NAMES = tuple(FLAWS)
GROUP = 5  # clean, harmless, worse, the same flaw worse still, another flaw
TOGETHER = 24  # groups that are made at once
LENGTHS = (6, 8, 10, 12)  # seconds that are summed up
WEAKEST = 0.1
CHAINED = 0.35  # of the last of each group
TEST_STRENGTHS = (0.3, 0.6, 1.0)
TEST_CLIPS = 36
NOT_MUSIC = 20  # in each batch
CRITICS = {  # their names, whether they begin as nano's ear, and their share of the time
    "all": (("critic from ear", True, 0.35), ("critic", False, 0.2)),
    "last": (("critic from ear", True, 0.5), ("critic", False, 0.5)),
    "fold0": (("critic from ear", True, 0.22),),
    "fold1": (("critic from ear", True, 0.22),),
}


class Known(NamedTuple):
    """Clips that were heard: what they are, and what was heard."""

    mels: Tensor  # (n, 1200, 96), half precision
    sums: Tensor  # (n, width), half precision
    strength: Tensor  # (n, kinds): how strong each flaw is
    before: Tensor  # (n,): what nano says today, where it is asked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=540, help="that all may take")
    parser.add_argument("--made", type=float, default=0.35, help="the share of them in which clips are made")
    parser.add_argument("--tiny", action="store_true", help="a few clips and steps, to see that it runs")
    parser.add_argument("--only-all", action="store_true", help="no folds: the last training, on everything")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    Run(arguments).run()


class Run:
    """One training, within its time."""

    def __init__(self, arguments: Any) -> None:
        self.started = time.time()
        self.folder: Path = arguments.clips
        self.out: Path = arguments.out
        self.seconds: float = arguments.seconds
        self.tiny: bool = arguments.tiny
        self.only_all: bool = arguments.only_all
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.make_until = arguments.made * self.seconds
        torch.backends.cudnn.benchmark = False
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.backends.cudnn.allow_tf32 = True
        self.rng = torch.Generator(self.device).manual_seed(0)
        self.for_critics = 0.0
        self.chance = random.Random(0)  # noqa: S311
        variables = torch.load(self.folder / "musicnn.pt")
        first, second = load_nets(variables)
        self.nets: tuple[Musicnn, Musicnn] = (first.to(self.device), second.to(self.device))
        self.widths: Widths | None = None
        self.nano = (
            Today(self.folder, self.nets).to(self.device) if (self.folder / "nano.safetensors").exists() else None
        )

    def say(self, text: str) -> None:
        print(f"{time.time() - self.started:6.1f} s  {text}", flush=True)

    def left(self) -> float:
        return self.seconds - (time.time() - self.started)

    def run(self) -> None:
        train, test = self.read_music()
        tests, test_rows = self.make_test(test)
        strange = self.hear_parts(lambda n: not_music((n, HEARD), train.float(), self.rng), 7 if self.tiny else 700)
        known, songs = self.make_train(train)
        self.say(f"{len(known.mels)} clips made of {len(train)}")
        self.wait_for("studio-test")
        extra = {name: self.hear_pack(name) for name in ("studio", "studio-test", "speech") if self.has(name)}
        if self.has("people"):
            extra["people"] = self.hear_pack("people", HEARD * 10 // 12)
        folds: list[tuple[str, tuple[str, ...]]] = [("last" if self.only_all else "all", ())]
        if not self.only_all:
            folds += [(f"fold{place}", fold) for place, fold in enumerate(FOLDS)]
        scores: dict[str, Any] = {"rows": test_rows, "widths": self.widths, "families": FAMILIES, "names": NAMES}
        bad = torch.cat([strange.mels, extra["speech"].mels]), torch.cat([strange.sums, extra["speech"].sums])
        scores["nano 1"] = {"tests": tests.before.cpu(), **{key: value.before.cpu() for key, value in extra.items()}}
        scores["studio rows"] = read_rows(self.folder, "studio-test") if self.has("studio-test") else []
        scores["people rows"] = read_rows(self.folder, "people") if self.has("people") else []
        self.say(f"nano 1: {_right(tests.before.cpu(), test_rows)}")
        self.for_critics = self.left() - 30 * len(folds)
        for name, fold in folds:
            self.fit(name, fold, known, bad, extra.get("studio"), tests, extra, scores)
            torch.save(scores, self.out / "scores.pt")
        self.say(f"done; songs {songs}")

    def wait_for(self, name: str) -> None:
        """Until another process has written a pack, but not for long."""
        end = time.time() + (0 if self.tiny else 40)
        while not self.has(name) and time.time() < end:
            time.sleep(1)

    def has(self, name: str) -> bool:
        return (self.folder / f"{name}.json").exists()

    def read_music(self) -> tuple[Tensor, Tensor]:
        parts = [read_pack(self.folder, name, self.device) for name in ("music-a", "music-b") if self.has(name)]
        clips = torch.cat([part[0] for part in parts])
        tested = torch.tensor([row["test"] for part in parts for row in part[1]], device=self.device)
        self.say(f"{len(clips)} clips read, {int(tested.sum())} for tests")
        first = torch.tensor([row["test"] for row in parts[0][1]], device=self.device)
        return clips[~tested], parts[0][0][first][: 4 if self.tiny else TEST_CLIPS]

    @torch.no_grad()
    def hear(self, sounds: Tensor, length: int = HEARD, before: bool = True) -> Known:
        """Of levelled clips; numbers of the first `length` samples of each."""
        sums, self.widths = summary(levelled(sounds[:, :length]), self.nets)
        mels = log_mel(sounds)
        said = self.nano(sounds) if before and self.nano else torch.zeros(len(sounds), device=self.device)
        return Known(mels.half(), sums.half(), torch.zeros(len(sounds), len(NAMES), device=self.device), said)

    def hear_parts(self, make: Callable[[int], Tensor], count: int) -> Known:
        return joined([self.hear(make(min(112, count - start))) for start in range(0, count, 112)])

    def hear_pack(self, name: str, length: int = HEARD) -> Known:
        clips, _ = read_pack(self.folder, name, self.device)
        clips = clips[: 8 if self.tiny else len(clips), :length]
        found = joined([self.hear(levelled(part.float() / FULL_SCALE)) for part in clips.split(112)])
        self.say(f"{name}: {len(clips)} clips heard")
        return found

    def make_test(self, clips: Tensor) -> tuple[Known, list[tuple[int, str, float]]]:
        """Every clip as it is, coded, and with every flaw at every strength."""
        clean = levelled(clips.float() / FULL_SCALE)
        parts, rows = [self.hear(clean)], [(i, "", 0.0) for i in range(len(clean))]
        rng = torch.Generator(self.device).manual_seed(99)
        parts.append(self.hear(unhurt(clean, rng)))
        rows += [(i, "unhurt", 0.0) for i in range(len(clean))]
        for name in NAMES[-3:] if self.tiny else NAMES:
            for strength in TEST_STRENGTHS:
                spoilt = [
                    FLAWS[name](part, torch.full((len(part),), strength, device=self.device), rng)
                    for part in clean.split(8)
                ]
                parts.append(self.hear(levelled(torch.cat(spoilt))))
                rows += [(i, name, strength) for i in range(len(clean))]
        otherwise, more = studio_flaws(clips[:2] if self.tiny else clips)
        parts += [self.hear(levelled(part.to(self.device))) for part in otherwise.split(48)]
        rows += more
        strange = not_music((7 if self.tiny else 70, HEARD), clean, rng)
        parts.append(self.hear(strange))
        rows += [(i, "not music", 1.0) for i in range(len(strange))]
        self.say(f"{len(rows)} test clips made")
        return joined(parts), rows

    def make_train(self, clips: Tensor) -> tuple[Known, int]:
        """Groups until it is time."""
        parts: list[Known] = []
        order: list[int] = []
        while (len(parts) < 2) if self.tiny else (time.time() - self.started < self.make_until and len(parts) < 1000):
            if len(order) < TOGETHER:
                order = list(range(len(clips)))
                self.chance.shuffle(order)
            own, order = order[:TOGETHER], order[TOGETHER:]
            parts.append(self.make_groups(clips[torch.tensor(own, device=self.device)]))
        return joined(parts), len(clips)

    def make_groups(self, clips: Tensor) -> Known:
        """(n, HEARD) -> 5 n clips, group after group."""
        count, device = len(clips), self.device
        clean, _ = varied(levelled(clips.float() / FULL_SCALE), self.rng)
        clean = levelled(clean)
        kinds = [[self.choose_flaw() for _ in range(3)] for _ in range(count)]
        strong = WEAKEST + (1 - WEAKEST) * torch.rand(count, generator=self.rng, device=device)
        weak = strong * (0.25 + 0.5 * torch.rand(count, generator=self.rng, device=device))
        other = WEAKEST + (1 - WEAKEST) * torch.rand(count, generator=self.rng, device=device)
        both = torch.rand(count, generator=self.rng, device=device) < CHAINED
        first, second = [k[0] for k in kinds], [k[1] for k in kinds]
        worse, worst = chained(clean, weak, first, self.rng), chained(clean, strong, first, self.rng)
        another = chained(clean, other, second, self.rng)
        chosen = both.nonzero()[:, 0]
        if len(chosen):
            third = [kinds[int(i)][2] for i in chosen]
            another[chosen] = chained(another[chosen], other[chosen], third, self.rng)
        rows = torch.stack([clean, clean, worse, worst, another], dim=1)  # (n, 5, HEARD)
        touched = torch.rand(count, GROUP, generator=self.rng, device=device) < 0.4
        touched[:, 0], touched[:, 1] = False, True
        places = touched.nonzero()
        rows[places[:, 0], places[:, 1]] = unhurt(rows[places[:, 0], places[:, 1]], self.rng)
        strength = torch.zeros(count, GROUP, len(NAMES), device=device)
        every = torch.arange(count, device=device)
        strength[every, 2, self._places(first)] = weak
        strength[every, 3, self._places(first)] = strong
        strength[every, 4, self._places(second)] = other
        if len(chosen):
            strength[chosen, 4, self._places([kinds[int(i)][2] for i in chosen])] = other[chosen]
        length = HEARD * self.chance.choice(LENGTHS) // 12
        heard = [self.hear(part, length, before=False) for part in rows.flatten(0, 1).split(GROUP * TOGETHER)]
        return joined(heard)._replace(strength=strength.flatten(0, 1))

    def choose_flaw(self) -> str:
        """By turns any flaw, and one of any family, so that small families are heard as often as large ones."""
        return self.chance.choice(NAMES if self.chance.random() < 0.6 else self.chance.choice(list(FAMILIES.values())))

    def _places(self, names: Sequence[str]) -> Tensor:
        return torch.tensor([NAMES.index(name) for name in names], device=self.device)

    def fit(
        self,
        name: str,
        fold: tuple[str, ...],
        known: Known,
        bad: tuple[Tensor, Tensor],
        studio: Known | None,
        tests: Known,
        extra: dict[str, Known],
        scores: dict[str, Any],
    ) -> None:
        """All kinds of models on all flaws but those of the fold."""
        out = torch.tensor([any(flaw in FAMILIES[family] for family in fold) for flaw in NAMES], device=self.device)
        usable = ~((known.strength > 0) & out).any(dim=1).view(-1, GROUP)  # (groups, 5)
        assert self.widths is not None
        for label, used in (
            ("linear", ("musicnn", "mel")),
            ("linear+", PARTS),
            ("linear light", ("mel", "ear", "memory")),
        ):
            mask = torch.cat(
                [torch.full((width,), float(part in used)) for part, width in self.widths._asdict().items()]
            )
            model = self.fit_linear(mask.to(self.device), known, usable, bad[1], studio)
            self.keep(f"{label} {name}", model, partial(_summed, model), tests, extra, bad, scores)
        for label, start, share in CRITICS[name]:
            critic = self.fit_critic(4 if self.tiny else share * self.for_critics, start, known, usable, bad[0], studio)
            self.keep(f"{label} {name}", critic, partial(_judged, critic), tests, extra, bad, scores)

    def keep(
        self,
        name: str,
        model: nn.Module,
        judge: Callable[[Known], Tensor],
        tests: Known,
        extra: dict[str, Known],
        bad: tuple[Tensor, Tensor],
        scores: dict[str, Any],
    ) -> None:
        if name.endswith(("all", "last")):
            state = {key: tensor.half() if "ear" in key else tensor for key, tensor in model.state_dict().items()}
            torch.save(state, self.out / f"{name.replace(' ', '-').replace('+', '-plus')}.pt")
        with torch.no_grad():
            scores[name] = {"tests": judge(tests).cpu(), **{key: judge(value).cpu() for key, value in extra.items()}}
            torch.save(scores, self.out / "scores.pt")
        self.say(f"{name}: {_right(scores[name]['tests'], scores['rows'])}")

    def fit_linear(self, used: Tensor, known: Known, usable: Tensor, bad: Tensor, studio: Known | None) -> Linear:
        sums = known.sums.view(-1, GROUP, known.sums.shape[1])
        clean = sums[:, 0].float()
        model = Linear(clean.mean(dim=0), clean.std(dim=0), used).to(self.device)
        inputs = torch.cat([model.inputs(part.float()).half() for part in sums.split(512)])
        strange = model.inputs(bad.float())
        studied = None if studio is None else model.inputs(studio.sums.float())
        optimizer = torch.optim.AdamW([model.weight], lr=1e-3, weight_decay=1.0)
        steps = 20 if self.tiny else 2500
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = 1e-3 * min(1.0, 2 * (1 - step / steps) + 0.02)
            rows = torch.randint(len(sums), (256,), generator=self.rng, device=self.device)
            keep = (torch.rand(inputs.shape[2], generator=self.rng, device=self.device) > 0.3).float() / 0.7
            weight = model.weight * keep
            odd = torch.randint(len(strange), (64,), generator=self.rng, device=self.device)
            strength = known.strength.view(-1, GROUP, len(NAMES))[rows].amax(dim=2)
            loss = _ranking(inputs[rows].float() @ weight, strength, usable[rows], strange[odd] @ weight)
            if studied is not None:
                pairs = (studied @ weight).view(-1, 2)
                loss = loss + 0.3 * functional.softplus(pairs[:, 1] - pairs[:, 0]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return model.eval()

    def fit_critic(
        self, seconds: float, from_ear: bool, known: Known, usable: Tensor, bad: Tensor, studio: Known | None
    ) -> Critic:
        torch.manual_seed(0)
        critic = Critic(len(NAMES)).to(self.device).to(memory_format=torch.channels_last).train()  # type: ignore[call-overload]
        if from_ear:
            critic.ear.load_state_dict(torch.load(self.folder / "ear.pt"))
        groups = 6 if self.tiny else 40
        mels = known.mels.view(-1, GROUP, *known.mels.shape[1:])
        strengths = known.strength.view(-1, GROUP, len(NAMES))
        top = 1e-3 if from_ear else 2e-3
        optimizer = torch.optim.AdamW(critic.parameters(), lr=top, weight_decay=0.05)
        begun, step, share = time.time(), 0, 0.0
        while share < 1:
            share = min(1.0, (time.time() - begun) / seconds)
            optimizer.param_groups[0]["lr"] = top * min(1, step / 100 + 0.01) * (1 - share + 0.003)
            rows = torch.randint(len(mels), (groups,), generator=self.rng, device=self.device)
            odd = torch.randint(len(bad), (NOT_MUSIC,), generator=self.rng, device=self.device)
            batch = [mels[rows].flatten(0, 1), bad[odd]]
            if studio is not None:
                chosen = torch.randint(len(studio.mels) // 2, (groups // 2,), generator=self.rng, device=self.device)
                batch.append(studio.mels.view(-1, 2, *studio.mels.shape[1:])[chosen].flatten(0, 1))
            heard = self._varied_mels(torch.cat(batch).float(), groups)
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
                told = critic(heard)
            own = told[: groups * GROUP].view(groups, GROUP, -1)
            strange = told[groups * GROUP : groups * GROUP + NOT_MUSIC, 0]
            kept = usable[rows]
            loss = _ranking(own[:, :, 0], strengths[rows].amax(dim=2), kept, strange)
            told_kinds = functional.binary_cross_entropy_with_logits(own[:, :, 1:], strengths[rows], reduction="none")
            loss = loss + 6 * (told_kinds.mean(dim=2) * kept).sum() / kept.sum()
            if studio is not None:
                pairs = told[groups * GROUP + NOT_MUSIC :, 0].view(-1, 2)
                loss = loss + 0.7 * functional.softplus(pairs[:, 1] - pairs[:, 0]).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(critic.parameters(), 1.0)
            optimizer.step()
            step += 1
        self.say(f"critic: {step} steps, loss {float(loss.detach()):.3f}")
        return critic.eval()

    def _varied_mels(self, mels: Tensor, groups: int) -> Tensor:
        """A part of all, and for each group a tone of its own (a curve over bands) and a bit less or more level."""
        length = self.chance.choice((500, 700, 900, 1200))
        start = self.chance.randint(0, mels.shape[1] - length)
        cut = mels[:, start : start + length]
        curves = torch.randn(groups, 1, 5, generator=self.rng, device=self.device) * 0.05
        smooth = functional.interpolate(curves, cut.shape[2], mode="linear")  # (groups, 1, 96)
        added = torch.zeros(len(cut), 1, cut.shape[2], device=self.device)
        added[: groups * GROUP] = smooth.repeat_interleave(GROUP, dim=0)
        return (cut + added).clamp(min=-2)


class Today(nn.Module):
    """nano as it is, asked for nothing: what it says of musicality."""

    def __init__(self, folder: Path, nets: tuple[Musicnn, Musicnn]) -> None:
        super().__init__()
        state = load_file(folder / "nano.safetensors")
        parts = split_state(state)
        found = dict(zip(musicnn_names(), nets, strict=True))
        with patch.object(encoder, "load_minilm", nn.Identity), patch.object(musicnn, "load_musicnn", found.get):
            self.encoder, self.head = encoder.Nano(), RewardHead(_today())
        self.encoder.load_state_dict(parts["encoder"], strict=False)
        self.head.load_state_dict(parts["head"])
        self.register_buffer("empty", torch.load(folder / "empty.pt"))
        self.eval()

    @torch.no_grad()
    def forward(self, sounds: Tensor) -> Tensor:
        empty = self.get_buffer("empty").expand(len(sounds), -1, -1)
        return self.head(PromptTokens(empty, empty), self.encoder.encode_sound(sounds))[:, 1]


def _today() -> HeadConfig:
    own = Downsampling("mean+mlp", 1, mlp_ratio=1.0)
    return HeadConfig(
        dim=encoder.DIM, heads=6, dim_head=64, ff_hidden=768, prompt_depth=2, joint_depth=2, mlp_dim=256,
        take=own, reference=own, text=own,
    )  # fmt: skip


def studio_flaws(clips: Tensor) -> tuple[Tensor, list[tuple[int, str, float]]]:
    """Clips with each of the studio's flaws of recordings, which work otherwise than those learned from."""
    jobs = [
        (place, flaw.name, strength)
        for flaw in (*SOUND_FLAWS, *TAPE_FLAWS)
        if flaw.keeps_level
        for strength in TEST_STRENGTHS
        for place in range(len(clips))
    ]
    sounds = (clips.float() / FULL_SCALE).cpu().numpy()
    with ThreadPoolExecutor(16) as pool:
        spoilt = list(pool.map(lambda job: _spoil(sounds[job[0]], *job), jobs))
    return torch.from_numpy(np.stack(spoilt)), [(place, f"studio {name}", strength) for place, name, strength in jobs]


def _spoil(sound: NDArray[np.float32], place: int, name: str, strength: float) -> NDArray[np.float32]:
    flaw = STUDIO_FLAWS[name]
    assert isinstance(flaw, SoundFlaw)
    return flaw.apply(sound[:, None], HEARD_RATE, strength, np.random.default_rng(place))[:, 0]


def _summed(model: Linear, known: Known) -> Tensor:
    return model(known.sums.float())


def _judged(critic: Critic, known: Known) -> Tensor:
    return torch.cat([critic(part.float())[:, 0] for part in known.mels.split(256)])


def joined(parts: Sequence[Known]) -> Known:
    return Known(*(torch.cat(column) for column in zip(*parts, strict=True)))


def _ranking(own: Tensor, strength: Tensor, usable: Tensor, strange: Tensor) -> Tensor:
    """Of scores (groups, 5): clean, harmless, worse, worst, another; what is not music is below what is not ruined."""
    clean, twin, worse, worst, another = own.unbind(dim=1)
    use = usable.float()
    better = torch.stack([clean, twin, clean, clean, worse], dim=1)
    lesser = torch.stack([worse, worst, worst, another, worst], dim=1)
    there = torch.stack([use[:, 2], use[:, 3], use[:, 3], use[:, 4], use[:, 3]], dim=1)
    same = (functional.softplus(lesser - better) * there).sum() / there.sum().clamp(min=1)
    intact = torch.cat([clean, twin])
    bad, sure = own[:, 2:].flatten(), (use[:, 2:] * (strength[:, 2:] / 0.4).clamp(max=1)).flatten()
    across = functional.softplus(bad[None] - intact[:, None]) * sure[None]
    apart = across.sum() / (sure.sum() * len(intact)).clamp(min=1)
    tolerable = own.flatten()[((strength < 0.6) & usable).flatten()]
    odd = functional.softplus(1.0 + strange[None] - tolerable[:, None]).mean()
    return same + 1.5 * apart + 0.5 * odd + 0.3 * (clean - twin).square().mean()


def _right(scores: Tensor, rows: Sequence[tuple[int, str, float]]) -> str:
    """How often clean clips are above flawed ones, by strength: of the same clip, and of others."""
    clean = scores[torch.tensor([name == "" for _, name, _ in rows])]
    found = []
    for strength in TEST_STRENGTHS:
        places = [
            i
            for i, (_, name, own) in enumerate(rows)
            if own == strength and name != "not music" and not name.startswith("studio")
        ]
        bad, owner = scores[torch.tensor(places)], torch.tensor([rows[i][0] for i in places])
        same = (clean[owner] > bad).float().mean()
        across = (clean[:, None] > bad[None]).float().mean()
        found.append(f"{100 * same:.1f}/{100 * across:.1f}")
    return ", ".join(found)


if __name__ == "__main__":
    main()
