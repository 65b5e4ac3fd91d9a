"""Trains and measures nano's `craft`: how well a recording is made, on real music made worse in many ways.

    python recipes/nano/train.py hear CLIPS HEARD --seed 0    on a GPU; CLIPS is a folder of `clips.py` and `carry.py`
    python recipes/nano/train.py ask CLIPS HEARD              what is measured on, and what codecs do
    python recipes/nano/train.py fit HEARD OUT                every variant, or those named

`hear` makes clips in groups, all heard once; several of them, each with a seed of its own, use a GPU better than one:

    group     a clip as it is (at a speed and of a tone of its own), the same after something harmless, and three that
              are worse: one flaw at two strengths, and another flaw, or two of them one after the other. Half of the
              flaws are eased: what is flawed is mixed with what it was

Songs measured on are of packages that none was trained on: the first TEST_CLIPS are reported, the next as many are for
choosing, and of the next as many ('fresh') only the studio's flaws are reported, by what was chosen. The studio's flaws
are made at 44.1 kHz. OUT/*.pt hold the weights, OUT/scores.pt what each said of every clip: `table.py` prints it.
"""

import argparse
import io
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from degrade import varied
from flaws import FAMILIES, FLAWS, MOVED, chained, not_music, unhurt
from hear import Judge, Layer, Listener, Teller
from numpy.typing import NDArray
from packs import FULL_SCALE, HEARD, HEARD_RATE, SECONDS, read_pack, read_rows
from scipy import fft
from torch import Tensor
from torch.nn import functional

from cmi.reward.model.encoders.craft import HIDDEN, KINDS, WIDTH
from cmi.reward.model.encoders.nano import levelled
from cmi.studio.flaws import FLAWS as STUDIO_FLAWS
from cmi.studio.flaws import SOUND_FLAWS, TAPE_FLAWS, SoundFlaw

NAMES = tuple(FLAWS)
GROUP = 5  # clean, harmless, worse, the same flaw worse still, another flaw
TOGETHER = 24  # groups that are made at once
LENGTHS = (6, 8, 10, 12)  # seconds that are summed up
WEAKEST, WEAKER = 0.05, (1.0, 1.5)  # in half of the groups more of the strengths are weak
EASED, LEAST_SHARE = 0.5, 0.12
TOUCHED = 0.3  # of those that are worse, by something harmless too
CHAINED = 0.35  # of the last of each group
TEST_STRENGTHS = (0.3, 0.6, 1.0)
TEST_CLIPS = 36
SPEECH = 32  # clips learned from; the others are measured with
MUSIC = ("music-b", "music-c", "music-d", "music-r")
PACKS = ("studio", "studio-test", "speech", "sounds", "sounds-test", "people")
FLAWED_RATE = 44_100  # at which the studio's flaws and codecs are made, as of most files
CODECS = ("mp3", "ogg")
UNSTEADY = Path(__file__).with_name("unsteady.txt")  # numbers that mp3 or ogg move by 0.17 deviations
LEFT_OUT = ("drascula-music",)  # its licence forbids to sell it alone
EAR = 7874  # numbers of musicnn and of the ear; those after them are counted
PROCESSES = 14

Row = tuple[int, str, float]  # clip, flaw, strength


class Variant(NamedTuple):
    """How a layer is made and taught."""

    hidden: int = HIDDEN
    apart: float = 2.0  # weight of pairs across clips
    same: float = 1.0  # weight of pairs of the same clip
    sharp: float = 1.0  # how much of their differences counts as a whole one
    coded: float = 0.3  # weight of codecs' changes, squared
    named: float = 0.0  # weight of naming the flaws: with it, a judgement is made of the odds of each
    louder: float = 1.0  # how much larger what is counted is, so that it is weighed more
    decay: float = 1.0
    dropped: float = 0.3
    dropped_counted: float = 0.3
    steps: int = 2500
    groups: int = 512  # of a step
    rate: float = 1e-3
    studio: float = 0.3  # weight of the studio's pairs
    odd: float = 1.0  # the margin by which music is above what is none
    seed: int = 0


