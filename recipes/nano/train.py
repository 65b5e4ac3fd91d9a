"""Trains and measures nano's `craft`: how well a recording is made, on real music made worse in many ways.

    python recipes/nano/train.py hear CLIPS HEARD.pt     on a GPU; CLIPS is a folder of `clips.py` and `carry.py`
    python recipes/nano/train.py fit HEARD.pt OUT        every variant, or those named

`hear` makes a set of clips in groups, all heard once:

    group     a clip as it is (at a speed and of a tone of its own), the same after something harmless, and three that
              are worse: one flaw at two strengths, and another flaw, or two of them one after the other

Songs measured on are of packages that none was trained on: the first TEST_CLIPS are reported, the next as many are for
choosing, and of the next as many ('fresh') only the studio's flaws are reported, by what was chosen. OUT/*.pt hold the
weights, OUT/scores.pt what each said of every clip: `table.py` prints it.
"""

import argparse
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from degrade import varied
from flaws import FAMILIES, FLAWS, chained, not_music, unhurt
from hear import Judge, Listener
from numpy.typing import NDArray
from packs import FULL_SCALE, HEARD, HEARD_RATE, read_pack, read_rows
from torch import Tensor
from torch.nn import functional

from cmi.reward.model.encoders.craft import WIDTH
from cmi.reward.model.encoders.nano import levelled
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
SPEECH = 32  # clips learned from; the others are measured with
MUSIC = ("music-b", "music-c", "music-r")
LEFT_OUT = ("drascula-music",)  # its licence forbids to sell it alone
FLOOR, PLUS, EAR = 6503, 7249, 7874  # numbers of musicnn; of log-mels, what comes again and pulse; and of the ear

Row = tuple[int, str, float]  # clip, flaw, strength


class Variant(NamedTuple):
    """How a `Judge` is made and taught."""

    used: tuple[tuple[int, int], ...] = ((0, WIDTH),)  # numbers
    curved: bool = False
    hidden: int = 0
    apart: float = 1.5  # weight of pairs across clips
    decay: float = 1.0
    dropped: float = 0.3
    steps: int = 2500
    rate: float = 1e-3
    studio: float = 0.3  # weight of the studio's pairs
    rendered: bool = True  # whether rendered music is learned from, too
    odd: float = 1.0  # the margin by which music is above what is none
    seed: int = 0


COUNTED = (FLOOR, PLUS), (EAR, WIDTH)
VARIANTS = {
    "floor": Variant(((0, FLOOR),)),
    "linear+": Variant(((0, PLUS),)),
    "linear++": Variant(((0, EAR),)),
    "linear++, songs alone": Variant(((0, EAR),), rendered=False),
    "linear+ counted": Variant(((0, PLUS), (EAR, WIDTH))),
    "linear": Variant(),
    "light": Variant(COUNTED),
    "light curved": Variant(COUNTED, curved=True),
    "light 256": Variant(COUNTED, curved=True, hidden=256),
    "curved+ counted": Variant(((0, PLUS), (EAR, WIDTH)), curved=True),
    "curved": Variant(curved=True),
    "curved, songs alone": Variant(curved=True, rendered=False),
    "curved, apart 4": Variant(curved=True, apart=4.0),
    "curved, odd 3": Variant(curved=True, odd=3.0),
    "256+ counted": Variant(((0, PLUS), (EAR, WIDTH)), curved=True, hidden=256),
    "256": Variant(curved=True, hidden=256),
    "256, songs alone": Variant(curved=True, hidden=256, rendered=False),
    "256, apart 4": Variant(curved=True, hidden=256, apart=4.0),
    "256, dropped 0.6": Variant(curved=True, hidden=256, dropped=0.6),
    "256, decay 3": Variant(curved=True, hidden=256, decay=3.0),
    "64": Variant(curved=True, hidden=64),
    "64, dropped 0.6": Variant(curved=True, hidden=64, dropped=0.6),
    "256, seed 1": Variant(curved=True, hidden=256, seed=1),
    "256, seed 2": Variant(curved=True, hidden=256, seed=2),
    "256, 6000 steps": Variant(curved=True, hidden=256, steps=6000),
}


