"""Asks the nano that is shipped about the studio's flaws of composition and performance: is the clean piece above?

    python recipes/nano/composed.py --composed 12 --scores 8

Pieces are composed by the studio with seeds that nothing else uses, and scores of its corpus; 30 s of each, rendered.
Intervals are 95 % and draw pieces.

It takes about a second of one core for a take: half a minute for a piece and its 27 versions.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from measure import STRENGTHS, _share
from numpy.typing import NDArray

from cmi.audio import Waveform
from cmi.reward.model.reward_model import RewardModel
from cmi.studio.compose import compose
from cmi.studio.corpus import corpus_names, read_score, repeated
from cmi.studio.flaws import COMPOSITION_FLAWS, PERFORMANCE_FLAWS
from cmi.studio.piece import Piece
from cmi.studio.render import render
from cmi.take import Prompt, Take

RATE, SECONDS, SEED = 32_000, 30.0, 91_000
FLAWS = (*COMPOSITION_FLAWS, *PERFORMANCE_FLAWS)
Array = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--composed", type=int, default=12)
    parser.add_argument("--scores", type=int, default=8)
    parser.add_argument("--model", default="nano")
    parser.add_argument("--out", type=Path, help="a file for the scores, .npy")
    arguments = parser.parse_args()
    model = RewardModel.from_pretrained(arguments.model, device="cpu")
    scores = []
    for piece in choose_pieces(arguments.composed, arguments.scores):
        takes = [Take(Prompt(), Waveform(sound, RATE)) for sound in versions(piece)]
        scores.append([score.musicality for score in model.score(takes, cache=None, workers=0)])
        print(f"{len(scores)} pieces", flush=True)
        if arguments.out:
            np.save(arguments.out, np.array(scores))
    print(f"{model.full_name}: {len(scores)} pieces")
    report(np.array(scores))


def choose_pieces(composed: int, scores: int) -> Iterator[Piece]:
    yield from (compose(SEED + i, seconds=SECONDS) for i in range(composed))
    names = corpus_names()
    for place in np.random.default_rng(SEED).permutation(len(names))[:scores].tolist():
        yield repeated(read_score(names[place]), SECONDS)


def versions(piece: Piece) -> Iterator[NDArray[np.float32]]:
    """The piece itself, then each flaw at each strength; where a flaw can't be applied, the piece again."""
    for flaw, strength in [(None, 0.0), *((flaw, strength) for flaw in FLAWS for strength in STRENGTHS)]:
        played = flaw.apply(piece, strength, np.random.default_rng(1)) if flaw else piece
        yield render(played, RATE, span=(0.0, SECONDS)).mean(axis=1)


def report(scores: Array) -> None:
    """Print what scores (pieces, 1 + flaws x strengths) say; right of two in %, without flaws that change nothing."""
    clean, flawed = scores[:, 0], scores[:, 1:].reshape(len(scores), len(FLAWS), len(STRENGTHS))
    changed = flawed != clean[:, None, None]
    same = np.where(changed, clean[:, None, None] > flawed, np.nan)
    across = np.where(changed, (clean[:, None, None, None] > flawed[None]).mean(axis=0), np.nan)
    print(f"{'':24}" + "".join(f"{strength:>24g}" for strength in STRENGTHS))
    for family, chosen in (
        ("composition", slice(len(COMPOSITION_FLAWS))),
        ("performance", slice(len(COMPOSITION_FLAWS), None)),
    ):
        for title, right in (("same piece", same), ("any two", across)):
            cells = (_share(np.nanmean(right[:, chosen, i], axis=1)) for i in range(len(STRENGTHS)))
            print(f"{family + ', ' + title:24.24}" + "".join(f"{cell:>24}" for cell in cells))
    for place, flaw in enumerate(FLAWS):
        cells = (100 * np.nanmean(right[:, place], axis=0) for right in (same, across))
        print(f"  {flaw.name:22}" + " / ".join(" ".join(f"{value:5.1f}" for value in row) for row in cells))


if __name__ == "__main__":
    main()