VARIANTS = {
    "ranked": Variant(sharp=4.0, same=2.0),
    "named": Variant(hidden=0, named=1.0, louder=2.0, dropped_counted=0.1),
}


class Known(NamedTuple):
    """Clips that were heard: what they are, and what was heard."""

    sums: Tensor  # (n, WIDTH), half precision
    strength: Tensor  # (n,): how strong the flaw is
    before: Tensor  # (n,): what nano said before, where it is asked
    kinds: Tensor  # (n, 2): which flaws it has; -1 for none


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    steps = parser.add_subparsers(dest="step", required=True)
    hear, ask, fit = (steps.add_parser(name) for name in ("hear", "ask", "fit"))
    for step in (hear, ask):
        step.add_argument("clips", type=Path)
    for step in (hear, ask, fit):
        step.add_argument("heard", type=Path)
        step.add_argument("--tiny", action="store_true", help="a few clips and steps, to see that it runs")
    hear.add_argument("--made", type=float, default=240, help="seconds in which clips are made")
    hear.add_argument("--seed", type=int, default=0)
    for step in (hear, ask):
        step.add_argument("--packs", nargs="*", default=MUSIC, help="of music to learn from")
    fit.add_argument("out", type=Path)
    fit.add_argument("--only", nargs="*", default=list(VARIANTS), help="variants")
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    arguments.heard.mkdir(parents=True, exist_ok=True)
    if arguments.step == "hear":
        maker = Maker(arguments.clips, arguments.seed, arguments.tiny, arguments.packs)
        known = maker.make_train(arguments.made)
        torch.save(known, arguments.heard / f"known-{arguments.seed}.pt")
    elif arguments.step == "ask":
        ask_all(arguments.clips, arguments.heard, arguments.tiny, arguments.packs)
    else:
        arguments.out.mkdir(parents=True, exist_ok=True)
        Trainer(arguments.heard, arguments.out, arguments.tiny).run(arguments.only)


def best_device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Talker:
    """Says what happens, and when."""

    def __init__(self) -> None:
        self.started = time.time()

    def say(self, text: str) -> None:
        print(f"{time.time() - self.started:6.1f} s  {text}", flush=True)


