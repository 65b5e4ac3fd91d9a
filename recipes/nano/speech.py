"""Teaches nano to tell recorded speech from music by what it hears anyway, and puts that into a checkpoint.

    python recipes/nano/speech.py VOICES MUSIC NANO OUT [--also FOLDER ...]

VOICES and MUSIC are what `fetch_debian` wrote: of VOICE_PACKAGES, and of `cmi studio fetch`. A clip of speech is ten
seconds of one voice's utterances with pauses between them; a clip of music is ten seconds of a song. The layer is a
logistic regression on nano's 8,612 numbers. Voices, languages and packages in TESTED are not learned from. --also names
folders of other music, which is only asked about.

What the log-odds exceed MARGIN by is taken off musicality STEEP times. All music below it is scored as before, to the
last bit.
"""

import argparse
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn
from torch.nn import functional

from cmi._util.errors import InputError
from cmi.audio import find_recordings, load
from cmi.reward.model.blend import LEAST
from cmi.reward.model.checkpoint import WEIGHTS
from cmi.reward.model.encoders.craft import FARTHEST, WIDTH, Heard, summary
from cmi.reward.model.encoders.nano import RATE, Nano
from cmi.reward.model.reward_model import RewardModel
from cmi.stats.intervals import wilson
from cmi.studio.tracks import find_tracks

VOICE_PACKAGES = {  # where a voice's or a language's utterances are
    **{f"asterisk-core-sounds-{language}-wav": r"sounds/([^/]+)/" for language in ("en", "es", "fr", "it", "ru")},
    "asterisk-prompt-it-menardi-wav": r"sounds/([^/]+)/",
    "fillets-ng-data": r"/sound/[^/]+/([a-z][a-z])/",
    "hedgewars-data": r"/voices/([^/]+)/",
    "klettres-data": r"/klettres/([^/]+)/",
    "redeclipse-data": r"/(?:announcer|voice)/()",
}
LEFT_OUT = re.compile(r"/letters|/phonetic|/silence|beep|/tt-|/Singer")
TESTED = re.compile(
    r"sounds-(en|it)-|fillets|redeclipse|klettres-data:(de|fr|ru)$|hedgewars-data:(British|Pirate)$|"
    r"nexuiz|singularity|warzone|ufoai|naev|wesnoth"
)
SECONDS = 10.0
PER_PACKAGE = {"voice": 30, "voices": 6, "music": 24}  # clips of a package with one voice, of each of several, of songs
FEWEST = 8  # utterances of a voice
PAUSES = (0.05, 0.5)  # seconds
LEVEL, SILENT = 0.1, 1e-3
STRENGTH = 1e-3  # of the regression: the inverse of its ridge
MARGIN, STEEP = 1.0, 12.0

Sound = NDArray[np.float32]


class HeardClips(NamedTuple):
    numbers: Tensor  # (n, 8612), in deviations
    musicality: Tensor  # (n,), without the layer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("voices", "music", "nano", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--also", type=Path, nargs="*", default=[])
    options = parser.parse_args()
    encoder = RewardModel.from_pretrained(str(options.nano), device="cpu").encoder
    assert isinstance(encoder, Nano)
    torch.set_num_threads(1)
    spoken = {name: hear(encoder, clips) for name, clips in voice_clips(options.voices)}
    sung = {name: hear(encoder, clips) for name, clips in music_clips(options.music)}
    also = {folder.name: hear(encoder, beginnings(folder)) for folder in options.also}
    layer = fit(spoken, sung)
    new = {"craft.speech.weight": layer.weight.half(), "craft.speech.bias": layer.bias.float()}
    state = load_file(options.nano / WEIGHTS) | new
    save_file({name: tensor.contiguous() for name, tensor in state.items()}, options.out / WEIGHTS)
    for found, kind in ((spoken, "speech"), (sung, "music")):
        for title, tested in ((f"{kind} that was learned from", False), (f"other {kind}", True)):
            report(title, {name: own for name, own in found.items() if bool(TESTED.search(name)) == tested}, layer)
    if also:
        report("music that was only asked about", also, layer)


