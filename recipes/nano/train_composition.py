"""Teaches nano's `Composition` on a GPU: compositions above those with notes changed, moved or machine-made.

    python recipes/nano/train_composition.py PIECES.npz TONES/ OUT/ --songs SONGS.npz --variants all    10 minutes
    python recipes/nano/train_composition.py PIECES.npz TONES/ OUT/ --tiny    some minutes of a CPU, to see that it runs

Versions of excerpts (`perform.py`) are made by all cores and mixed on the GPU, a language model (`events.py`) goes on
from their first bars, and then several variants are trained on what was heard of them and asked about test pieces.
OUT/variants.pt has the weights of each, OUT/measured.json what they are worth.
"""

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import events
import numpy as np
import torch
from corruptions import SEEN, UNSEEN
from heard import LEVELS, MADE, PITCHES, RISES, Heard, baselines, measure, scores
from perform import Excerpt, Plan, Version, make_group, mix, play
from pieces import Written, is_test, read_pieces
from song_versions import Songs, draw_groups, measure_songs
from songs import STEP, read_songs
from tones import PROGRAMS, Bank, list_voices, read_bank
from torch import Tensor
from torch.nn import functional

from cmi.reward.model.encoders.composition import Composition, hear

HELD_OUT = ("openttd",)  # sources of which nothing is learned from
SHARES = {"pop909": 0.36, "lieder": 0.2, "quartets": 0.1, "nottingham": 0.12, "simutrans": 0.08, "freedoom": 0.1}
KINDS = {**SEEN, **UNSEEN}


class Settings(NamedTuple):
    """A variant."""

    steps: int = 8000
    groups: int = 28  # in a step
    songs: int = 14  # of these groups, of real songs
    across: float = 1.0  # weight of pairs across groups
    made: bool = True  # whether machine-made versions are learned from
    frames: tuple[int, ...] = (520, 520, 400, 200)  # of crops
    same: float = 0.05  # weight of the squared difference of two clean versions
    rate: float = 2e-3
    dropout: float = 0.1  # of pitches' bands and moments
    inner: float = 0.1  # dropout in the network
    even: float = 0.0  # weight of the variance of clean songs
    only: tuple[str, ...] = ()  # kinds to learn from; all if empty
    seed: int = 0