class Maker(Talker):
    """Makes clips and hears them."""

    def __init__(self, folder: Path, seed: int, tiny: bool, music: Sequence[str] = MUSIC) -> None:
        super().__init__()
        self.folder, self.device, self.tiny, self.music = folder, best_device(), tiny, music
        self.rng = torch.Generator(self.device).manual_seed(seed)
        self.chance = random.Random(seed)  # noqa: S311
        self.listener = Listener(folder).to(self.device)

    def read_music(self) -> Tensor:
        """Clips to learn from."""
        packs = [read_pack(self.folder, name, self.device) for name in self.music if has(self.folder, name)]
        kept = [[row["package"] not in LEFT_OUT for row in rows] for _, rows in packs]
        clips = torch.cat([clips[own] for (clips, _), own in zip(packs, kept, strict=True)])
        self.say(f"{len(clips)} clips to learn from")
        return clips

    @torch.no_grad()
    def hear(self, sounds: Tensor, length: int = HEARD, before: bool = True) -> Known:
        """Of levelled clips; numbers of the first `length` samples of each."""
        sums = self.listener.summary(sounds[:, :length])[:, 0]
        said = self.listener.musicality(sounds[:, :length]) if before else sums.new_zeros(len(sums))
        none = torch.zeros(len(sounds), device=self.device)
        kinds = torch.full((len(sounds), 2), -1, device=self.device)
        return Known(sums.clamp(-6e4, 6e4).half(), none, said, kinds)

    def hear_parts(self, make: Callable[[int], Tensor], count: int) -> Known:
        return joined([self.hear(make(min(112, count - start))) for start in range(0, count, 112)])

    def hear_pack(self, name: str) -> Known:
        clips, _ = read_pack(self.folder, name, self.device)
        clips = clips[: 8 if self.tiny else len(clips), : HEARD * 10 // 12 if name == "people" else HEARD]
        return joined([self.hear(levelled(part.float() / FULL_SCALE), clips.shape[1]) for part in clips.split(112)])

    def hear_sounds(self, sounds: NDArray[np.int16]) -> Known:
        """Of one length."""
        parts = torch.from_numpy(sounds).split(112)
        return joined([self.hear(levelled(part.to(self.device).float()), sounds.shape[1]) for part in parts])

    def make_test(
        self, clips: Tensor, otherwise: tuple[NDArray[np.int16], list[Row]], seed: int, flaws: Sequence[str] = NAMES
    ) -> tuple[Known, list[Row]]:
        """Every clip as it is, after something harmless, with every flaw at every strength; what is no music."""
        clean = levelled(clips.to(self.device).float() / FULL_SCALE)
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
        parts.append(self.hear_sounds(otherwise[0]))
        rows += otherwise[1]
        strange = not_music((7 if self.tiny else 140, HEARD), clean, rng)
        parts.append(self.hear(strange))
        rows += [(i, "not music", 1.0) for i in range(len(strange))]
        self.say(f"{len(rows)} test clips made")
        return joined(parts), rows

    def make_train(self, seconds: float) -> Known:
        """Groups until it is time."""
        clips = self.read_music()
        parts: list[Known] = []
        order: list[int] = []
        begun, together = time.time(), 4 if self.tiny else TOGETHER
        while len(parts) < 2 if self.tiny else time.time() - begun < seconds:
            if len(order) < together:
                order = list(range(len(clips)))
                self.chance.shuffle(order)
            own, order = order[:together], order[together:]
            places = torch.tensor(own, device=self.device)
            parts.append(self.make_groups(clips[places]))
        self.say(f"{len(parts) * together * GROUP} clips made")
        return joined(parts)

    def make_groups(self, clips: Tensor) -> Known:
        """(n, HEARD) -> 5 n clips, group after group."""
        count, device = len(clips), self.device
        clean, _ = varied(levelled(clips.float() / FULL_SCALE), self.rng)
        clean = levelled(clean)
        kinds = [[self.choose_flaw() for _ in range(3)] for _ in range(count)]
        weaker = self.chance.choice(WEAKER)
        strong, other = (WEAKEST + (1 - WEAKEST) * self.random(count) ** weaker for _ in range(2))
        weak = strong * (0.25 + 0.5 * self.random(count))
        first, second = [k[0] for k in kinds], [k[1] for k in kinds]
        share, other_share = self.draw_shares(first), self.draw_shares(second)
        worse = chained(clean, weak, first, self.rng, share)
        worst = chained(clean, strong, first, self.rng, share)
        another = chained(clean, other, second, self.rng, other_share)
        chosen = (self.random(count) < CHAINED).nonzero()[:, 0]
        named = torch.full((count, GROUP, 2), -1, device=device)
        named[:, 2:4, 0] = torch.tensor([NAMES.index(kind) for kind in first], device=device)[:, None]
        named[:, 4, 0] = torch.tensor([NAMES.index(kind) for kind in second], device=device)
        if len(chosen):
            third = [kinds[int(i)][2] for i in chosen]
            another[chosen] = chained(another[chosen], other[chosen], third, self.rng, self.draw_shares(third))
            named[chosen, 4, 1] = torch.tensor([NAMES.index(kind) for kind in third], device=device)
        rows = torch.stack([clean, clean, worse, worst, another], dim=1)  # (n, 5, HEARD)
        touched = self.random(count, GROUP) < TOUCHED
        touched[:, 0], touched[:, 1] = False, True
        places = touched.nonzero()
        rows[places[:, 0], places[:, 1]] = unhurt(rows[places[:, 0], places[:, 1]], self.rng)
        none = torch.zeros(count, device=device)
        strength = torch.stack([none, none, weak * share, strong * share, other * other_share], dim=1)
        length = HEARD * self.chance.choice(LENGTHS) // 12
        heard = [self.hear(part, length, before=False) for part in rows.flatten(0, 1).split(GROUP * TOGETHER)]
        return joined(heard)._replace(strength=strength.flatten(0, 1), kinds=named.flatten(0, 1))

    def choose_flaw(self) -> str:
        """By turns any flaw, and one of any family, so that small families are heard as often as large ones."""
        return self.chance.choice(NAMES if self.chance.random() < 0.6 else self.chance.choice(list(FAMILIES.values())))

    def draw_shares(self, kinds: Sequence[str]) -> Tensor:
        """How much of each flawed clip is mixed with what it was; all of those that would be doubled by that."""
        whole = torch.tensor([kind in MOVED for kind in kinds], device=self.device)
        share = LEAST_SHARE + (1 - LEAST_SHARE) * self.random(len(kinds))
        return torch.where(whole | (self.random(len(kinds)) > EASED), torch.ones_like(share), share)

    def random(self, *shape: int) -> Tensor:
        return torch.rand(shape, generator=self.rng, device=self.device)


def ask_all(folder: Path, heard: Path, tiny: bool, music: Sequence[str]) -> None:
    """Hears what is measured on, and the same clips before and after codecs."""
    cpu = torch.device("cpu")
    tested, _ = read_pack(folder, "tests", cpu)
    count = 2 if tiny else TEST_CLIPS
    songs = {name: tested[i * count :][:count] for i, name in enumerate(("tests", "valid", "fresh"))}
    learned = [read_pack(folder, name, cpu)[0] for name in music if has(folder, name)]
    with ProcessPoolExecutor(PROCESSES) as pool:  # before the GPU is used: it can't be shared with forks
        otherwise = {name: studio_flaws(clips, pool) for name, clips in songs.items()}
        clips = torch.cat(learned)[:8:4] if tiny else torch.cat(learned)
        coded = list(pool.map(_code, clips.numpy(), [CODECS[i % 2] for i in range(len(clips))], chunksize=4))
    maker = Maker(folder, 1000, tiny)
    maker.say(f"{len(coded)} clips coded")
    both = np.stack([clips.numpy(), np.stack(coded)], axis=1).reshape(-1, HEARD)
    known: dict[str, Any] = {"coded": maker.hear_sounds(both).sums}
    seeds = {"tests": 99, "valid": 98, "fresh": 97}
    flaws = {"valid": NAMES}
    made = {
        name: maker.make_test(own, otherwise[name], seeds[name], flaws.get(name, ())) for name, own in songs.items()
    }
    like = torch.zeros(1, device=maker.device)
    known["bad"] = maker.hear_parts(lambda n: not_music((n, HEARD), like, maker.rng), 7 if tiny else 1400).sums
    known["asked"] = {name: own for name, (own, _) in made.items()}
    known["asked"] |= {name: maker.hear_pack(name) for name in PACKS if has(folder, name)}
    known["rows"] = {name: own for name, (_, own) in made.items()}
    known["rows"] |= {name: read_rows(folder, name) for name in PACKS if has(folder, name)}
    torch.save(known, heard / "asked.pt")
    maker.say("all asked")


def has(folder: Path, name: str) -> bool:
    return (folder / f"{name}.json").exists()


class Trainer(Talker):
    """Trains every variant on the same clips."""

    def __init__(self, folder: Path, out: Path, tiny: bool) -> None:
        super().__init__()
        self.out, self.device, self.tiny = out, best_device(), tiny
        self.rng = torch.Generator(self.device).manual_seed(0)
        load = partial(torch.load, weights_only=False, map_location=self.device)
        self.known = joined([load(path) for path in sorted(folder.glob("known-*.pt"))])
        heard: dict[str, Any] = load(folder / "asked.pt")
        self.asked: dict[str, Known] = heard["asked"]
        self.asked |= {path.stem: load(path) for path in folder.glob("more-*.pt")}  # heard by others
        speech = self.asked["speech"]
        self.asked["speech"] = _cut(speech, SPEECH)
        self.bad = torch.cat([heard["bad"], *[speech.sums[:SPEECH]] * 4])  # not `sounds`: some music is as strange
        self.coded = heard["coded"]
        self.studio = self.asked.pop("studio", None)
        self.scores: dict[str, Any] = {"families": FAMILIES, "rows": heard["rows"]}
        self.scores["nano"] = {name: own.before.cpu() for name, own in self.asked.items()}
        self.unsteady = [int(place) for place in UNSTEADY.read_text(encoding="utf-8").split()]
        self.say(f"{len(self.known.sums)} clips, {len(self.coded)} coded or to be, {len(self.bad)} of no music")

    def run(self, names: Sequence[str]) -> None:
        for name in names:
            self.keep(name, self.fit(VARIANTS[name]))
            self.say(f"{name}: {_right(self.scores[name]['valid'], self.scores['rows']['valid'])}")
            torch.save(self.scores, self.out / "scores.pt")

    def fit(self, variant: Variant) -> Layer:
        torch.manual_seed(variant.seed)
        self.rng.manual_seed(variant.seed)
        known, studio = self.known, self.studio
        used = torch.ones(WIDTH, dtype=torch.bool, device=self.device)
        used[self.unsteady] = False
        sums, strengths = known.sums.view(-1, GROUP, WIDTH), known.strength.view(-1, GROUP)
        kinds = known.kinds.view(-1, GROUP, 2)
        clean = sums[:16_384, 0].float()
        model: Layer
        if variant.named:
            gain = torch.where(torch.arange(WIDTH, device=self.device) < EAR, 1.0, variant.louder)
            model = Teller(clean, used, KINDS, variant.hidden, gain).train()
        else:
            model = Judge(clean, used, variant.hidden).train()
        inputs = torch.cat([model.inputs(part.float()).half() for part in sums.split(512)])
        strange = model.inputs(self.bad.float())
        coded = torch.cat([model.inputs(part.float()) for part in self.coded.split(512)]).view(-1, 2, WIDTH)
        studied = None if studio is None else model.inputs(studio.sums.float()).view(-1, 2, WIDTH)
        taught = [parameter for parameter in model.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(taught, lr=variant.rate, weight_decay=variant.decay)
        dropped = torch.full((WIDTH,), variant.dropped, device=self.device)
        dropped[EAR:] = variant.dropped_counted
        steps = 20 if self.tiny else variant.steps
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = variant.rate * min(1.0, 2 * (1 - step / steps) + 0.02)
            rows = torch.randint(len(sums), (variant.groups,), generator=self.rng, device=self.device)
            drawn = torch.rand(inputs.shape[2], generator=self.rng, device=self.device)
            keep = (drawn > dropped).float() / (1 - dropped)
            odd = torch.randint(len(strange), (64,), generator=self.rng, device=self.device)
            if isinstance(model, Teller):
                odds, others = model.odds(inputs[rows].float(), keep), model.odds(strange[odd], keep)
                own, none = -odds.logsumexp(dim=2), -others.logsumexp(dim=1)
                loss = variant.named * _naming(odds, kinds[rows], others)
            else:
                own, none = model.judge(inputs[rows].float(), keep), model.judge(strange[odd], keep)
                loss = own.new_zeros(())
            loss = loss + _ranking(own, strengths[rows], none, variant)
            if variant.coded:
                pairs = torch.randint(len(coded), (128,), generator=self.rng, device=self.device)
                before, after = model.judge(coded[pairs], keep).unbind(dim=1)
                loss = loss + variant.coded * (before - after).square().mean()
            if studied is not None:
                chosen = torch.randint(len(studied), (64,), generator=self.rng, device=self.device)
                pairs = model.judge(studied[chosen], keep)
                loss = loss + variant.studio * functional.softplus(pairs[:, 1] - pairs[:, 0]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return model.eval()

    @torch.no_grad()
    def keep(self, name: str, judge: Layer) -> None:
        small = ("layer", "tell")
        state = {
            key: tensor.cpu().half() if key.startswith(small) else tensor.cpu()
            for key, tensor in judge.state_dict().items()
        }
        torch.save(state, self.out / f"{name}.pt")
        self.scores[name] = {pack: judge(own.sums).cpu() for pack, own in self.asked.items()}


def studio_flaws(clips: Tensor, pool: ProcessPoolExecutor) -> tuple[NDArray[np.int16], list[Row]]:
    """Clips with each of the studio's flaws of recordings, which work otherwise than those learned from."""
    jobs = [
        (place, flaw.name, strength)
        for flaw in (*SOUND_FLAWS, *TAPE_FLAWS)
        if flaw.keeps_level
        for strength in TEST_STRENGTHS
        for place in range(len(clips))
    ]
    sounds = clips.numpy()
    spoilt = pool.map(_spoil, [sounds[job[0]] for job in jobs], *zip(*jobs, strict=True), chunksize=8)
    return np.stack(list(spoilt)), [(place, f"studio {name}", strength) for place, name, strength in jobs]


def _spoil(sound: NDArray[np.int16], place: int, name: str, strength: float) -> NDArray[np.int16]:
    flaw = STUDIO_FLAWS[name]
    assert isinstance(flaw, SoundFlaw)
    samples = _at_rate(np.divide(sound, FULL_SCALE, dtype=np.float32), FLAWED_RATE)
    spoilt = flaw.apply(samples[:, None], FLAWED_RATE, strength, np.random.default_rng(place))[:, 0]
    return _whole(_at_rate(spoilt, HEARD_RATE))


def _code(sound: NDArray[np.int16], codec: str) -> NDArray[np.int16]:
    import soundfile

    file = io.BytesIO()
    samples = _at_rate(np.divide(sound, FULL_SCALE, dtype=np.float32), FLAWED_RATE)
    soundfile.write(file, samples.clip(-1, 1), FLAWED_RATE, format=codec)
    file.seek(0)
    coded = soundfile.read(file, dtype="float32")[0]
    return _whole(_at_rate(np.resize(coded, len(samples)), HEARD_RATE))


def _at_rate(sound: NDArray[np.float32], rate: int) -> NDArray[np.float32]:
    """Of SECONDS, by more or less room in the spectrum."""
    size = SECONDS * rate
    return (fft.irfft(fft.rfft(sound), size) * np.float32(size / len(sound))).astype(np.float32)


def _whole(sound: NDArray[np.float32]) -> NDArray[np.int16]:
    return (sound.clip(-1, 1) * FULL_SCALE).astype(np.int16)


def _cut(known: Known, count: int) -> Known:
    return Known(*(column[count:] for column in known))


def joined(parts: Sequence[Known]) -> Known:
    return Known(*(torch.cat(column) for column in zip(*parts, strict=True)))


def _ranking(own: Tensor, strength: Tensor, strange: Tensor, variant: Variant) -> Tensor:
    """Of scores (groups, 5): clean, harmless, worse, worst, another; what is not music is below what is not ruined."""
    clean, twin, worse, worst, another = own.unbind(dim=1)
    better = torch.stack([clean, twin, clean, clean, worse], dim=1)
    lesser = torch.stack([worse, worst, worst, another, worst], dim=1)
    same = functional.softplus(variant.sharp * (lesser - better)).mean() / variant.sharp
    intact = torch.cat([clean, twin])
    bad, sure = own[:, 2:].flatten(), (strength[:, 2:] / 0.4).clamp(max=1).flatten()
    across = functional.softplus(bad[None] - intact[:, None]) * sure[None]
    apart = across.sum() / (sure.sum() * len(intact)).clamp(min=1)
    tolerable = own.flatten()[(strength < 0.6).flatten()]
    odd = functional.softplus(variant.odd + strange[None] - tolerable[:, None]).mean()
    return variant.same * same + variant.apart * apart + 0.5 * odd + 0.3 * (clean - twin).square().mean()


def _naming(odds: Tensor, kinds: Tensor, strange: Tensor) -> Tensor:
    """How unlikely it was held that clips (groups, 5) have just their flaws, and that the last kind is no music."""
    logs = torch.cat([torch.zeros_like(odds[:, :, :1]), odds], dim=2).log_softmax(dim=2)  # the first: none
    first, second = logs.gather(2, kinds + 1).unbind(dim=2)
    told = torch.where(kinds[:, :, 1] < 0, first, torch.logaddexp(first, second))
    odd = torch.cat([torch.zeros_like(strange[:, :1]), strange], dim=1).log_softmax(dim=1)[:, -1]
    return -told.mean() - 0.1 * odd.mean()


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