def voice_clips(folder: Path) -> Iterator[tuple[str, Iterator[Sound]]]:
    """The clips of each voice, under the name of its package, or of both where a package has several."""
    for package, pattern in VOICE_PACKAGES.items():
        voices: defaultdict[str, list[Path]] = defaultdict(list)
        for path in find_recordings(folder / package):
            within = f"/{path.relative_to(folder / package)}"
            if (found := re.search(pattern, within)) and not LEFT_OUT.search(within):
                voices[found[1]].append(path)
        count = PER_PACKAGE["voice" if len(voices) == 1 else "voices"]
        for voice, paths in sorted(voices.items()):
            if len(paths) >= FEWEST:
                name = package if len(voices) == 1 else f"{package}:{voice}"
                yield name, (_in_turn(sorted(paths), random.Random(f"{name} {i}")) for i in range(count))  # noqa: S311


def _in_turn(paths: list[Path], rng: random.Random) -> Sound:
    """Utterances drawn at random, each at one level."""
    parts: list[Sound] = []
    while sum(map(len, parts)) < SECONDS * RATE:
        try:
            sound = load(rng.choice(paths), RATE, SECONDS).samples
        except InputError:
            continue
        level = float(np.sqrt(np.mean(sound**2))) if len(sound) else 0.0
        if level > SILENT:
            parts += [sound * (LEVEL / level), np.zeros(int(rng.uniform(*PAUSES) * RATE), np.float32)]
    return np.concatenate(parts)[: int(SECONDS * RATE)]


def music_clips(folder: Path) -> Iterator[tuple[str, Iterator[Sound]]]:
    for package in sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")):
        tracks = find_tracks(package)[: PER_PACKAGE["music"]]  # by their hashes
        yield (
            package.name,
            (
                load(track.path, RATE, SECONDS, offset=(0.3 if i % 2 else 0.6) * track.seconds).samples
                for i, track in enumerate(tracks)
            ),
        )


def beginnings(folder: Path) -> Iterator[Sound]:
    for path in find_recordings(folder):
        try:
            yield load(path, RATE, SECONDS).samples
        except InputError:
            continue


@torch.inference_mode()
def hear(encoder: Nano, clips: Iterable[Sound]) -> HeardClips:
    """What nano hears of each clip that is long and loud enough."""
    craft, heard = encoder.craft, list[Heard]()
    assert craft is not None
    craft.speech.requires_grad_(False).weight.zero_()
    craft.speech.bias.zero_()
    hook = craft.register_forward_pre_hook(lambda _, given: heard.append(given[0]))
    numbers, musicality = [torch.zeros(0, WIDTH)], [torch.zeros(0)]
    for clip in clips:
        if len(clip) > SECONDS / 2 * RATE and np.abs(clip).max() > SILENT:
            heard.clear()
            musicality.append(encoder.features(torch.from_numpy(clip)[None]).musicality[0])
            mean = torch.cat([summary(part) for part in heard]).mean(dim=0, keepdim=True)
            numbers.append(((mean - craft.mean) * craft.scale).clamp(-FARTHEST, FARTHEST))
    hook.remove()
    return HeardClips(torch.cat(numbers), torch.cat(musicality))


def fit(spoken: Mapping[str, HeardClips], sung: Mapping[str, HeardClips]) -> nn.Linear:
    """The layer, from what is not TESTED."""
    learned = [
        (own.numbers, label)
        for found, label in ((spoken, 1), (sung, 0))
        for name, own in found.items()
        if not TESTED.search(name)
    ]
    labels = np.concatenate([np.full(len(numbers), label) for numbers, label in learned])
    model = LogisticRegression(C=STRENGTH, class_weight="balanced", max_iter=3000)
    model.fit(torch.cat([numbers for numbers, _ in learned]).numpy(), labels)
    layer = nn.Linear(WIDTH, 1).requires_grad_(False)
    layer.weight.copy_(torch.from_numpy(STEEP * model.coef_).half())  # as it is kept
    layer.bias.copy_(torch.from_numpy(STEEP * (model.intercept_ - MARGIN)))
    return layer


def report(title: str, found: Mapping[str, HeardClips], layer: nn.Linear) -> None:
    """How many clips are noted as no music, with the layer and without."""
    for name, own in [*found.items(), (title, HeardClips(*map(torch.cat, zip(*found.values(), strict=True))))]:
        taken = functional.relu(layer(own.numbers)[:, 0])
        noted = int((own.musicality - taken < LEAST).sum())
        low, high = wilson(noted, len(taken))
        print(
            f"{name}: {noted} of {len(taken)} noted ({100 * low:.0f} to {100 * high:.0f} %), "
            f"{int((own.musicality < LEAST).sum())} without the layer; anything taken off {int((taken > 0).sum())}"
        )


if __name__ == "__main__":
    main()
