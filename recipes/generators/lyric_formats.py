"""Lyrics in the formats that song models read, from plain lyrics. Needs nothing but Python 3.8 or later.

Plain lyrics are lines, with blank lines between stanzas. A stanza may have a label, `[Verse 2]` or `[Guitar solo]`, on
a line of its own or before its first line. One without a label is a chorus if it comes more than once, else a verse.
"""

from __future__ import annotations

import re
from typing import NamedTuple

LABELS = ("intro", "verse", "chorus", "bridge", "inst", "outro")
INSTRUMENTAL = ("intro", "inst", "outro")  # labels that need no words
LEAD_IN = 10.0  # seconds before the first line, at most a tenth of the song
LINE = 3.6  # seconds for a line, and for the pause between two sections
FASTEST_LINE = 1.5

_LABEL = re.compile(r"\[([^\]]*)\]\s*(.*)")
_TIME = re.compile(r"\[\d+:\d+(?:[.:]\d+)?\]")
_LRC_LINE = re.compile(r"\[\d\d:\d\d\.\d\d\]")
_WORDS_OF_LABELS = (  # the first that is part of a label decides
    ("pre", "verse"),
    ("chorus", "chorus"),
    ("hook", "chorus"),
    ("refrain", "chorus"),
    ("bridge", "bridge"),
    ("outro", "outro"),
    ("ending", "outro"),
    ("intro", "intro"),
    ("inst", "inst"),
    ("solo", "inst"),
    ("interlude", "inst"),
    ("break", "inst"),
)
_IDLE_WORDS = frozenset("a an and are as at by for from in is it its of on or that the this to with".split())
_CHINESE = re.compile("[\u4e00-\u9fff]")


class Section(NamedTuple):
    """A part of a song: one of LABELS, and the lines that are sung."""

    label: str
    lines: tuple[str, ...]


class TimedLine(NamedTuple):
    start: float  # seconds
    end: float
    words: str


def read_sections(lyrics: str) -> list[Section]:
    """Return the sections of plain lyrics; every word that is not part of a label is in one of them.

    >>> read_sections("[Verse 1]\\nThe rain is gone\\n\\nLa la\\n\\n[Solo]\\n\\nLa la")
    [Section(label='verse', lines=('The rain is gone',)), Section(label='chorus', lines=('La la',)), \
Section(label='inst', lines=()), Section(label='chorus', lines=('La la',))]
    """
    stanzas: list[tuple[str | None, list[str]]] = []
    is_open = False
    for text in _TIME.sub("", lyrics).splitlines():
        label, line = None, text.strip()
        found = _LABEL.match(line)
        if found:
            label, line = _read_label(found.group(1)), found.group(2)
            stanzas.append((label, []))
            is_open = True
        line = " ".join(line.replace("[", " ").replace("]", " ").split())
        if line:
            if not is_open:
                stanzas.append((None, []))
                is_open = True
            stanzas[-1][1].append(line)
        elif not found and stanzas and (stanzas[-1][1] or stanzas[-1][0] in INSTRUMENTAL):
            is_open = False
    unlabelled = [lines for label, lines in stanzas if label is None]
    return [
        Section(label or ("chorus" if unlabelled.count(lines) > 1 else "verse"), tuple(lines))
        for label, lines in stanzas
    ]


def write_sections(sections: list[Section]) -> str:
    """Return sections with a label above each, as ACE-Step reads them.

    >>> write_sections([Section("verse", ("The rain", "is gone")), Section("outro", ())])
    '[verse]\\nThe rain\\nis gone\\n\\n[outro]\\n'
    """
    return "\n".join("".join(f"{line}\n" for line in (f"[{label}]", *lines)) for label, lines in sections)


def write_lines(sections: list[Section]) -> str:
    """Return the sung lines alone, as SongGen reads them.

    >>> write_lines([Section("verse", ("The rain", "is gone")), Section("outro", ())])
    'The rain\\nis gone'
    """
    return "\n".join(line for section in sections for line in section.lines)


def write_yue(sections: list[Section], most_lines: int = 8) -> tuple[str, int]:
    """Return lyrics for YuE and how many of their sections it is to generate.

    YuE generates some 30 s for a section, so that long ones are divided. It never generates the last section of the
    lyrics, so an empty one is appended. Without words it is given empty sections, which makes it instrumental.

    >>> write_yue([Section("intro", ("Hey",))])
    ('[verse]\\nHey\\n\\n[outro]\\n', 1)
    """
    sung = [
        Section("verse" if label in ("intro", "inst") else label, lines[first : first + most_lines])
        for label, lines in sections
        for first in range(0, len(lines), most_lines)
    ] or [Section("verse", ()), Section("chorus", ())]
    return write_sections([*sung, Section("outro", ())]), len(sung)


