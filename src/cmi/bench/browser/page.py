"""The page: the answers as embedded data, and a script that filters and shows them.

Answers are never inserted as HTML. The data are in a block that browsers do not execute, with all characters escaped
that could end it; the script creates text nodes from them; and the page's content security policy allows no other
script, and no downloads except audio.
"""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

from cmi._util.errors import InputError, require_extra
from cmi._util.files import write_whole
from cmi.bench.browser.items import OUTCOMES, AnswerSet, PlayedSpan, ScoredAnswer
from cmi.bench.catalog import DATASETS
from cmi.bench.scoring.responses import QuestionKey, audio_key
from cmi.report import html
from cmi.report.pictures import score_styles

LONGEST_SHOWN = 5000  # characters of one text
_NEVER_IN_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
RATE = 22_050
LONGEST = 15.0  # seconds of an embedded clip
MOST_EMBEDDED = 64 * 2**20  # characters in one page

SoundSource = Callable[[PlayedSpan], str | None]  # what the player is given; None where there is no sound


def write_page(sets: Sequence[AnswerSet], protocol: str, sound: SoundSource, page: Path, title: str) -> int:
    """Write the page; return the number of answers with audio. InputError if audio was requested but none was found."""
    data = payload(sets, protocol, sound, title)
    heard = sum(number is not None for one in data["sets"] for number in one["columns"]["sound"])
    if sound is not no_sound and not heard:
        example = next((item.clip.path for one in sets for item in one.items), "none")
        raise InputError(
            f"--audio: no clip was found, such as {example}; name the folder that their paths are relative to"
        )
    write_whole(page, page_of(data))
    return heard


def page_of(data: dict[str, Any]) -> str:
    """Return the whole page."""
    body = Template(_text("body.html")).substitute(data=json_in_html(data))
    style, script = _text("browser.css") + score_styles(), _text("answers.js") + _text("browser.js")
    return html.page(data["title"], body, style, script)


def json_in_html(value: Any) -> str:
    """JSON that may stand in a page: ASCII alone, and no character that begins or ends a tag."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).translate(_NEVER_IN_HTML)


class _Numbered(dict[str, int]):
    """Numbers texts by first appearance, so that each is stored once."""

    def number(self, text: str | None) -> int | None:
        return None if text is None else self.setdefault(text, len(self))


def payload(sets: Sequence[AnswerSet], protocol: str, sound: SoundSource, title: str) -> dict[str, Any]:
    """Return the data for the script: each set by columns, with numbers for texts, sounds and questions."""
    texts, sounds = _Numbered(), _Numbered()
    asked: dict[tuple[str, QuestionKey], int] = {}

    def columns(one: AnswerSet) -> dict[str, list[Any]]:
        return {
            "place": [item.place for item in one.items],
            **{
                name: [texts.number(_cut(getattr(item, name))) for item in one.items]
                for name in ("question", "answer", "truth", "reading", "expected")
            },
            "clip": [texts.number(item.clip.path) for item in one.items],
            "sound": [sounds.number(sound(item.clip)) for item in one.items],
            "answered": [int(item.answered) for item in one.items],
            "outcome": [OUTCOMES.index(item.outcome) for item in one.items],
            "scores": [
                [None if score is None else round(score, 3) for score in (item.scores[i] for item in one.items)]
                for i in range(len(one.metrics))
            ],
            "asked": [asked.setdefault((one.dataset, item.asked), len(asked)) for item in one.items],
        }

    described = [_set(one) | {"columns": columns(one)} for one in sets]
    return {"title": title, "protocol": protocol, "sets": described, "texts": list(texts), "sounds": list(sounds)}


def _set(one: AnswerSet) -> dict[str, Any]:
    return {
        "model": one.model,
        "dataset": one.dataset,
        "task": DATASETS[one.dataset].task,
        "metrics": [{"name": metric.name, "better": metric.better} for metric in one.metrics],
        "wholeSet": list(one.whole_set),
        "notComputed": list(one.not_computed),
    }


def worst(one: AnswerSet, count: int) -> AnswerSet:
    """Return the answers with the lowest scores, unparsed ones first; without scores, the first ones."""

    def key(item: ScoredAnswer) -> tuple[bool, float]:
        score = item.scores[0] if item.scores else None
        if score is None:
            return item.reading is not None, 0.0
        return item.reading is not None, score if one.metrics[0].better == "higher" else -score

    chosen = sorted(one.items, key=key)[:count]
    return replace(one, items=tuple(sorted(chosen, key=lambda item: item.place)))


def _cut(text: str | None) -> str | None:
    left = len(text or "") - LONGEST_SHOWN
    return text if text is None or left <= 0 else f"{text[:LONGEST_SHOWN]} … ({left:,} more characters)"


def _text(name: str) -> str:
    return files("cmi.bench.browser").joinpath(name).read_text(encoding="utf-8")


def no_sound(_clip: PlayedSpan) -> None:
    return None


def sound_source(folder: Path | None, embed: bool, page: Path) -> SoundSource:
    """Prepare the page's sounds; InputError, before any work, if page or sounds cannot be written or found."""
    if page.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{page}: a page is a file named .html")
    if not page.parent.is_dir():
        raise InputError(f"{page.parent}: no such folder")
    if folder is None:
        if embed:
            raise InputError("--embed needs --audio, the folder that audio paths are relative to")
        return no_sound
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    return embedded(folder) if embed else linked(folder, page)


def folder_with_sounds(sets: Sequence[AnswerSet], folders: Iterable[Path]) -> Path | None:
    """Return the first of the folders that has a clip of the first answers; None if none of them has."""
    clips = [one.items[0].clip for one in sets if one.items]
    return next((folder for folder in folders if any(find_sound(clip, folder) for clip in clips)), None)


def find_sound(clip: PlayedSpan, folder: Path) -> Path | None:
    """Return the clip's file under `folder`, by its path or the part after `data` or `testdata`."""
    key = audio_key(clip.path)
    for name in dict.fromkeys((clip.path, key)):
        path = folder / name
        if not Path(name).is_absolute() and path.is_file() and path.resolve().is_relative_to(folder.resolve()):
            return path
    return None


def linked(folder: Path, page: Path) -> SoundSource:
    """Links relative to the page; a player stays within the clip."""

    def source(clip: PlayedSpan) -> str | None:
        path = find_sound(clip, folder)
        if path is None:
            return None
        address = quote(os.fsencode(Path(os.path.relpath(path.resolve(), page.parent.resolve())).as_posix()))
        ends = f"#t={clip.start:g}" + (f",{clip.end:g}" if clip.end is not None else "")
        return address + (ends if clip.start > 0 or clip.end is not None else "")

    return source


def embedded(folder: Path) -> SoundSource:
    """Embed the first seconds of each clip as MP3; InputError if the page would be too large."""
    with require_extra("clips inside the page", "bench-data"):
        from cmi.llm.endpoint import Sending
        from cmi.llm.message import Sound, encode
    known: dict[PlayedSpan, str] = {}
    size = 0

    def source(clip: PlayedSpan) -> str | None:
        nonlocal size
        path = find_sound(clip, folder)
        if path is None:
            return None
        if clip not in known:
            sound = encode(Sound(path, clip.start, clip.end), Sending("mp3", RATE), LONGEST)
            known[clip] = f"data:audio/mpeg;base64,{sound.data}"
            size += len(known[clip])
            if size > MOST_EMBEDDED:
                raise InputError(
                    f"more than {MOST_EMBEDDED >> 20} MB of audio in one page: show fewer answers with --worst, or "
                    "leave out --embed to link the files"
                )
        return known[clip]

    return source