class Known(NamedTuple):
    """Clips that were heard: what they are, and what was heard."""

    sums: Tensor  # (n, WIDTH), half precision
    strength: Tensor  # (n, kinds): how strong each flaw is
    before: Tensor  # (n,): what nano said before, where it is asked
    rendered: Tensor  # (n,): whether it was made of rendered music


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    steps = parser.add_subparsers(dest="step", required=True)
    hear, fit = steps.add_parser("hear"), steps.add_parser("fit")
    hear.add_argument("clips", type=Path)
    hear.add_argument("heard", type=Path)
    hear.add_argument("--made", type=float, default=240, help="seconds in which clips are made")
    fit.add_argument("heard", type=Path)
    fit.add_argument("out", type=Path)
    fit.add_argument("--only", nargs="*", default=list(VARIANTS), help="variants")
    for step in (hear, fit):
        step.add_argument("--tiny", action="store_true", help="a few clips and steps, to see that it runs")
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if arguments.step == "hear":
        torch.save(Maker(arguments.clips, arguments.made, device, arguments.tiny).hear_all(), arguments.heard)
    else:
        arguments.out.mkdir(parents=True, exist_ok=True)
        heard = torch.load(arguments.heard, weights_only=False, map_location=device)
        Trainer(heard, arguments.out, device, arguments.tiny).run(arguments.only)


class Talker:
    """Says what happens, and when."""

    def __init__(self) -> None:
        self.started = time.time()

    def say(self, text: str) -> None:
        print(f"{time.time() - self.started:6.1f} s  {text}", flush=True)


