"""The composer's styles, read from styles.toml: players, tempos, metres, chords and rhythms."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, NamedTuple

from cmi._util.config import check_config, read_table
from cmi.studio.piece import Mode, Role

Grids = Mapping[int, str]  # by metre


class Harmony(NamedTuple):
    opens: tuple[str, ...]  # from the tonic, to be answered
    closes: tuple[str, ...]  # to the tonic
    bridges: tuple[str, ...]  # elsewhere, ending on the way back


class Comp(NamedTuple):
    figure: Literal["block", "arpeggio", "power"]
    grids: Grids
    gate: float = 0.95  # share of the time to the next note that a note sounds
    order: tuple[int, ...] = (0, 1, 2, 1)  # of an arpeggio's voices
    rings: bool = False  # an arpeggio's notes sound on to the end of the chord


class Bass(NamedTuple):
    figure: Literal["root", "fifth", "octave", "walk"]
    grids: Grids
    gate: float = 0.9


class Groove(NamedTuple):
    lanes: Mapping[int, Mapping[str, str]]  # by metre, a grid for each drum
    fill: tuple[str, ...] = ()  # drums that share the last beat before a new section
    crash: bool = False  # a cymbal opens each section


@dataclass(frozen=True)
class Style:
    tempos: tuple[int, int]
    moods: Mapping[Mode, tuple[str, ...]]
    players: Mapping[Role, tuple[str, ...]]  # to choose from; "" leaves the role out
    harmony: Mapping[Mode, Harmony]
    cells: Mapping[int, tuple[str, ...]]  # the melody's rhythms, by metre
    comp: Comp
    bass: Bass
    groove: Groove | None = None
    gate: float = 0.95  # the melody's
    swing: float = 0.5  # where the middle of a swung unit falls
    swung: float = 1.0  # beats in a swung unit

    @property
    def metres(self) -> tuple[int, ...]:
        return tuple(sorted(self.comp.grids))


def _read_styles() -> dict[str, Style]:
    """Read the styles; those that share their harmony or rhythms refer to them by name."""
    tables = read_table(files("cmi.studio") / "styles.toml")
    harmonies, rhythms = tables["harmonies"], tables["rhythms"]
    whole = {
        name: {**style, "harmony": harmonies[style["harmony"]], "cells": rhythms[style["cells"]]}
        for name, style in tables["styles"].items()
    }
    return check_config(whole, dict[str, Style], "styles.toml")


STYLES: Mapping[str, Style] = _read_styles()
