"""Make a page with a piece and its flawed versions side by side, as pictures and recordings.

    index.html    the page: it needs nothing but the two folders beside it
    audio/        a FLAC file for each version
    pictures/     its waveform above its spectrogram, with the flaw marked

A version is marked where it differs most from the clean one: where their difference is within 15 dB of its maximum.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi._util.files import make_folder, whole_file, write_whole
from cmi.features.key import TONICS
from cmi.report.html import fact_list, page
from cmi.report.pictures import PALETTE, new_figure, require_matplotlib
from cmi.studio.captions import caption, facts
from cmi.studio.flaws import FLAWS, Flaw, SoundFlaw, composition, performance, production, tape
from cmi.studio.pairs import known_flaws
from cmi.studio.piece import Piece
from cmi.studio.recordings import RATE, Sound, TakeRecipe, TakeSource, piece_of, record, write_flac

ONE_OF_EACH = ("noise", "wrong-notes", "bars-shuffled")
STRENGTH = 0.6

FRAME = RATE // 25  # samples per frame in which differences are measured
MARKED = 10 ** (-15 / 20)  # of the greatest difference
ALIKE = 0.95  # correlation
INAUDIBLE = 1e-4  # RMS: what rounding may leave
SHORTEST_GAP = 0.2  # seconds between two marks
THROUGHOUT = 0.8  # of the time

SIZE, DOTS = (11, 4.6), 120  # inches, dots an inch
WINDOW, COLUMNS = 4096, 1200  # of the spectrogram: samples, and how many
LOWEST, HIGHEST, BANDS = 40.0, 16_000.0, 260  # hertz; the bands are equally wide to the ear
QUIETEST, LOUDEST = -90, -15  # dB of a full-scale sine
GROUND, INK, WAVE, MARK = (PALETTE[name][1] for name in ("paper", "quiet", "take-a", "take-b"))  # on dark paper

MEASURES: dict[Callable[..., float], tuple[float, str]] = {  # times so much, in these words
    production.distortion: (100, "{:.3g} % of the energy is not the clean recording's"),
    production.octaves_darker: (1, "{:.3g} octaves darker"),
    production.octaves_brighter: (1, "{:.3g} octaves brighter"),
    production.decibels_lost: (1, "{:.3g} dB quieter"),
    tape.delays: (1000 / RATE, "moments are {:.3g} ms off, on average"),
    tape.moved: (100, "in {:.3g} % of the time another moment is heard"),
    performance.onset_deviation: (1000, "notes begin {:.3g} ms off, on average"),
    performance.notes_changed: (100, "{:.3g} % of the pitched notes are changed"),
    performance.detuning: (1, "{:.3g} cents out of tune"),
    performance.tempo_spread: (1, "the tempo strays by {:.3g} octaves (standard deviation)"),
    composition.bars_changed: (100, "{:.3g} % of the bars are changed"),
    composition.music_lost: (100, "{:.3g} % of the music is lost"),
}


class MarkedSpan(NamedTuple):
    start: float  # seconds
    end: float


@dataclass(frozen=True)
class ShownVersion:
    name: str
    description: str
    sound: Sound
    strength: float = 0.0
    measured: str = ""  # in words
    marks: tuple[MarkedSpan, ...] = ()

    @property
    def audio(self) -> str:
        return f"audio/{self.name}.flac"

    @property
    def picture(self) -> str:
        return f"pictures/{self.name}.png"

    @property
    def where(self) -> str:
        """Say where it differs most from the clean one."""
        seconds, marked = len(self.sound) / RATE, sum(end - start for start, end in self.marks)
        if not self.marks:
            return "nowhere"
        if marked >= THROUGHOUT * seconds:
            return "throughout"
        places = "one place" if len(self.marks) == 1 else f"{len(self.marks)} places"
        return f"in {places}, {marked:.1f} of {seconds:.0f} seconds"


def show_flaws(
    folder: Path,
    seed: int = 0,
    style: str | None = None,
    flaws: Sequence[str] = ONE_OF_EACH,
    strength: float = STRENGTH,
    on_drawn: Callable[[int, int], None] = lambda done, total: None,
) -> Path:
    """Write a piece, clean and with each of the named flaws or families, into a folder; return the page."""
    require_matplotlib()
    wanted = known_flaws(flaws)
    chosen = [flaw for flaw in FLAWS.values() if flaw.name in wanted or flaw.family in wanted]
    source = TakeSource(seed, (("style", style),) if style else ())
    piece, index = piece_of(source), folder / "index.html"
    for made in (folder, folder / "audio", folder / "pictures"):
        make_folder(made)
    versions = _versions(source, chosen, strength)
    highest = max(float(np.abs(version.sound).max()) for version in versions)
    for done, version in enumerate(versions, 1):
        write_flac(version.sound, folder / version.audio)
        draw(version, folder / version.picture, highest)
        on_drawn(done, len(versions))
    write_whole(index, page_of(piece, seed, versions))
    return index


def _versions(source: TakeSource, flaws: Sequence[Flaw], strength: float) -> list[ShownVersion]:
    clean, _ = record(TakeRecipe(source))
    versions = [ShownVersion("clean", "as composed", clean)]
    for flaw in flaws:
        rng = np.random.default_rng(source.seed)
        if isinstance(flaw, SoundFlaw):  # on the clean recording at its level, which `record` would restore
            sound = flaw.apply(clean, RATE, strength, rng)
            measured = flaw.measure(clean, sound)
        else:
            piece = piece_of(source)
            measured = flaw.measure(piece, flaw.apply(piece, strength, rng))
            sound, _ = record(TakeRecipe(source, flaw=flaw.name, strength=strength, flaw_seed=source.seed))
        factor, words = MEASURES[flaw.measure]
        marks = differences(clean, sound)
        versions.append(
            ShownVersion(flaw.name, flaw.description, sound, strength, words.format(factor * measured), marks)
        )
    return versions


def differences(clean: Sound, flawed: Sound) -> tuple[MarkedSpan, ...]:
    """Spans in which a version differs most from the clean one of the same length."""
    heard = np.sqrt(_framed(np.square(flawed * np.float32(_gain(clean, flawed)) - clean)) / FRAME)
    if heard.max() < INAUDIBLE:
        return ()
    edges = np.flatnonzero(np.diff(heard >= MARKED * heard.max(), prepend=False, append=False))
    spans = [
        MarkedSpan(start * FRAME / RATE, min(end * FRAME, len(clean)) / RATE) for start, end in edges.reshape(-1, 2)
    ]
    merged = spans[:1]
    for span in spans[1:]:
        if span.start - merged[-1].end < SHORTEST_GAP:
            merged[-1] = merged[-1]._replace(end=span.end)
        else:
            merged.append(span)
    return tuple(merged)


def _gain(clean: Sound, flawed: Sound) -> float:
    """Gain, at most 1, that matches a version to the clean one's level in the frames that are the same in both."""
    both, own, other = (_framed(a * b) for a, b in ((clean, flawed), (flawed, flawed), (clean, clean)))
    same = both > ALIKE * np.sqrt(own * other)
    return min(1.0, float(np.median(both[same] / own[same]))) if same.any() else 1.0