class Maker(Talker):
    """Makes clips and hears them."""

    def __init__(self, folder: Path, made: float, device: torch.device, tiny: bool) -> None:
        super().__init__()
        self.folder, self.made, self.device, self.tiny = folder, made, device, tiny
        self.rng = torch.Generator(device).manual_seed(0)
        self.chance = random.Random(0)  # noqa: S311
        self.listener = Listener(folder).to(device)

    def hear_all(self) -> dict[str, Any]:
        train, rendered, (test, valid, fresh) = self.read_music()
        made = {
            "tests": self.make_test(test, 99),
            "valid": self.make_test(valid, 98),
            "fresh": self.make_test(fresh, 97, ()),
        }
        strange = self.hear_parts(lambda n: not_music((n, HEARD), train.float(), self.rng), 7 if self.tiny else 1400)
        known = self.make_train(train, rendered)
        self.say(f"{len(known.sums)} clips made of {len(train)}")
        packs = {name: self.hear_pack(name) for name in ("studio", "studio-test", "speech", "people") if self.has(name)}
        self.say("packs heard")
        speech = packs["speech"].sums[:SPEECH]
        asked = {name: own for name, (own, _) in made.items()} | packs | {"speech": _cut(packs["speech"], SPEECH)}
        rows: dict[str, Any] = {name: own for name, (_, own) in made.items()}
        rows |= {name: read_rows(self.folder, name) for name in ("studio-test", "people") if self.has(name)}
        bad = torch.cat([strange.sums, speech.repeat(len(strange.sums) // 300 + 1, 1)])
        return {"known": known, "bad": bad, "studio": packs.get("studio"), "asked": asked, "rows": rows}

    def has(self, name: str) -> bool:
        return (self.folder / f"{name}.json").exists()

    def read_music(self) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Clips to learn from, and which are rendered; and to report, to choose by, and to report what was chosen."""
        packs = [read_pack(self.folder, name, self.device) for name in MUSIC if self.has(name)]
        learned = [clips[[row["package"] not in LEFT_OUT for row in rows]] for clips, rows in packs]
        tested, _ = read_pack(self.folder, "tests", self.device)
        count = 3 if self.tiny else TEST_CLIPS
        self.say(f"{sum(map(len, learned))} clips to learn from, {len(tested)} others")
        rendered = [row["package"] == "rendered" for _, rows in packs for row in rows if row["package"] not in LEFT_OUT]
        tests = [tested[start : start + count] for start in (0, count, 2 * count)]
        return torch.cat(learned), torch.tensor(rendered, device=self.device), tests

    @torch.no_grad()
    def hear(self, sounds: Tensor, length: int = HEARD, before: bool = True) -> Known:
        """Of levelled clips; numbers of the first `length` samples of each."""
        sums = self.listener.summary(sounds[:, :length])[:, 0]
        said = self.listener.musicality(sounds[:, :length]) if before else sums.new_zeros(len(sums))
        none = torch.zeros(len(sounds), len(NAMES), device=self.device)
        return Known(sums.clamp(-6e4, 6e4).half(), none, said, none[:, 0] > 0)

    def hear_parts(self, make: Callable[[int], Tensor], count: int) -> Known:
        return joined([self.hear(make(min(112, count - start))) for start in range(0, count, 112)])

    def hear_pack(self, name: str) -> Known:
        clips, _ = read_pack(self.folder, name, self.device)
        clips = clips[: 8 if self.tiny else len(clips), : HEARD * 10 // 12 if name == "people" else HEARD]
        return joined([self.hear(levelled(part.float() / FULL_SCALE), clips.shape[1]) for part in clips.split(112)])

    def make_test(self, clips: Tensor, seed: int, flaws: Sequence[str] = NAMES) -> tuple[Known, list[Row]]:
        """Every clip as it is, after something harmless, with every flaw at every strength; what is no music."""
        clean = levelled(clips.float() / FULL_SCALE)
        parts, rows = [self.hear(clean)], [(i, "", 0.0) for i in range(len(clean))]
        rng = torch.Generator(self.device).manual_seed(seed)
        parts.append(self.hear(unhurt(clean, rng)))
        rows += [(i, "unhurt", 0.0) for i in range(len(clean))]
        for name in flaws[-3:] if self.tiny else flaws:
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
        strange = not_music((7 if self.tiny else 140, HEARD), clean, rng)
        parts.append(self.hear(strange))
        rows += [(i, "not music", 1.0) for i in range(len(strange))]
        self.say(f"{len(rows)} test clips made")
        return joined(parts), rows

    def make_train(self, clips: Tensor, rendered: Tensor) -> Known:
        """Groups until it is time."""
        parts: list[Known] = []
        order: list[int] = []
        begun = time.time()
        while len(parts) < 2 if self.tiny else time.time() - begun < self.made:
            if len(order) < TOGETHER:
                order = list(range(len(clips)))
                self.chance.shuffle(order)
            own, order = order[:TOGETHER], order[TOGETHER:]
            places = torch.tensor(own, device=self.device)
            made = self.make_groups(clips[places])
            parts.append(made._replace(rendered=rendered[places].repeat_interleave(GROUP)))
        return joined(parts)

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
        length = HEARD * self.chance.choice(LENGTHS) // 12
        heard = [self.hear(part, length, before=False) for part in rows.flatten(0, 1).split(GROUP * TOGETHER)]
        return joined(heard)._replace(strength=strength.flatten(0, 1))

    def choose_flaw(self) -> str:
        """By turns any flaw, and one of any family, so that small families are heard as often as large ones."""
        return self.chance.choice(NAMES if self.chance.random() < 0.6 else self.chance.choice(list(FAMILIES.values())))

    def _places(self, names: Sequence[str]) -> Tensor:
        return torch.tensor([NAMES.index(name) for name in names], device=self.device)


class Trainer(Talker):
    """Trains every variant on the same clips."""

    def __init__(self, heard: dict[str, Any], out: Path, device: torch.device, tiny: bool) -> None:
        super().__init__()
        self.out, self.device, self.tiny = out, device, tiny
        self.rng = torch.Generator(device).manual_seed(0)
        self.known: Known = heard["known"]
        self.bad: Tensor = heard["bad"]
        self.studio: Known | None = heard["studio"]
        self.asked: dict[str, Known] = heard["asked"]
        self.scores: dict[str, Any] = {"families": FAMILIES, "rows": heard["rows"]}
        self.scores["nulls"] = {name: nulls(own.sums).cpu() for name, own in self.asked.items()}
        self.scores["nano"] = {name: own.before.cpu() for name, own in self.asked.items()}

    def run(self, names: Sequence[str]) -> None:
        self.say(f"nano: {_right(self.scores['nano']['valid'], self.scores['rows']['valid'])}")
        for name in names:
            self.keep(name, self.fit(VARIANTS[name]))
            self.say(f"{name}: {_right(self.scores[name]['valid'], self.scores['rows']['valid'])}")
        torch.save(self.scores, self.out / "scores.pt")

    def fit(self, variant: Variant) -> Judge:
        torch.manual_seed(variant.seed)
        self.rng.manual_seed(variant.seed)
        known, studio = self.known, self.studio
        used = torch.zeros(WIDTH, dtype=torch.bool, device=self.device)
        for first, last in variant.used:
            used[first:last] = True
        taken = known.rendered[::GROUP] <= variant.rendered
        sums = known.sums.view(-1, GROUP, known.sums.shape[1])[taken]
        strengths = known.strength.view(-1, GROUP, len(NAMES)).amax(dim=2)[taken]
        model = Judge(sums[:, 0].float(), used, variant.curved, variant.hidden).train()
        inputs = torch.cat([model.inputs(part.float()).half() for part in sums.split(512)])
        strange = model.inputs(self.bad.float())
        studied = None if studio is None else model.inputs(studio.sums.float())
        taught = [parameter for parameter in model.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(taught, lr=variant.rate, weight_decay=variant.decay)
        steps = 20 if self.tiny else variant.steps
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = variant.rate * min(1.0, 2 * (1 - step / steps) + 0.02)
            rows = torch.randint(len(sums), (256,), generator=self.rng, device=self.device)
            drawn = torch.rand(inputs.shape[2], generator=self.rng, device=self.device)
            keep = (drawn > variant.dropped).float() / (1 - variant.dropped)
            odd = torch.randint(len(strange), (64,), generator=self.rng, device=self.device)
            own = model.judge(inputs[rows].float(), keep)
            loss = _ranking(own, strengths[rows], model.judge(strange[odd], keep), variant)
            if studied is not None:
                pairs = model.judge(studied, keep).view(-1, 2)
                loss = loss + variant.studio * functional.softplus(pairs[:, 1] - pairs[:, 0]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return model.eval()

    @torch.no_grad()
    def keep(self, name: str, judge: Judge) -> None:
        state = {
            key: tensor.cpu().half() if "layer" in key else tensor.cpu() for key, tensor in judge.state_dict().items()
        }
        torch.save(state, self.out / f"{name.replace(' ', '-').replace(',', '').replace('+', 'p')}.pt")
        self.scores[name] = {pack: judge(own.sums).cpu() for pack, own in self.asked.items()}


def nulls(sums: Tensor) -> Tensor:
    """Of summaries: level, brightness, how much changes and how fast, over all of the ear's bands; (n, 4)."""
    mean, deviation, _, change = sums[:, FLOOR : FLOOR + 384].float().view(len(sums), 4, 96).unbind(dim=1)
    bright = mean[:, 48:].mean(dim=1) - mean[:, :48].mean(dim=1)
    found = torch.stack([mean.mean(dim=1), bright, deviation.mean(dim=1), change.mean(dim=1)], dim=1)
    return (found - found.mean(dim=0)) / found.std(dim=0)


def studio_flaws(clips: Tensor) -> tuple[Tensor, list[Row]]:
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


def _cut(known: Known, count: int) -> Known:
    return Known(*(column[count:] for column in known))


def joined(parts: Sequence[Known]) -> Known:
    return Known(*(torch.cat(column) for column in zip(*parts, strict=True)))


def _ranking(own: Tensor, strength: Tensor, strange: Tensor, variant: Variant) -> Tensor:
    """Of scores (groups, 5): clean, harmless, worse, worst, another; what is not music is below what is not ruined."""
    clean, twin, worse, worst, another = own.unbind(dim=1)
    better = torch.stack([clean, twin, clean, clean, worse], dim=1)
    lesser = torch.stack([worse, worst, worst, another, worst], dim=1)
    same = functional.softplus(lesser - better).mean()
    intact = torch.cat([clean, twin])
    bad, sure = own[:, 2:].flatten(), (strength[:, 2:] / 0.4).clamp(max=1).flatten()
    across = functional.softplus(bad[None] - intact[:, None]) * sure[None]
    apart = across.sum() / (sure.sum() * len(intact)).clamp(min=1)
    tolerable = own.flatten()[(strength < 0.6).flatten()]
    odd = functional.softplus(variant.odd + strange[None] - tolerable[:, None]).mean()
    return same + variant.apart * apart + 0.5 * odd + 0.3 * (clean - twin).square().mean()


def _right(scores: Tensor, rows: Sequence[Row]) -> str:
    """How often clean clips are above those of the studio's flaws, by strength: of the same clip, and of others."""
    clean = scores[torch.tensor([name == "" for _, name, _ in rows])]
    found = []
    for strength in TEST_STRENGTHS:
        places = [i for i, (_, name, own) in enumerate(rows) if own == strength and name.startswith("studio")]
        bad, owner = scores[torch.tensor(places)], torch.tensor([rows[i][0] for i in places])
        same = (clean[owner] > bad).float().mean()
        across = (clean[:, None] > bad[None]).float().mean()
        found.append(f"{100 * same:.1f}/{100 * across:.1f}")
    return ", ".join(found)


if __name__ == "__main__":
    main()
