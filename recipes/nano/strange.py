"""Asks the nano that is shipped about sounds that are no music, and about songs: which get the note that says so?

    python recipes/nano/strange.py music/ --songs 60       music/ is what `fetch_debian` wrote, or several such folders

The sounds are tones, chords, hum, noise, beeps, clicks and sweeps (`flaws.not_music`), sentences read by espeak-ng, and
voices and noises of games (`clips.SOUNDS`); the songs are of packages that were not trained on, as in `measure.py`.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from clips import RATE, SOUNDS, sound_clips, speech_clips
from flaws import not_music
from measure import PLACE, SECONDS, choose_tracks
from numpy.typing import NDArray

from cmi.audio import Waveform, load
from cmi.reward.model.encoders import nano
from cmi.reward.model.reward_model import RewardModel
from cmi.studio.tracks import find_tracks
from cmi.take import Prompt, Take

SYNTHETIC = 140
SPEECH = 32  # clips that were learned from


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("music", type=Path, nargs="+")
    parser.add_argument("--songs", type=int, default=60)
    arguments = parser.parse_args()
    model = RewardModel.from_pretrained("nano", device="cpu")
    print(f"{model.full_name}: noted below a musicality of {model.head.least_musicality}")
    size = int(SECONDS * nano.RATE)
    made = not_music((SYNTHETIC, size), torch.zeros(1), torch.Generator().manual_seed(2026))
    report(model, "tones, chords, hum, noise, beeps, clicks, sweeps", (Waveform(x, nano.RATE) for x in made.numpy()))
    spoken = [clip for clip, about in speech_clips() if about["speech"] >= SPEECH]
    report(model, "sentences read by espeak-ng", map(_ten_seconds, spoken))
    games = list(sound_clips(arguments.music, SOUNDS["sounds-test"]))
    for title, voices in (("voices of games", True), ("noises of games", False)):
        report(model, title, (_ten_seconds(clip) for clip, about in games if about["speech"] == voices))
    tracks = choose_tracks([track for folder in arguments.music for track in find_tracks(folder)], arguments.songs)
    report(model, "songs", (load(track.path, nano.RATE, SECONDS, offset=PLACE * track.seconds) for track in tracks))


def _ten_seconds(clip: NDArray[np.float32]) -> Waveform:
    return Waveform(clip[: int(SECONDS * RATE)], RATE)


def report(model: RewardModel, title: str, sounds: Iterable[Waveform]) -> None:
    scores = np.array([score.musicality for score in model.score([Take(Prompt(), sound) for sound in sounds])])
    noted = int((scores < model.head.least_musicality).sum())
    print(f"{title}: {noted} of {len(scores)} noted; from {scores.min():.1f} to {scores.max():.1f}", flush=True)


if __name__ == "__main__":
    main()
