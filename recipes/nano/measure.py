"""Asks the nano that is shipped about songs and flaws that it was not trained on: is the clean clip above the flawed?

    python recipes/nano/measure.py music/ --songs 20       music/ is what `fetch_debian` wrote

Songs are of the packages in `clips.TESTED`, in turns; ten seconds of each, as it is on disk. The flaws are the
studio's, whose code nano never met, at three strengths. Intervals are 95 % and draw songs. How well P(a beats b) is
calibrated is measured on any two clips; the temperature is the divisor of scores that would suit these songs best, and
is not applied. Codecs are libsndfile's at their defaults; a spread is the deviation of the clean songs' scores.

It takes about half a second of one core for a clip: 22 s for a song and its 44 versions.
"""

import argparse
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import soundfile
from clips import TESTED
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from cmi.audio import Waveform, load
from cmi.reward.model.reward_model import RewardModel
from cmi.stats.intervals import bootstrap, share_interval
from cmi.stats.predictions import expected_calibration_error, folded, logistic, reliability
from cmi.studio.flaws import SOUND_FLAWS, TAPE_FLAWS
from cmi.studio.tracks import Track, find_tracks
from cmi.take import Prompt, Take

SECONDS, PLACE = 10.0, 0.45  # not the place of the recipe's own tests
STRENGTHS = (0.3, 0.6, 1.0)
FLAWS = [flaw for flaw in (*SOUND_FLAWS, *TAPE_FLAWS) if flaw.keeps_level]  # nano ignores the level on purpose
CODECS = ("mp3", "ogg")
BINS = np.linspace(0.5, 1.0, 11).tolist()

Array = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("music", type=Path)
    parser.add_argument("--songs", type=int, default=20)
    parser.add_argument("--rate", type=int, default=44_100, help="at which flaws are made: some depend on it")
    arguments = parser.parse_args()
    model = RewardModel.from_pretrained("nano", device="cpu")
    scores = []
    for track in choose_tracks(find_tracks(arguments.music), arguments.songs):
        sound = load(track.path, arguments.rate, SECONDS, offset=PLACE * track.seconds).samples
        takes = [Take(Prompt(), Waveform(version, arguments.rate)) for version in versions(sound, arguments.rate)]
        scores.append([score.musicality for score in model.score(takes, cache=None, workers=0)])
        print(f"{len(scores)} songs", flush=True)
    print(f"{model.full_name}: {len(scores)} songs, {len(FLAWS)} flaws")
    report(np.array(scores))


def choose_tracks(tracks: list[Track], songs: int) -> list[Track]:
    """Of the tested packages, which take turns; in the order of the files' hashes."""
    by_package: dict[str, list[Track]] = {}
    for track in sorted(tracks, key=lambda track: track.name):
        package = next((part for part in track.path.parts if part in TESTED), "")
        if package and track.seconds > 3 * SECONDS:
            by_package.setdefault(package, []).append(track)
    turns = sorted((place, package) for package, own in by_package.items() for place in range(len(own)))
    return [by_package[package][place] for place, package in turns[:songs]]


def versions(sound: NDArray[np.float32], rate: int) -> Iterator[NDArray[np.float32]]:
    """The clip itself, then each flaw at each strength, then each codec."""
    yield sound
    for flaw in FLAWS:
        for strength in STRENGTHS:
            yield flaw.apply(sound[:, None], rate, strength, np.random.default_rng(0))[:, 0].astype(np.float32)
    for codec in CODECS:
        file = io.BytesIO()
        soundfile.write(file, np.clip(sound, -1, 1), rate, format=codec)
        file.seek(0)
        yield soundfile.read(file, dtype="float32")[0]


def report(scores: Array) -> None:
    """Print what scores (songs, versions) say; right of two in %."""
    clean, coded = scores[:, 0], scores[:, -len(CODECS) :]
    flawed = scores[:, 1 : -len(CODECS)].reshape(len(scores), len(FLAWS), len(STRENGTHS))
    margins = clean[:, None, None, None] - flawed[None]  # clean song, flawed song, flaw, strength
    same = (clean[:, None, None] > flawed).astype(float)
    across = (margins > 0).mean(axis=0)
    print(f"{'':24}" + "".join(f"{strength:>24g}" for strength in STRENGTHS))
    for title, right in (("the same clip", same), ("any two clips", across)):
        print(f"{title:24}" + "".join(f"{_share(right[:, :, i].mean(axis=1)):>24}" for i in range(len(STRENGTHS))))
    for place, flaw in enumerate(FLAWS):
        cells = (100 * right[:, place].mean(axis=0) for right in (same, across))
        print(f"  {flaw.name:22}" + " / ".join(" ".join(f"{value:5.1f}" for value in row) for row in cells))
    spread = clean.std()
    for codec, moved in zip(CODECS, np.abs(coded - clean[:, None]).T, strict=True):
        mean, most = moved.mean() / spread, moved.max() / spread
        print(f"{codec} moves a song by {mean:.2f} spreads in the mean, {most:.2f} at most")
    fitted = minimize_scalar(
        lambda temperature: np.logaddexp(0, -margins / temperature).mean(), bounds=(0.1, 10), method="bounded"
    ).x
    errors = (100 * _calibration_error(margins.ravel() / temperature) for temperature in (1.0, fitted))
    print("expected calibration error {:.1f} points; {:.1f} at the temperature {:.2f}".format(*errors, fitted))


def _share(rights: Array) -> str:
    """The mean over songs, and its interval."""
    draws = bootstrap(lambda weights: weights @ rights / weights.sum(axis=1), np.arange(len(rights)))
    low, high = share_interval(float(rights.mean()), draws, len(rights))
    return f"{100 * rights.mean():.1f} ({100 * low:.1f} to {100 * high:.1f})"


def _calibration_error(margins: Array) -> float:
    said, happened = folded(logistic(margins), np.ones_like(margins))
    return expected_calibration_error(reliability(said, happened, BINS))


if __name__ == "__main__":
    main()