VARIANTS = {
    "all": Settings(),
    "even": Settings(even=0.05),
    "more dropout": Settings(dropout=0.25, inner=0.25),
    "no songs": Settings(songs=0),
    "no machine": Settings(made=False),
    "same piece": Settings(across=0.0),
    "10 s": Settings(frames=(200,)),
    "30 s": Settings(frames=(600,)),
    "machine alone": Settings(only=(MADE, "chained", "patched", "drifting")),
    "another seed": Settings(seed=1),
    "longer": Settings(steps=16_000),
    "shorter": Settings(steps=3000),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pieces", type=Path)
    parser.add_argument("tones", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--songs", type=Path, help="what `songs.py` wrote")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--groups", type=int, default=9000)
    parser.add_argument("--test-groups", type=int, default=260)
    parser.add_argument("--events", type=float, default=75.0, help="seconds for the language model")
    parser.add_argument("--deadline", type=float, default=570.0, help="seconds after which no variant is begun")
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS))
    parser.add_argument("--kept", type=Path, help="a file for what was heard: written, or read if it is there")
    arguments = parser.parse_args()
    begun = time.monotonic()
    arguments.out.mkdir(parents=True, exist_ok=True)
    pieces = read_pieces(arguments.pieces)
    train, test, new = split(pieces)
    if arguments.tiny:
        arguments.groups, arguments.test_groups, arguments.events = 8, 1, 2.0
        train = train[:: max(1, len(train) // 60)]
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    voices = list_voices(arguments.tones, ("fluid",) if arguments.tiny else tuple(PROGRAMS))
    print(f"{len(train)} pieces to learn from, {len(test)} and {len(new)} to test", flush=True)
    if arguments.kept and arguments.kept.exists():
        learned, tested = torch.load(arguments.kept, map_location=device, weights_only=False)
    else:
        learned, tested = make(arguments, (train, test, new), voices, device, begun)
    if arguments.kept and not arguments.kept.exists():
        torch.save((learned, tested), arguments.kept)
    songs, new_songs = read_songs(arguments.songs, device) if arguments.songs else (None, None)
    print(f"{len(learned.kinds)} versions heard; {time.monotonic() - begun:.0f} s", flush=True)
    found: dict[str, Any] = {"baselines": {name: baselines(heard) for name, heard in tested.items()}}
    weights = {}
    for name in arguments.variants:
        if time.monotonic() - begun > arguments.deadline:
            break
        settings = VARIANTS[name]
        if arguments.tiny:
            settings = settings._replace(steps=6, groups=4, songs=2)
        network = fit(learned, songs, settings, device)
        weights[name] = {key: value.cpu() for key, value in network.state_dict().items()}
        found[name] = {part: measure(scores(network, heard), heard) for part, heard in tested.items()}
        if new_songs is not None:
            found[name]["new songs"] = measure_songs(network.judge, new_songs)
        told = " ".join(json.dumps(part["all"]) for part in found[name].values())
        print(f"{name}: {told}; {time.monotonic() - begun:.0f} s", flush=True)
        torch.save(weights, arguments.out / "variants.pt")
        (arguments.out / "measured.json").write_text(json.dumps(found, indent=1), encoding="utf-8")


def split(pieces: list[Written]) -> tuple[list[Written], list[Written], list[Written]]:
    """To learn from, to test with, and of sources that are only tested."""
    known = [piece for piece in pieces if piece.source not in HELD_OUT]
    new = [piece for piece in pieces if piece.source in HELD_OUT]
    return [p for p in known if not is_test(p)], [p for p in known if is_test(p)], new


# 1. Making.


def make(
    arguments: argparse.Namespace,
    pieces: tuple[list[Written], list[Written], list[Written]],
    voices: list[dict[str, Any]],
    device: torch.device,
    begun: float,
) -> tuple[Heard, dict[str, Heard]]:
    """What is heard of all versions to learn from, and to test with."""
    workers, silent = max(1, (os.cpu_count() or 2) - 1), Bank(torch.empty(0), voices)  # workers need no sound
    with multiprocessing.get_context("fork").Pool(workers, _begin, (*pieces, silent)) as pool:
        bank = read_bank(arguments.tones, device, voices)
        print(f"{len(bank.sounds)} tones; {time.monotonic() - begun:.0f} s", flush=True)
        groups = pool.imap_unordered(_train_group, range(arguments.groups), 8)  # made while the model is trained
        others = {
            name: pool.imap_unordered(job, range(arguments.test_groups), 2)
            for name, job in (("test", _test_group), ("new source", _new_group))
        }
        models = _events_model(pieces[0], device, arguments.events)
        learned = listen(groups, bank, models, begun)
        tested = {name: listen(jobs, bank, models[-1:], begun) for name, jobs in others.items()}
    return learned, tested


_kept: dict[str, Any] = {}


def _begin(train: list[Written], test: list[Written], new: list[Written], bank: Bank) -> None:
    torch.set_num_threads(1)
    _kept.update(train=train, test=test, new=new, bank=bank)


Group = tuple[Excerpt, Plan, list[Version]]


def _draw(pieces: list[Written], rng: np.random.Generator) -> int:
    """A source by its share, then a piece of it."""
    sources = sorted({piece.source for piece in pieces})
    weights = np.array([SHARES.get(source, 0.02) for source in sources])
    source = rng.choice(sources, p=weights / weights.sum())
    return int(rng.choice([i for i, piece in enumerate(pieces) if piece.source == source]))


def _train_group(seed: int) -> Group:
    pieces = _kept["train"]
    return make_group(pieces, _draw(pieces, np.random.default_rng(seed)), _kept["bank"], seed, SEEN)


def _test_group(seed: int) -> Group:
    pieces = _kept["test"]
    place = _draw(pieces, np.random.default_rng(10**6 + seed))
    return make_group(pieces, place, _kept["bank"], 10**6 + seed, KINDS, (0.3, 1.0))


def _new_group(seed: int) -> Group:
    pieces = _kept["new"]
    return make_group(pieces, seed % len(pieces), _kept["bank"], 2 * 10**6 + seed, KINDS, (0.3, 1.0))


def _events_model(pieces: list[Written], device: torch.device, seconds: float) -> list[events.Model]:
    """Young and old ones."""
    found, width, batch = [], *((768, 192) if device.type == "cuda" else (32, 4))
    for _, model in events.train(pieces, device, seconds, (0.35, 1.0), width, batch):
        copy = events.Model(width).to(device)
        copy.load_state_dict(model.state_dict())
        found.append(copy)
    return found


def listen(
    groups: Iterator[Group], bank: Bank, models: list[events.Model], begun: float, together: int = 1024
) -> Heard:
    """Mix all versions, and those that models make of each excerpt."""
    rng, device = np.random.default_rng(7), bank.sounds.device
    tiny = device.type == "cpu"
    pitches: list[Tensor] = []
    rises: list[Tensor] = []
    rows: list[tuple[int, str, float, str]] = []
    batch: list[Group] = []
    count = 0

    def flush() -> None:
        nonlocal count
        for model in models:
            prompts = rng.integers(4, 17, len(batch)).tolist()
            heats = rng.uniform(0.45, 1.0, len(batch)).tolist()
            made = events.go_on(model, [e for e, _, _ in batch], prompts, heats, device, 60 if tiny else 2200)
            for (excerpt, plan, versions), notes in zip(batch, made, strict=True):
                if len(notes) and (tiny or notes[:, 0].max() > excerpt.known.beats - 2 * excerpt.known.metre):
                    versions.append(Version(MADE, 1.0, play(notes, excerpt, plan), plan.effects, plan.seed))
        versions = [version for _, _, own in batch for version in own]
        for first in range(0, len(versions), 64):
            heard = hear(mix(versions[first : first + 64], bank))
            for kept, part in zip((pitches, rises), heard, strict=True):
                kept.append((part * LEVELS).clamp(0, 255).byte())
        for excerpt, _, own in batch:
            rows.extend((count, version.kind, version.strength, excerpt.source) for version in own)
            count += 1
        batch.clear()

    for group in groups:
        batch.append(group)
        if len(batch) == together:
            flush()
            if count % 1024 == 0:
                print(f"{count} groups, {time.monotonic() - begun:.0f} s", flush=True)
    if batch:
        flush()
    places, kinds, strengths, sources = (list(column) for column in zip(*rows, strict=True))
    clean = torch.tensor([kind in ("clean", "again") for kind in kinds], device=device)
    owners = torch.tensor(places, device=device)
    return Heard(torch.cat(pitches), torch.cat(rises), owners, clean, kinds, strengths, sources)


# 2. Training.


def fit(heard: Heard, songs: Songs | None, settings: Settings, device: torch.device) -> Composition:
    """Bradley-Terry on pairs of clean and corrupted versions, of the same excerpt and across excerpts."""
    torch.manual_seed(settings.seed)
    network = Composition(settings.inner).to(device).train()
    optimizer = torch.optim.AdamW(network.parameters(), settings.rate, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, settings.rate, settings.steps, pct_start=0.1)
    allowed = torch.tensor(
        [(settings.made or kind != MADE) and (not settings.only or kind in settings.only) for kind in heard.kinds],
        device=device,
    )
    cleans, worse = _padded(heard, heard.clean), _padded(heard, ~heard.clean & allowed)
    usable = (worse >= 0).any(dim=1).nonzero()[:, 0]
    mean = 0.0
    for step in range(settings.steps):
        sung = 0 if songs is None else settings.songs
        chosen = usable[torch.randint(len(usable), (settings.groups - sung,), device=device)]
        rows = torch.cat([cleans[chosen][:, :2], _some(worse[chosen], 4)], dim=1)  # (groups, 6)
        frames = settings.frames[step % len(settings.frames)]
        pitches, rises = _batch(heard, rows.flatten(), frames)
        if songs is not None and sung:
            more = draw_groups(songs, sung, frames).flatten(0, 1)
            more = (more + STEP * (torch.rand_like(more) - 0.5)).clamp(min=0) * (more > 0)
            pitches = torch.cat([pitches, more[:, :, :PITCHES]])
            rises = torch.cat([rises, more[:, :, PITCHES:]])
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            told = network.judge(*_varied(pitches, rises, settings.dropout)).float().view(settings.groups, -1)
        good, bad = told[:, :2], told[:, 2:]
        loss = functional.softplus(bad[:, None] - good[:, :, None]).mean()
        if settings.across:
            loss = loss + settings.across * functional.softplus(bad.flatten()[None] - good.flatten()[:, None]).mean()
        loss = loss + settings.same * (good[:, 0] - good[:, 1]).square().mean()
        if settings.even and sung:
            loss = loss + settings.even * good[-sung:].var()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 50 == 0:
            mean = 0.8 * mean + 0.2 * float(loss.detach()) if step else float(loss.detach())
        if step % max(1, settings.steps // 4) == 0:
            print(f"  step {step}: loss {mean:.3f}", flush=True)
    return network.eval()


def _padded(heard: Heard, wanted: Tensor) -> Tensor:
    """Rows of each group that are wanted, filled up with -1: (groups, most)."""
    rows: list[list[int]] = [[] for _ in range(int(heard.group.max()) + 1)]
    for row, (group, kept) in enumerate(zip(heard.group.tolist(), wanted.tolist(), strict=True)):
        if kept:
            rows[group].append(row)
    most = max(map(len, rows))
    return torch.tensor([own + [-1] * (most - len(own)) for own in rows], device=heard.group.device)


def _some(rows: Tensor, count: int) -> Tensor:
    """`count` of each group's rows, drawn with replacement."""
    weights = (rows >= 0).float()
    return rows.gather(1, weights.multinomial(count, replacement=True))


def _batch(heard: Heard, rows: Tensor, frames: int) -> tuple[Tensor, Tensor]:
    """Crops at one place."""
    first = int(torch.randint(0, (heard.pitches.shape[1] - frames) // 4 + 1, ())) * 4
    pitches, rises = (x[rows, first : first + frames].float() / LEVELS for x in (heard.pitches, heard.rises))
    return pitches, rises


def _varied(pitches: Tensor, rises: Tensor, dropout: float) -> tuple[Tensor, Tensor]:
    """At another pitch, fainter or clearer, and with bands left out."""
    key = int(torch.randint(-4, 5, ()))
    pitches = pitches.roll(key, 2)
    if key:
        pitches[:, :, slice(0, key) if key > 0 else slice(key, None)] = 0
    if dropout:
        count, device = len(pitches), pitches.device
        pitches = pitches * (torch.rand(count, 1, PITCHES, device=device) > dropout)
        rises = rises * (torch.rand(count, 1, RISES // 2, device=device) > dropout).repeat(1, 1, 2)
        pitches = pitches * (0.8 + 0.4 * torch.rand(count, 1, 1, device=device))
        pitches = (pitches - 0.4 * torch.rand(count, 1, 1, device=device).square()).clamp(min=0)
    return pitches, rises


if __name__ == "__main__":
    main()
