"""Reads what `clips.py` wrote, with libsndfile alone: the machine with the GPU may lack everything else."""

import ctypes
import ctypes.util
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

RATE, SECONDS, TOGETHER = 24_000, 12, 64
SIZE = RATE * SECONDS
HEARD_RATE = 32_000
HEARD = HEARD_RATE * SECONDS
FULL_SCALE = 32_767


class _Info(ctypes.Structure):
    _fields_ = (
        ("frames", ctypes.c_int64),
        *((name, ctypes.c_int) for name in "rate channels format sections seekable".split()),
    )


def load_library(folder: Path) -> ctypes.CDLL:
    """The copy of libsndfile in a folder, or the system's."""
    own = folder / "libsndfile_x86_64.so"
    library = ctypes.CDLL(str(own) if own.exists() else ctypes.util.find_library("sndfile"))
    library.sf_open.restype = ctypes.c_void_p
    library.sf_open.argtypes = (ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(_Info))
    library.sf_readf_float.restype = ctypes.c_int64
    library.sf_readf_float.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    return library


def read_pack(folder: Path, name: str, device: torch.device) -> tuple[Tensor, list[dict[str, Any]]]:
    """Clips as 16-bit integers at 32 kHz, (clips, 384,000) on the device, and what is known of each."""
    rows = read_rows(folder, name)
    library = load_library(folder)
    files = sorted(folder.glob(f"{name}-[0-9]*.opus"))
    with ThreadPoolExecutor(16) as pool:
        sounds = list(pool.map(lambda path: _read(library, path), files))
    clips = [row for sound in sounds for row in sound]
    assert len(clips) == len(rows), f"{name}: {len(clips)} clips, {len(rows)} lines"
    parts = [resampled(torch.from_numpy(np.stack(part)).to(device)) for part in _batches(clips)]
    return torch.cat([(part.clamp(-1, 1) * FULL_SCALE).short() for part in parts]), rows


def read_rows(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{name}.json").read_text(encoding="utf-8").splitlines()]


def resampled(clips: Tensor) -> Tensor:
    """From 24 to 32 kHz, by more room in the spectrum: (B, 288,000) -> (B, 384,000)."""
    spectrum = torch.fft.rfft(clips)
    return torch.fft.irfft(spectrum, n=clips.shape[1] * HEARD_RATE // RATE) * (HEARD_RATE / RATE)


def _read(library: ctypes.CDLL, path: Path) -> NDArray[np.float32]:
    info = _Info()
    file = library.sf_open(str(path).encode(), 0x10, ctypes.byref(info))
    assert file and info.rate == RATE, f"{path}: {info.rate} Hz"
    sound = np.zeros(TOGETHER * SIZE, np.float32)
    count = library.sf_readf_float(file, sound.ctypes.data, len(sound))
    return sound[: round(count / SIZE) * SIZE].reshape(-1, SIZE)


def _batches(clips: Sequence[NDArray[np.float32]]) -> list[Sequence[NDArray[np.float32]]]:
    return [clips[start : start + 128] for start in range(0, len(clips), 128)]