def write_levo(sections: list[Section]) -> str:
    """Return lyrics for LeVo: sections joined by semicolons, lines ended by full stops, no other sentence marks.

    The song begins with an intro and ends with an outro, as all of LeVo's examples do. A section in Chinese has no
    full stop at its end.

    >>> write_levo([Section("verse", ("The rain, it is gone!", "Oh; well"))])
    '[intro-short] ; [verse] The rain, it is gone. Oh well. ; [outro-short]'
    """
    written = [_write_levo_section(section) for section in sections]
    if not written or not written[0].startswith("[intro"):
        written.insert(0, "[intro-short]")
    if not written[-1].startswith("[outro"):
        written.append("[outro-short]")
    return " ; ".join(written)


def time_lines(sections: list[Section], seconds: float) -> list[TimedLine]:
    """Spread the lines over a song: LINE seconds each, with a pause between sections, or faster if they do not fit.

    ValueError if a line would have less than FASTEST_LINE.

    >>> time_lines([Section("verse", ("The rain", "is gone"))], 40.0)
    [TimedLine(start=4.0, end=7.6, words='The rain'), TimedLine(start=7.6, end=11.2, words='is gone')]
    """
    steps = sum(len(section.lines) + 1 for section in sections)
    start = min(LEAD_IN, 0.1 * seconds)
    step = min(LINE, (seconds - start) / max(steps, 1))
    if step < FASTEST_LINE and any(section.lines for section in sections):
        count = sum(len(section.lines) for section in sections)
        raise ValueError(f"the lyrics have {count} lines, too many for {seconds:g} s")
    timed = []
    for section in sections:
        for line in section.lines:
            timed.append(TimedLine(round(start, 2), round(start + step, 2), line))
            start += step
        start += step
    return timed


def write_lrc(lyrics: str, seconds: float, needs_closing_line: bool = False) -> str:
    """Return lyrics with times, as DiffRhythm reads them; lyrics that have such times are kept.

    `needs_closing_line` is for its 95 s model, which leaves out the last line: that line is repeated at the end.

    >>> write_lrc("The rain\\nis gone", 40.0)
    '[00:04.00]The rain\\n[00:07.60]is gone\\n'
    """
    if _LRC_LINE.match(lyrics.strip()):
        lines = [line.strip() for line in lyrics.splitlines() if _LRC_LINE.match(line.strip())]
    else:
        lines = [_write_time(line.start) + line.words for line in time_lines(read_sections(lyrics), seconds)]
    if needs_closing_line and lines:
        lines.append(_write_time(seconds - 0.01) + lines[-1][len("[00:00.00]") :])
    return "".join(f"{line}\n" for line in lines)


def time_words(sections: list[Section], seconds: float) -> list[dict[str, object]]:
    """Return each word with its start and end, as JAM reads them: a line's time is divided by the words' lengths.

    >>> time_words([Section("verse", ("La laaa",))], 40.0)
    [{'start': 4.0, 'end': 5.35, 'word': 'La'}, {'start': 5.35, 'end': 7.6, 'word': 'laaa'}]
    """
    timed: list[dict[str, object]] = []
    for line in time_lines(sections, seconds):
        words = line.words.split()
        unit = (line.end - line.start) / sum(len(word) + 1 for word in words)
        start = line.start
        for word in words:
            end = start + unit * (len(word) + 1)
            timed.append({"start": round(start, 3), "end": round(end, 3), "word": word})
            start = end
    return timed


def write_tags(text: str, most_bytes: int = 150) -> str:
    """Return a description as words with spaces between, as YuE reads its genre tags.

    YuE makes the tags part of file names, which may not have slashes or more than 255 bytes: words beyond the limit are
    left out.

    >>> write_tags("An uplifting pop/rock song, with the bright voice of a woman.")
    'uplifting pop rock song bright voice woman'
    """
    words = [word for word in re.findall(r"[\w'&-]+", text.lower()) if word not in _IDLE_WORDS]
    tags = ""
    for word in dict.fromkeys(words):
        longer = f"{tags} {word}".strip()
        if len(longer.encode()) > most_bytes:
            break
        tags = longer
    return tags


def _read_label(name: str) -> str:
    return next((label for word, label in _WORDS_OF_LABELS if word in name.lower()), "verse")


def _write_levo_section(section: Section) -> str:
    label, lines = section
    if not lines:
        return f"[{label if label in INSTRUMENTAL else 'inst'}-short]"
    label = "verse" if label in INSTRUMENTAL else label
    kept = [" ".join(re.sub(r"[^\w\s',-]", " ", line.replace("’", "'")).split()) for line in lines]
    kept = [line.rstrip(" ,") for line in kept if line.rstrip(" ,")]
    text = ".".join(kept) if _CHINESE.search("".join(kept)) else " ".join(f"{line}." for line in kept)
    return f"[{label}] {text}"


def _write_time(seconds: float) -> str:
    minutes, hundredths = divmod(round(seconds * 100), 6000)
    return f"[{minutes:02d}:{hundredths // 100:02d}.{hundredths % 100:02d}]"