def _framed(sound: Sound) -> Sound:
    """The sum over each frame of the mean of the channels."""
    return np.add.reduceat(sound.mean(axis=1), np.arange(0, len(sound), FRAME))


def draw(version: ShownVersion, path: Path, highest: float) -> None:
    """Draw the waveform, with the limit `highest`, above the spectrogram, both with marks."""
    seconds = len(version.sound) / RATE
    figure = new_figure(*SIZE, dpi=DOTS, facecolor=GROUND)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1, 2))
    mono = version.sound.mean(axis=1)
    starts = np.linspace(0, len(mono), COLUMNS, endpoint=False).astype(int)
    lows, highs = np.minimum.reduceat(mono, starts), np.maximum.reduceat(mono, starts)
    above.fill_between(starts / RATE, lows, highs, color=WAVE, linewidth=0.4)
    above.set(ylim=(-highest, highest), xlim=(0, seconds), ylabel="amplitude")
    octaves = np.log2((LOWEST, HIGHEST))
    below.imshow(
        spectrogram(mono), "magma", origin="lower", aspect="auto", extent=(0, seconds, *octaves), vmin=QUIETEST,
        vmax=LOUDEST,
    )  # fmt: skip
    named = {100: "100", 400: "400", 1600: "1.6 k", 6400: "6.4 k"}
    below.set_yticks([np.log2(hertz) for hertz in named], list(named.values()))
    below.set(ylabel="frequency (Hz)", xlabel="seconds")
    for start, end in version.marks:
        above.axvspan(start, end, color=MARK, alpha=0.35, linewidth=0, zorder=0)
        below.axvspan(start, end, 0.97, 1, color=MARK, linewidth=0)  # a bar on top: a shade would hide the colours
    for axes in (above, below):
        axes.set_facecolor(GROUND)
        axes.tick_params(colors=INK, labelsize=9)
        axes.xaxis.label.set_color(INK)
        axes.yaxis.label.set_color(INK)
        axes.spines[:].set_visible(False)
    above.tick_params(bottom=False)
    strength = f", strength {version.strength:g}" if version.measured else ""
    above.set_title(f"{version.name}: {version.description}{strength}", loc="left", color=INK, fontsize=12)
    if version.marks:
        above.set_title("marked: where it differs most from the clean one", loc="right", color=MARK, fontsize=9)
    with whole_file(path) as unfinished:
        figure.savefig(unfinished, format="png")


