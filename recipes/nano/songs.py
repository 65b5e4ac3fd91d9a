"""What `Composition` hears of real songs, up to four times 30 s of each, packed small, for `train_composition.py`.

    python recipes/nano/songs.py music/ [more-music/ ...] SONGS.npz       folders that `fetch_debian` wrote

Every second excerpt is there twice: as it is, and with one or two flaws of recording, which leave its notes alone. No
song of the packages in `clips.TESTED` is taken. One of eight songs is for tests, by its hash. The music of 0ad-data is
in usr/share/games/0ad/mods/public/public.zip, under audio/music: unpack it into a folder of music/ first.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from song_versions import Songs
from torch import Tensor

from cmi.reward.model.encoders.composition import hear

SECONDS, APART, MOST = 30.0, 50.0, 4  # of an excerpt, from one to the next, and excerpts of a song
STEP = 0.25  # of what is heard; 16 levels
TESTS = 8  # one of so many songs is for tests

PACKAGES = (  # of Debian, all of them free
    "0ad-data a7xpg-data ardentryst asc-music berusky2-data btanks-data caveexpress-data colobot-common-sounds "
    "drascula-music endless-sky-data extremetuxracer-data fillets-ng-data flare-game freeorion-data "
    "fretsonfire-songs-sectoid frozen-bubble-data funnyboat glob2-data gunroar-data hedgewars-data "
    "lincity-ng-data lordsawar-data lugaru-data marsshooter-data megaglest-data mu-cade-data nexuiz-music "
    "noiz2sa-data openclonk-data parsec47-data pathological pax-britannica-data planetblupi-music-ogg "
    "redeclipse-data rrootage-data scorched3d-data starfighter-data supertux-data titanion-data torcs-data "
    "torus-trooper-data tumiki-fighters-data tuxmath-data ufoai-music unknown-horizons warmux-data "
    "warzone2100-music wesnoth-1.16-music widelands-data xmoto-data"
).split()

Row = tuple[NDArray[np.uint8], str, bool]  # what is heard, the song, and whether it is flawed


def main() -> None:
    from clips import TESTED

    from cmi.studio.tracks import find_tracks

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("music", type=Path, nargs="+")
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    tracks = {}
    for folder in arguments.music:
        for track in find_tracks(folder):
            package = track.path.relative_to(folder).parts[0]
            if package not in TESTED and track.seconds >= SECONDS + 6:
                tracks[track.name] = (package, track.path, track.seconds)
    with ProcessPoolExecutor() as pool:
        listened = pool.map(_listen, tracks, [path for _, path, _ in tracks.values()], [s for *_, s in tracks.values()])
        rows = [row for own in listened for row in own]
    heard = np.stack([row[0] for row in rows])
    names, flawed = [row[1] for row in rows], [row[2] for row in rows]
    packed = heard[:, :, ::2] + 16 * heard[:, :, 1::2]
    np.savez_compressed(arguments.out, songs=packed, names=np.array(names), flawed=np.array(flawed))
    print(len(rows), Counter(tracks[name][0] for name in set(names)).most_common())


def _listen(name: str, path: Path, seconds: float) -> list[Row]:
    torch.set_num_threads(1)
    return list(_excerpts(name, path, seconds))


@torch.inference_mode()
def _excerpts(name: str, path: Path, seconds: float) -> Iterator[Row]:
    import flaws

    from cmi.audio import load
    from cmi.reward.model.encoders.nano import RATE, levelled

    rng = np.random.default_rng(int(name[:8], 16))
    kinds = [kind for kind in flaws.FLAWS if kind not in flaws.MOVED]
    count = min(MOST, int((seconds - SECONDS - 4) // APART) + 1)
    for number, place in enumerate(np.linspace(3, seconds - SECONDS - 3, count + 2)[1:-1].tolist()):
        sound = torch.from_numpy(load(path, RATE, SECONDS, offset=place).samples)[None]
        if sound.shape[1] < RATE * SECONDS or float(sound.std()) < 1e-3:
            continue
        yield _packed(sound), name, False
        if number % 2 == 0:
            generator = torch.Generator().manual_seed(int(rng.integers(2**31)))
            for kind in rng.choice(kinds, rng.integers(1, 3), replace=False):
                strength = torch.tensor([rng.uniform(0.15, 1)], dtype=torch.float32)
                sound = flaws.FLAWS[kind](levelled(sound), strength, generator)
            yield _packed(sound), name, True


def _packed(sound: Tensor) -> NDArray[np.uint8]:
    from cmi.reward.model.encoders.nano import begun, halve_rate, levelled

    heard = torch.cat(hear(halve_rate(begun(levelled(sound)))), dim=2)[0]  # (600, 132)
    return np.asarray((heard / STEP).round().clamp(0, 15).byte().numpy())


def read_songs(path: Path, device: torch.device) -> tuple[Songs, Songs]:
    """Excerpts to learn from and to test with; a flawed one follows the clean one."""
    with np.load(path) as stored:
        packed, names, flawed = stored["songs"], stored["names"], stored["flawed"]
    heard = np.empty((*packed.shape[:2], 2 * packed.shape[2]), np.uint8)
    heard[:, :, ::2], heard[:, :, 1::2] = packed % 16, packed // 16
    tested = np.array([int(name[-6:], 16) % TESTS == 0 for name in names])
    return _chosen(heard, flawed, ~tested, device), _chosen(heard, flawed, tested, device)


def _chosen(
    heard: NDArray[np.uint8],
    flawed: NDArray[np.bool_],
    chosen: NDArray[np.bool_],
    device: torch.device,
) -> Songs:
    own = torch.from_numpy(flawed[chosen]).to(device)
    rows = torch.arange(len(own), device=device)
    follows = torch.cat([own[1:], own[:1] & False])
    sound = (torch.from_numpy(heard[chosen]).to(device) * STEP).half()
    return Songs(sound, torch.where(follows, rows + 1, rows), own)


if __name__ == "__main__":
    main()
