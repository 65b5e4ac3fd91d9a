"""Make the bank of the scorer `tags` from a folder of Debian's free music (`cmi studio fetch`).

    python recipes/tags/make_bank.py MUSIC/ OUT/

    OUT/bank.npy    (N, 100) float16: musicnn's log-odds of each tag in 30 s of each track
    OUT/bank.txt    the tracks, in the order of the rows

At most `EACH` tracks of a package, drawn by their hashes, so that no game's music outweighs the others.
"""

import argparse
import io
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cmi._util.files import make_folder, write_whole
from cmi.audio import load
from cmi.cli import run_plainly
from cmi.reward.model.encoders import musicnn
from cmi.reward.scoring.tags import Tagger
from cmi.studio.tracks import Track, find_tracks

EACH = 12
SECONDS = 30.0


def choose(tracks: Sequence[Track], folder: Path) -> list[Track]:
    """The first EACH of every package, in the order of their hashes."""
    by_package: dict[str, list[Track]] = defaultdict(list)
    for track in sorted(tracks):
        by_package[track.path.relative_to(folder).parts[0]].append(track)
    return [track for package in sorted(by_package) for track in by_package[package][:EACH]]


def make_bank(folder: Path, out: Path) -> int:
    """The number of tracks in it."""
    tagger, chosen = Tagger(), choose(find_tracks(folder), folder)
    rows = []
    for track in chosen:
        offset = max(0.0, (track.seconds - SECONDS) / 2)
        rows.append(tagger.hear(load(track.path, musicnn.RATE, SECONDS, offset)))
    content = io.BytesIO()
    np.save(content, np.array(rows, dtype=np.float16), allow_pickle=False)
    make_folder(out)
    write_whole(out / "bank.npy", content.getvalue())
    write_whole(out / "bank.txt", "".join(f"{track.path.relative_to(folder).as_posix()}\n" for track in chosen))
    return len(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the bank of the scorer `tags`.")
    parser.add_argument("music", type=Path, help="folder of `cmi studio fetch`")
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    print(f"{make_bank(arguments.music, arguments.out)} tracks")


if __name__ == "__main__":
    run_plainly(main)