def spectrogram(mono: NDArray[np.float32]) -> NDArray[np.float32]:
    """The energy in bands from LOWEST to HIGHEST, in decibels of a full-scale sine: of shape (BANDS, COLUMNS)."""
    window = np.hanning(WINDOW).astype(np.float32)
    padded = np.pad(mono, WINDOW // 2)
    centres = np.linspace(0, len(mono), COLUMNS, endpoint=False).astype(int)
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[centres] * window
    power = np.square(np.abs(np.fft.rfft(frames))) / np.square(window.sum() / 2)  # (columns, bins)
    return (10 * np.log10(_bands() @ power.T + 1e-12)).astype(np.float32)


def _bands() -> NDArray[np.float64]:
    """Triangles over the bins of a spectrum, (BANDS, bins): each reaches to its neighbours, or to the nearest bins."""
    bins = np.fft.rfftfreq(WINDOW, 1 / RATE)
    centres = np.geomspace(LOWEST, HIGHEST, BANDS)[:, None]
    width = np.maximum(centres * np.log(HIGHEST / LOWEST) / (BANDS - 1), bins[1])
    return np.maximum(1 - np.abs(bins - centres) / width, 0)


def page_of(piece: Piece, seed: int, versions: Sequence[ShownVersion]) -> str:
    """Write the page's HTML."""
    known = facts(piece)
    text = caption(known, random.Random(f"cmi.studio.show {seed}")).text  # noqa: S311
    shown = {
        "Style": known.style,
        "Mood": known.mood,
        "Key": f"{TONICS[piece.key.tonic]} {piece.key.mode}",
        "Tempo": f"{known.tempo:g} beats a minute",
        "Metre": f"{piece.metre} beats in a bar",
        "Instruments": ", ".join(known.instruments),
        "Seed": str(seed),
    }
    rows = "\n".join(_row(version) for version in versions)
    body = f"""<h1>{escape(piece.name)}</h1>
<blockquote>{escape(text)}</blockquote>
{fact_list(shown)}
<p><label><input type="checkbox" id="same" checked> Continue from the same moment when switching versions</label></p>
<table role="table">
<caption>One version plays at a time. Orange marks where a version differs most from the clean one.</caption>
<thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Version</th>
<th role="columnheader" scope="col">Waveform and spectrogram</th></tr></thead>
<tbody role="rowgroup">
{rows}
</tbody>
</table>"""
    style, script = (files("cmi.studio").joinpath(name).read_text(encoding="utf-8") for name in ("show.css", "show.js"))
    return page(f"{piece.name}: clean and flawed", body, style, script)


def _row(version: ShownVersion) -> str:
    about = [version.description[:1].upper() + version.description[1:]]
    alt = f"Waveform and spectrogram of {version.name}"
    if version.measured:
        about += [f"Strength {version.strength:g}", f"Measured: {version.measured}", f"Marked: {version.where}"]
        alt += f"; it differs most from the clean version {version.where}"
    lines = "\n".join(f"<p>{escape(line)}</p>" for line in about)
    audio, label = escape(version.audio), escape(f"{version.name}: {version.description}")
    width, height = (round(inches * DOTS) for inches in SIZE)
    picture = f'src="{escape(version.picture)}" alt="{escape(alt)}" width="{width}" height="{height}" loading="lazy"'
    return f"""<tr role="row">
<th role="rowheader" scope="row">
<h2>{escape(version.name)}</h2>
{lines}
<audio controls preload="none" src="{audio}" aria-label="{label}"></audio>
<a class="quiet" href="{audio}" download>{audio}</a>
</th>
<td role="cell"><img {picture}></td>
</tr>"""
