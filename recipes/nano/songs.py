"""What `Composition` hears of real songs, 30 s of each, packed small, for `train_composition.py`.

    python recipes/nano/songs.py music/ SONGS.npz       music/ is what `fetch_debian` wrote

No song of the packages in `clips.TESTED` is taken.
"""

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SECONDS, PLACE = 30.0, 0.35
STEP = 0.25  # of what is heard; 16 levels
MOST = 48  # songs of a package


def main() -> None:
    import torch
    from clips import TESTED
    from composition import hear

    from cmi.audio import load
    from cmi.reward.model.encoders.nano import RATE, begun, halve_rate, levelled
    from cmi.studio.tracks import find_tracks

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("music", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    found: list[NDArray[np.uint8]] = []
    taken: dict[str, int] = defaultdict(int)
    for track in find_tracks(arguments.music):
        package = track.path.relative_to(arguments.music).parts[0]
        if package in TESTED or track.seconds < SECONDS / (1 - PLACE) or taken[package] >= MOST:
            continue
        sound = torch.from_numpy(load(track.path, RATE, SECONDS, offset=PLACE * track.seconds).samples)[None]
        if float(sound.std()) < 1e-3:
            continue
        heard = torch.cat(hear(halve_rate(begun(levelled(sound)))), dim=2)[0]  # (600, 132)
        found.append((heard / STEP).round().clamp(0, 15).byte().numpy())
        taken[package] += 1
    packed = np.stack(found)
    np.savez_compressed(arguments.out, songs=packed[:, :, ::2] + 16 * packed[:, :, 1::2])
    print(dict(taken), packed.shape)


def read_songs(path: Path) -> NDArray[np.float32]:
    """(songs, 600, 132), in units of what is heard."""
    with np.load(path) as stored:
        packed = stored["songs"]
    out = np.empty((*packed.shape[:2], 2 * packed.shape[2]), np.float32)
    out[:, :, ::2], out[:, :, 1::2] = packed % 16, packed // 16
    return (out * STEP).astype(np.float32)


if __name__ == "__main__":
    main()
