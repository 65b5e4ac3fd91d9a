"""How fast the studio makes takes: 30 s of music each, from notes to FLAC.

    python benchmarks/studio.py --pairs 330

Compared, in CPU seconds (the least of 3):
    a voice            WORLD's frames to sound: ours against pyworld.synthesize
    half of a piece    30 s of a piece of 60 s, all tones at hand: what is heard against all of it
    tones              a piece whose tones were made before against one whose tones were not
and, once, what `cmi studio make` does, in seconds of the clock with all cores, and the most memory of any process.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyworld
from rich.console import Console

from cmi.report.tables import Table, print_tables
from cmi.studio import soundfont
from cmi.studio.compose import compose
from cmi.studio.make import make_set
from cmi.studio.pairs import Material
from cmi.studio.recordings import RATE
from cmi.studio.render import render
from cmi.studio.vocals import Frames, noise_filters, periodic_filters, synthesize

ROUNDS = 3
VOICE_RATE, HOP, SECONDS = 22_050, 110, 15


def spent(call: Callable[[], object]) -> float:
    """CPU seconds, the least of ROUNDS."""
    taken = []
    for _ in range(ROUNDS):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return min(taken)


def voices() -> tuple[float, float]:
    """A sung vowel of 15 s: its filters are made beforehand, as those of a word are."""
    frames = SECONDS * VOICE_RATE // HOP
    bins = np.linspace(0, 1, 513)
    power = np.exp(-8 * bins)[None] * (1 + 0.3 * np.sin(40 * bins + np.arange(frames)[:, None] / 50))
    aperiodicity = np.broadcast_to(0.05 + 0.9 * bins, power.shape).copy()
    pitch = 200 + 40 * np.sin(np.arange(frames) / 300)
    ready = Frames(pitch, periodic_filters(power, aperiodicity), noise_filters(power, aperiodicity))
    ours = spent(lambda: synthesize(ready, HOP, VOICE_RATE))
    theirs = spent(lambda: pyworld.synthesize(pitch, power, aperiodicity, VOICE_RATE, 1000 * HOP / VOICE_RATE))
    return ours, theirs


def halves() -> tuple[float, float]:
    piece = compose(3, style="pop", seconds=60)
    render(piece, RATE)
    return spent(lambda: render(piece, RATE, span=(0, 30))), spent(lambda: render(piece, RATE))


def tones() -> tuple[float, float]:
    piece = compose(3, style="pop", seconds=30)

    def anew() -> None:
        soundfont.forget_tones()
        render(piece, RATE)

    without = spent(anew)
    return spent(lambda: render(piece, RATE)), without


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=40)
    pairs = parser.parse_args().pairs
    rows = []
    for name, (ours, other) in {"a voice": voices(), "half of a piece": halves(), "tones": tones()}.items():
        rows.append([name, f"{1000 * ours:.0f} ms", f"{1000 * other:.0f} ms", f"{other / ours:.1f}"])
    console = Console()
    print_tables([Table("CPU time of parts", ["what", "ours", "else", "times as fast"], rows, labels=1)], console)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        make_set(Path(folder), pairs, seed=1, material=Material(scores=0.1))
        seconds = time.perf_counter() - start
        made = sum(line.count('"take": ') for line in (Path(folder) / "made.jsonl").read_text().splitlines())
        disk = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / 1e6
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    row = [str(made), f"{seconds:.0f}", f"{1000 * seconds / made:.0f}"]
    row += [f"{(used.ru_utime + used.ru_stime) / made:.2f}", f"{used.ru_maxrss / 1e3:.0f}", f"{disk:.0f}"]
    heads = ["takes", "seconds", "seconds for 1,000", "CPU s a take", "MB of the largest process", "MB on disk"]
    print_tables([Table("cmi studio make", heads, [row], labels=0)], console)


if __name__ == "__main__":
    main()
