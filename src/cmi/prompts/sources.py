"""The sources of a pool: files of prompts, published captions, folders of lyrics and of recordings."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi._util.fields import number_rows
from cmi._util.records import read_text
from cmi.audio import content_hash, find_recordings
from cmi.bench.catalog import Corpus
from cmi.bench.data import musiccaps, song_describer
from cmi.take import PromptRow, prompt_row, read_prompts

KINDS = "a file of prompts (.jsonl, .json, .csv, .parquet), a .txt with a prompt per line, or published captions"


class PromptSource(NamedTuple):
    """A file of prompts. `name` is its name in reports and, if there are several, the beginning of their ids."""

    name: str
    path: Path
    read: Callable[[Path], Iterator[PromptRow]]


class SourcedPrompt(NamedTuple):
    """A prompt of a source. `key` names it whatever other sources there are."""

    source: str
    key: str
    row: PromptRow


def find_sources(paths: Sequence[Path]) -> list[PromptSource]:
    """Return the sources with names that differ: the second of two called `mine` is `mine2`."""
    found: list[PromptSource] = []
    for path in paths:
        source = _find_source(path)
        names = {one.name for one in found}
        number = next(n for n in range(1, len(paths) + 1) if _numbered(source.name, n) not in names)
        found.append(source._replace(name=_numbered(source.name, number)))
    return found


def read_sources(sources: Sequence[PromptSource]) -> Iterator[SourcedPrompt]:
    """Yield the prompts of all sources; with several, ids begin with their source's name."""
    for source in sources:
        for row in source.read(source.path):
            key = f"{source.name}-{row.id}"
            about = {"source": source.name, **row.about}
            yield SourcedPrompt(source.name, key, replace(row, id=row.id if len(sources) == 1 else key, about=about))


def find_lyrics(folder: Path) -> list[Path]:
    """Return the .txt files under a folder that are not blank."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    visible = (path for path in folder.rglob("*") if not path.name.startswith("."))
    found = sorted(path for path in visible if path.suffix.lower() == ".txt" and path.is_file())
    return [path for path in found if read_text(path).strip()]


def find_references(folder: Path) -> list[Path]:
    """Return the recordings under a folder, without those that have the bytes of an earlier one."""
    paths = find_recordings(folder)
    sizes = Counter(path.stat().st_size for path in paths)
    seen: set[str] = set()
    found = []
    for path in paths:
        if sizes[path.stat().st_size] > 1:  # only these can be equal
            digest = content_hash(path)
            if digest in seen:
                continue
            seen.add(digest)
        found.append(path)
    return found


def _find_source(path: Path) -> PromptSource:
    corpora = {musiccaps.TABLE: _read_musiccaps, song_describer.TABLE: _read_song_describer}
    if path.is_dir():
        table = next((path / name for name in corpora if (path / name).is_file()), None)
        if table is None:
            expected = " or ".join(corpora)
            raise InputError(f"{path}: a folder without {expected}; expected {KINDS}; recordings go to --references")
        path = table
    if not path.exists():
        raise InputError(f"{path}: no such file, expected {KINDS}")
    stem = path.name.partition(".")[0] or path.name
    if path.name in corpora:
        return PromptSource(stem, path, corpora[path.name])
    return PromptSource(stem, path, _read_lines if path.suffix.lower() == ".txt" else read_prompts)


def _read_lines(path: Path) -> Iterator[PromptRow]:
    lines = enumerate(read_text(path).split("\n"), 1)
    return _rows(path, ((f"line {n}", {"id": n, "text": line.strip()}) for n, line in lines if line.strip()))


def _read_musiccaps(path: Path) -> Iterator[PromptRow]:
    about = {"source": "MusicCaps", "licence": _caption_licence(musiccaps.CORPUS)}
    captions = musiccaps.read_captions(path)
    rows = ({"id": name, "text": text, "x_corpus_split": split} for name, text, split in captions)
    return _rows(path, ((f"caption {n}", row | about) for n, row in enumerate(rows, 1)))


def _read_song_describer(path: Path) -> Iterator[PromptRow]:
    about = {"source": "Song Describer", "licence": _caption_licence(song_describer.CORPUS)}
    captions = song_describer.read_captions(path)
    rows = ({"id": name, "text": text, "x_track": track} for name, text, track in captions)
    return _rows(path, ((f"caption {n}", row | about) for n, row in enumerate(rows, 1)))


def _caption_licence(corpus: Corpus) -> str:
    return corpus.licence.partition(";")[0].removeprefix("captions ")


def _rows(path: Path, rows: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[PromptRow]:
    for name, where, row in number_rows(path, rows):
        yield prompt_row(name, row, where, path.parent)


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}{number}"
