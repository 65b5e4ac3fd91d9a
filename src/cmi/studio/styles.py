"""The composer's styles as data: players, tempos, metres, chords and rhythms.

Conventions
    A grid is one bar in equal steps. '1' is a note that every density plays, '2' one from moderate on, '3' one that
    only busy plays; '0' begins a silence; '.' lets what sounds go on. A busier piece is the same with more in it.
    A progression is four bars of chords: a scale degree, then its colour ('7' seventh, '6' sixth, '9' added ninth).
    '2/5' shares a bar between two chords. The fifth degree in minor has the leading tone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

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
    players: Mapping[Role, tuple[str | None, ...]]  # to choose from; None leaves the role out
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


_POP: Mapping[Mode, Harmony] = {
    "major": Harmony(
        ("1 5 6 4", "1 6 4 5", "1 3 4 5", "1 4 6 5"),
        ("6 4 5 1", "4 5 1 1", "1 2/5 1 1"),
        ("6 4 1 5", "4 1 2 5", "4 5 6 5"),
    ),
    "minor": Harmony(
        ("1 6 3 7", "1 4 6 5", "1 7 6 5"), ("6 7 1 1", "4 5 1 1", "6 4 5 1"), ("6 3 4 5", "3 7 4 5", "4 1 6 5")
    ),
}
_MODAL: Mapping[Mode, Harmony] = {
    "major": Harmony(("1 5 6 4", "1 3 6 4", "1 4 6 5"), ("4 5 1 1", "6 4 1 1"), ("6 4 1 5", "4 6 4 5")),
    "minor": Harmony(("1 6 3 7", "1 7 6 7", "1 4 6 7"), ("6 7 1 1", "4 7 1 1"), ("6 3 4 7", "4 6 3 7")),
}
_CLASSICAL: Mapping[Mode, Harmony] = {
    "major": Harmony(
        ("1 4 1 5", "1 6 2 5", "1 57 1 5", "1 1/4 2 5"),
        ("1 6 2/57 1", "1 4/2 57 1", "6 2 57 1"),
        ("57 1 57 5", "6 2 5 57", "4 1 2 57"),
    ),
    "minor": Harmony(
        ("1 4 1 5", "1 6 4 5", "1 57 1 5"), ("1 4 1/57 1", "6 4 57 1", "1 4/6 57 1"), ("3 7 3 57", "6 3 4 57")
    ),
}
_FOLK: Mapping[Mode, Harmony] = {
    "major": Harmony(("1 1 4 5", "1 4 1 5", "1 6 4 5"), ("1 4 5 1", "4 1 5 1", "1 5 4/5 1"), ("4 1 4 5", "6 4 1 5")),
    "minor": Harmony(("1 7 6 7", "1 3 7 5", "1 7 1 5"), ("3 7 1/5 1", "6 7 1 1", "1 4 5 1"), ("3 7 1 5", "6 3 7 5")),
}
_JAZZ: Mapping[Mode, Harmony] = {
    "major": Harmony(
        ("17 67 27 57", "17 47 27 57", "17 27 37/67 27/57"),
        ("27 57 16 16", "37/67 27/57 16 16", "47 27/57 16 16"),
        ("47 37 27 57", "67 27 67 57", "37 67 27 57"),
    ),
    "minor": Harmony(("17 47 27 57", "17 67 27 57"), ("27 57 17 17", "47 27/57 17 17"), ("47 77 37 57", "67 27 67 57")),
}
_SOUL: Mapping[Mode, Harmony] = {
    "major": Harmony(("17 37 47 57", "17 67 47 57"), ("27 57 16 16", "47 57 16 16"), ("47 37 27 57", "67 27 47 57")),
    "minor": Harmony(("17 47 67 57", "17 67 47 57"), ("47 57 17 17", "67 47 17 17"), ("67 37 47 57", "47 17 67 57")),
}
_BLUES: Mapping[Mode, Harmony] = {
    "major": Harmony(("16 46 16 16", "16 16 16 16"), ("57 46 16 16", "46 57 16 16"), ("46 46 16 16", "46 46 16 57")),
    "minor": Harmony(("17 47 17 17", "17 17 17 17"), ("57 47 17 17", "67 57 17 17"), ("47 47 17 17", "47 47 17 57")),
}
_OPEN_SKY: Mapping[Mode, Harmony] = {
    "major": Harmony(("19 67 47 59", "19 37 47 49"), ("47 59 19 19", "27 47 19 19"), ("67 47 19 59", "47 67 27 59")),
    "minor": Harmony(("17 67 37 7", "17 47 67 7"), ("67 7 17 17", "47 67 17 17"), ("67 37 47 7", "47 17 67 7")),
}

_LYRICAL = {
    4: ("1..21.3.", "1.2.1.23", "1.321.2.", "1..12.3.", "1.231..2"),
    3: ("1.231.", "1.2.13", "1.321.", "1..123"),
}
_SYNCOPATED = {4: ("1..2..2.1..3..2.", "1..3..2...1.3.2.", "0.2.1.3...2.1.3.", "1..2..1.3.2.0...")}
_ANTHEM = {4: ("1.2.1.23", "1..21.3.", "1.221.30", "1...2323")}
_SWUNG = {4: ("1.23.12.", "0.12.321", "1.232.0.", "1..31.23", "2.1.2310"), 3: ("1.23.1", "1..32.", "1.232.", "0.1232")}
_RUNNING = {
    4: ("1.2.1.232.2.1.23", "1.232.231.2.2323", "1...2.2.1.232.2.", "1.2.2.231...2.23"),
    3: ("1.2.1.232.23", "1.232.231.2.", "1...2.232.2."),
}
_DOTTED = {4: ("1..22.3.1..22...", "1...2.3.1..22.3.", "1..22..31...2...", "1...2...1.3.2.3.")}
_DRIFTING = {
    4: ("1.....2.3.......", "1.......2...3...", "1...2.....3.....", "0...1.....2...3."),
    3: ("1...23", "1.3.2.", "1..2.3"),
}
_HOOK = {4: ("1..2..1.2...3.3.", "1.3.2..1..2.3...", "1..2..2.1.3.0...", "1...2.3.1..2..3.")}
_LAIDBACK = {4: ("1..3..2.0.2.3...", "0...1.3.2..3..2.", "1...2..31...0.3.", "1.2.3...1..2.0..")}
_BLUESY = {4: ("1.2.1.30", "0.2.1.32", "1.23.10.", "2.321.0.")}

STYLES: Mapping[str, Style] = {
    "piano ballad": Style(
        tempos=(60, 84),
        moods={"major": ("tender", "warm", "hopeful"), "minor": ("melancholy", "wistful", "sad")},
        players={
            "melody": ("piano", "violin", "cello"),
            "harmony": ("piano",),
            "bass": ("piano",),
            "pad": ("strings", None),
        },
        harmony=_POP,
        cells=_LYRICAL,
        comp=Comp("arpeggio", {4: "1.232.232.232.23", 3: "1.232.232.23"}, 0.98, rings=True),
        bass=Bass("fifth", {4: "1.......2.....3.", 3: "1.....3.2..."}, 0.97),
        gate=0.98,
    ),
    "pop": Style(
        tempos=(96, 126),
        moods={"major": ("happy", "bright", "uplifting"), "minor": ("bittersweet", "yearning", "moody")},
        players={
            "melody": ("synth lead", "electric guitar", "piano"),
            "harmony": ("piano", "acoustic guitar", "electric piano"),
            "bass": ("bass guitar",),
            "pad": ("strings", None),
            "drums": ("drums",),
        },
        harmony=_POP,
        cells=_SYNCOPATED,
        comp=Comp("block", {4: "1...2..21..32.3."}, 0.8),
        bass=Bass("root", {4: "1..2..3.1..2..3."}, 0.85),
        groove=Groove(
            {4: {"kick": "1.....2.1..3....", "snare": "....1.......1..3", "closed hat": "1323132313231323"}},
            ("snare", "snare", "mid tom", "low tom"),
            crash=True,
        ),
    ),
    "rock": Style(
        tempos=(112, 152),
        moods={"major": ("energetic", "triumphant", "rousing"), "minor": ("angry", "driving", "defiant")},
        players={
            "melody": ("distorted guitar", "electric guitar", "organ"),
            "harmony": ("distorted guitar",),
            "bass": ("bass guitar",),
            "drums": ("drums",),
        },
        harmony=_MODAL,
        cells=_ANTHEM,
        comp=Comp("power", {4: "12231223"}, 0.85),
        bass=Bass("root", {4: "12321232"}, 0.9),
        groove=Groove(
            {4: {"kick": "1.3.12.3", "snare": "..1...1.", "closed hat": "12121212", "open hat": ".......3"}},
            ("snare", "high tom", "mid tom", "low tom"),
            crash=True,
        ),
    ),
    "jazz swing": Style(
        tempos=(120, 184),
        moods={"major": ("playful", "cheerful", "easygoing"), "minor": ("cool", "smoky", "mysterious")},
        players={
            "melody": ("saxophone", "trumpet", "vibraphone", "clarinet"),
            "harmony": ("piano", "jazz guitar"),
            "bass": ("upright bass",),
            "drums": ("drums",),
        },
        harmony=_JAZZ,
        cells=_SWUNG,
        comp=Comp("block", {4: "1..2..32", 3: "1..2.3"}, 0.55),
        bass=Bass("walk", {4: "1.2.1.23", 3: "1.2.23"}, 0.92),
        groove=Groove(
            {
                4: {"ride": "1.121.12", "pedal hat": "..1...1.", "kick": "2...3...", "rim": ".......3"},
                3: {"ride": "1.121.", "pedal hat": "..2.1.", "kick": "2.....", "rim": ".....3"},
            },
            ("snare", "snare"),
        ),
        swing=2 / 3,
    ),
    "bossa nova": Style(
        tempos=(112, 140),
        moods={"major": ("breezy", "sunny", "relaxed"), "minor": ("sultry", "longing", "intimate")},
        players={
            "melody": ("flute", "saxophone", "classical guitar"),
            "harmony": ("classical guitar", "electric piano"),
            "bass": ("upright bass",),
            "drums": ("drums",),
        },
        harmony=_JAZZ,
        cells=_SYNCOPATED,
        comp=Comp("block", {4: "1.2..1.2"}, 0.7),
        bass=Bass("fifth", {4: "1..21..3"}, 0.92),
        groove=Groove(
            {4: {"rim": "1.....2.....1...", "kick": "1.....2.1.....2.", "shaker": "2.2323232.232323"}}, ("rim", "rim")
        ),
    ),
    "waltz": Style(
        tempos=(96, 168),
        moods={"major": ("graceful", "joyful", "elegant"), "minor": ("nostalgic", "haunting", "bittersweet")},
        players={
            "melody": ("violin", "accordion", "clarinet"),
            "harmony": ("accordion", "piano", "strings"),
            "bass": ("upright bass", "cello"),
        },
        harmony=_CLASSICAL,
        cells={3: _LYRICAL[3]},
        comp=Comp("block", {3: "0.1.23"}, 0.6),
        bass=Bass("fifth", {3: "1....3"}, 0.6),
        groove=Groove({3: {"kick": "1.....", "closed hat": "..1.23", "tambourine": "....2."}}),
    ),
    "folk": Style(
        tempos=(88, 128),
        moods={"major": ("cheerful", "homely", "carefree"), "minor": ("lonesome", "wistful", "earnest")},
        players={
            "melody": ("fiddle", "harmonica", "flute", "banjo"),
            "harmony": ("acoustic guitar",),
            "bass": ("upright bass", "acoustic guitar"),
        },
        harmony=_FOLK,
        cells=_LYRICAL,
        comp=Comp("arpeggio", {4: "12232223", 3: "122223"}, 0.97, (0, 2, 1, 2), rings=True),
        bass=Bass("fifth", {4: "1...2..3", 3: "1....3"}, 0.9),
        groove=Groove(
            {4: {"tambourine": "3.1.3.12", "kick": "1...2..."}, 3: {"tambourine": "..1.23", "kick": "1....."}}
        ),
    ),
    "house": Style(
        tempos=(120, 128),
        moods={"major": ("euphoric", "uplifting", "bright"), "minor": ("hypnotic", "deep", "nocturnal")},
        players={
            "melody": ("synth lead", "electric piano", "vibraphone"),
            "harmony": ("organ", "piano", "electric piano"),
            "bass": ("synth bass",),
            "pad": ("synth strings", "synth pad", None),
            "drums": ("drums",),
        },
        harmony=_MODAL,
        cells=_HOOK,
        comp=Comp("block", {4: "1..2..1...2..3.3"}, 0.6),
        bass=Bass("octave", {4: "1.2...2.1.2.3.2."}, 0.7),
        groove=Groove(
            {
                4: {
                    "kick": "1...1...1...1...",
                    "clap": "....1.......1...",
                    "open hat": "..1...1...1...1.",
                    "closed hat": "2.323.232.323.23",
                }
            },
            ("clap", "clap", "clap", "clap"),
            crash=True,
        ),
    ),
    "ambient": Style(
        tempos=(56, 76),
        moods={"major": ("peaceful", "serene", "dreamy"), "minor": ("mysterious", "brooding", "lonely")},
        players={
            "melody": ("vibraphone", "pan flute", "celesta"),
            "harmony": ("harp", "electric piano", "synth pad"),
            "bass": ("synth bass", "cello"),
            "pad": ("synth pad", "choir", "strings"),
        },
        harmony=_OPEN_SKY,
        cells=_DRIFTING,
        comp=Comp("arpeggio", {4: "1.2.2.232.2.2.23", 3: "122223"}, 1.0, (0, 2, 1, 3), rings=True),
        bass=Bass("root", {4: "1.....3.", 3: "1...3."}, 0.98),
        gate=0.99,
    ),
    "march": Style(
        tempos=(104, 124),
        moods={"major": ("proud", "triumphant", "festive"), "minor": ("solemn", "stern", "grim")},
        players={
            "melody": ("trumpet", "brass section", "flute"),
            "harmony": ("french horn", "brass section"),
            "bass": ("tuba",),
            "drums": ("drums",),
        },
        harmony=_CLASSICAL,
        cells=_DOTTED,
        comp=Comp("block", {4: "0.1.3.2."}, 0.5),
        bass=Bass("fifth", {4: "1...1..3"}, 0.6),
        groove=Groove(
            {4: {"kick": "1.......1.......", "snare": "1...1.221.331.22", "crash": "2.......3......."}},
            ("snare", "snare", "snare", "snare"),
            crash=True,
        ),
        gate=0.85,
    ),
    "blues": Style(
        tempos=(72, 112),
        moods={"major": ("laid-back", "gritty", "soulful"), "minor": ("aching", "sorrowful", "smouldering")},
        players={
            "melody": ("harmonica", "electric guitar", "saxophone"),
            "harmony": ("electric guitar", "piano", "organ"),
            "bass": ("bass guitar", "upright bass"),
            "drums": ("drums",),
        },
        harmony=_BLUES,
        cells=_BLUESY,
        comp=Comp("block", {4: "1.232.23"}, 0.6),
        bass=Bass("walk", {4: "1.2.1.23"}, 0.9),
        groove=Groove(
            {4: {"kick": "1..31..3", "snare": "..1...13", "ride": "12121212"}},
            ("snare", "mid tom"),
        ),
        swing=2 / 3,
    ),
    "baroque": Style(
        tempos=(76, 108),
        moods={"major": ("stately", "joyful", "noble"), "minor": ("grave", "dramatic", "pensive")},
        players={
            "melody": ("oboe", "violin", "harpsichord", "flute"),
            "harmony": ("harpsichord", "church organ"),
            "bass": ("cello", "bassoon"),
        },
        harmony=_CLASSICAL,
        cells=_RUNNING,
        comp=Comp("block", {4: "1.2.2.23", 3: "1.2.23"}, 0.8),
        bass=Bass("walk", {4: "13231323", 3: "132323"}, 0.85),
        gate=0.9,
    ),
    "hip hop": Style(
        tempos=(80, 98),
        moods={"major": ("chilled", "mellow", "confident"), "minor": ("dark", "brooding", "tense")},
        players={
            "melody": ("electric piano", "vibraphone", "synth lead"),
            "harmony": ("electric piano", "jazz guitar", "synth strings"),
            "bass": ("synth bass", "bass guitar"),
            "drums": ("drums",),
        },
        harmony=_SOUL,
        cells=_LAIDBACK,
        comp=Comp("block", {4: "1......2..3..3.."}, 0.9),
        bass=Bass("root", {4: "1......2..1..3.."}, 0.8),
        groove=Groove(
            {4: {"kick": "1......2..1..3..", "snare": "....1..3....1...", "closed hat": "1.2.1.231.2.1323"}},
            ("snare", "snare"),
        ),
        swing=0.6,
        swung=0.5,
    ),
    "reggae": Style(
        tempos=(68, 88),
        moods={"major": ("sunny", "relaxed", "carefree"), "minor": ("rebellious", "smoky", "meditative")},
        players={
            "melody": ("trombone", "organ", "saxophone"),
            "harmony": ("electric guitar", "organ"),
            "bass": ("bass guitar",),
            "drums": ("drums",),
        },
        harmony=_FOLK,
        cells=_LAIDBACK,
        comp=Comp("block", {4: "0.1.0.230.1.0.23"}, 0.6),
        bass=Bass("fifth", {4: "1..2..2.1...2.3."}, 0.85),
        groove=Groove(
            {4: {"kick": "2.......1.......", "rim": "........1.....3.", "closed hat": "1.2.1.231.2.1.23"}},
            ("snare", "high tom", "high tom"),
        ),
        swing=0.56,
        swung=0.5,
    ),
    "synthwave": Style(
        tempos=(84, 116),
        moods={"major": ("nostalgic", "dreamy", "heroic"), "minor": ("dark", "neon-lit", "restless")},
        players={
            "melody": ("synth lead",),
            "harmony": ("synth strings", "electric piano"),
            "bass": ("synth bass",),
            "pad": ("synth pad",),
            "drums": ("drums",),
        },
        harmony=_MODAL,
        cells=_HOOK,
        comp=Comp("arpeggio", {4: "1.2.2.2.2.232323"}, 0.7, (0, 1, 2, 1, 2, 1)),
        bass=Bass("octave", {4: "1.2.2.2.1.232323"}, 0.75),
        groove=Groove(
            {4: {"kick": "1...2...1.3.2...", "snare": "....1.......1...", "closed hat": "1.2.1.2.1.231.23"}},
            ("high tom", "mid tom", "low tom", "low tom"),
            crash=True,
        ),
    ),
    "lullaby": Style(
        tempos=(66, 88),
        moods={"major": ("gentle", "sleepy", "innocent"), "minor": ("wistful", "fragile", "lonely")},
        players={
            "melody": ("music box", "celesta", "flute"),
            "harmony": ("harp", "music box"),
            "bass": ("harp", "cello"),
        },
        harmony=_FOLK,
        cells={3: _LYRICAL[3]},
        comp=Comp("arpeggio", {3: "122223"}, 0.98, (0, 1, 2), rings=True),
        bass=Bass("root", {3: "1...3."}, 0.95),
        gate=0.98,
    ),
}
