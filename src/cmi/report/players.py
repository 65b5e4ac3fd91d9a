"""Recordings on HTML pages: waveforms with players, links to moments, and cards from best to worst."""

import base64
import io
import os
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple, TypeGuard
from urllib.parse import quote

import numpy as np
import soundfile
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi._util.remote import RemotePath
from cmi.audio import load, load_peaks
from cmi.report.html import details
from cmi.report.numbers import clock

PEAKS = 240  # of a waveform as it is drawn
WAVE_HEIGHT = 40
OUTLINE_FRAMES = 16  # frames whose peak is read from a file at once
OPEN_CARDS = 12  # shown of each end of a ranking; the others are folded
EMBEDDED_RATE = 32_000
MOST_EMBEDDED = 64 * 2**20  # characters in one page

Link = Callable[[Path], str]  # the address of a recording, escaped; '' if the page cannot play it


class Outline(NamedTuple):
    """The outline of a waveform."""

    seconds: float
    peaks: list[float]  # 0 to 1


def outline_of(samples: NDArray[np.float32], rate: int) -> Outline:
    """Return the outline of samples, (n, channels)."""
    frames, channels = samples.shape
    count = min(PEAKS, frames)
    starts = channels * (np.arange(count) * frames // max(1, count))
    peaks: Iterable[float] = np.maximum.reduceat(np.abs(samples).ravel(), starts) if count else []
    return Outline(frames / rate, [round(float(peak), 3) for peak in peaks])


def read_outline(path: Path) -> Outline:
    """Return the outline of a file of any length, read block by block."""
    peaks, seconds = load_peaks(path, OUTLINE_FRAMES)
    return outline_of(peaks[:, None], 1)._replace(seconds=seconds)


def wave(name: str, outline: Outline, marked: Iterable[tuple[float, float]] = (), drawn: str = "") -> str:
    """Draw a waveform with marked spans, in seconds, and further SVG (`drawn`); a click plays from that position."""
    width, middle, seconds = len(outline.peaks), WAVE_HEIGHT / 2, outline.seconds
    loudest = max(outline.peaks) or 1.0
    heights = [peak / loudest * middle for peak in outline.peaks]
    above = " ".join(f"L{i} {middle - height:.1f}" for i, height in enumerate(heights))
    below = " ".join(f"L{i} {middle + height:.1f}" for i, height in reversed(list(enumerate(heights))))
    marks = "".join(
        f'<rect x="{start / seconds * width:.1f}" y="0" '
        f'width="{max(1.0, (end - start) / seconds * width):.1f}" height="{WAVE_HEIGHT}"/>'
        for start, end in marked
    )
    return (
        f'<svg class="wave" data-seconds="{seconds:.2f}" viewBox="0 0 {width} {WAVE_HEIGHT}" '
        f'preserveAspectRatio="none" role="img" aria-label="waveform of {escape(name)}">'
        f'<path d="M0 {middle} {above} {below} Z"/>{marks}{drawn}</svg>'
    )


def cut_note(heard: float | None, outline: Outline) -> str:
    """Say how much of a recording a scorer heard, in seconds (None: it does not tell); '' if that is all of it.

    >>> cut_note(120.0, Outline(240.0, [1.0])), cut_note(30.0, Outline(30.2, [1.0]))
    ('; scored: the first 2:00 of 4:00', '')
    """
    return f"; scored: the first {clock(heard)} of {clock(outline.seconds)}" if _is_cut(heard, outline) else ""


def cut_cover(heard: float | None, outline: Outline) -> str:
    """Draw (SVG) a cover over the part of a waveform that a scorer did not hear."""
    if not _is_cut(heard, outline):
        return ""
    width = len(outline.peaks)
    start = heard / outline.seconds * width
    return f'<rect class="unheard" x="{start:.1f}" y="0" width="{width - start:.1f}" height="{WAVE_HEIGHT}"/>'


def _is_cut(heard: float | None, outline: Outline) -> TypeGuard[float]:
    return heard is not None and heard < outline.seconds - 1


def player(name: str, source: str) -> str:
    """Return a player for an address from a `Link`."""
    if not source:
        return '<p class="quiet">This recording is not on this computer, and the page cannot play it.</p>'
    return f'<audio controls preload="none" src="{source}" aria-label="{escape(name)}"></audio>'


def play_button(name: str, start: float) -> str:
    """Return a button that plays the recording from `start`, in seconds."""
    return f'<button data-at="{start:.2f}" aria-label="play {escape(name)} from {clock(start)}">{clock(start)}</button>'


def moment(name: str, start: float, sentence: str) -> str:
    """Return a list item: a button that plays the recording from `start`, and a sentence about that moment."""
    return f"<li>{play_button(name, start)} <span>{escape(sentence)}</span></li>"


def ranked_cards(cards: Sequence[str]) -> str:
    """Lay out cards (HTML list items), the best first; those between the first and the last are folded."""
    middle, last = OPEN_CARDS, max(OPEN_CARDS, len(cards) - OPEN_CARDS)
    parts = [_card_list(cards[:middle], 1)]
    if cards[middle:last]:
        parts.append(details(f"{last - middle} takes between", [_card_list(cards[middle:last], middle + 1)]))
    if cards[last:]:
        parts.append(_card_list(cards[last:], last + 1))
    return "\n".join(parts)


def _card_list(cards: Sequence[str], first: int) -> str:
    return f'<ol class="takes" start="{first}">\n' + "\n".join(cards) + "\n</ol>"


def link_from(folder: Path) -> Link:
    """Return a `Link` with addresses relative to the page's folder."""

    def link(path: Path) -> str:
        if isinstance(path, RemotePath):
            return ""
        address = os.path.relpath(path.resolve(), folder.resolve()).replace(os.sep, "/")
        return escape(quote(os.fsencode(address)))

    return link


def embed_up_to(limit: int, link: Link) -> Link:
    """Return a `Link` that embeds recordings as mono MP3 files up to a limit in bytes; beyond it, `link` is used."""
    left = limit

    def embed(path: Path) -> str:
        nonlocal left
        if left <= 0:
            return link(path)
        try:
            sound, encoded = load(path, EMBEDDED_RATE), io.BytesIO()
        except InputError:  # longer than two hours
            return link(path)
        soundfile.write(encoded, sound.samples.clip(-1, 1), EMBEDDED_RATE, format="MP3", subtype="MPEG_LAYER_III")
        address = f"data:audio/mpeg;base64,{base64.b64encode(encoded.getvalue()).decode('ascii')}"
        left -= len(address)
        return address if left >= 0 else link(path)

    return embed


def page_links(page: Path, embed_audio: bool) -> Link:
    """Return the `Link` of a page: embedded or relative addresses."""
    link = link_from(page.parent)
    return embed_up_to(MOST_EMBEDDED, link) if embed_audio else link
