"""Prompts, takes, pairs and scores; reading prompts, manifests and folders of takes.

Audio is a path, or a Waveform in memory.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from cmi._util.errors import InputError
from cmi._util.fields import bool_field, is_nan, number_rows, path_field, text_field
from cmi._util.records import OWN, Columns, read_json, read_table, read_text
from cmi._util.remote import join_path
from cmi.audio import AUDIO_SUFFIXES, Waveform

Audio = Path | Waveform
Modality = Literal["text", "text+lyrics", "text+audio", "text+lyrics+audio"]
Axis = Literal["musicality", "alignment", "overall"]
Choice = Literal["a", "b", "both", "neither"]

PROMPT = Columns(("text", "lyrics", "reference"))
PROMPTS = Columns(
    ("id", "text", "lyrics", "reference"), ("caption", "vocals", "language", "source", "licence", "split")
)
# How a take was made, as `cmi generate` records it.
PROVENANCE = ("version", "seed", "settings", "given", "made", "seconds", "took", "cost", "licence", "sha256")
# The other columns are those of `cmi pick`, of ratings, of `cmi studio generate` and of `cmi generate`.
TAKES = Columns(
    ("id", "audio", "text", "lyrics", "reference"),
    (
        *("group", "ground_truth", "truth", "musicality", "alignment"),
        *("split", "generator", "month", "rater", "source", *PROVENANCE),
    ),
)


@dataclass(frozen=True)
class Prompt:
    """A request for music: a description, lyrics, and a reference recording to resemble, each of them optional."""

    text: str = ""
    lyrics: str = ""
    reference: Audio | None = None

    def __post_init__(self) -> None:
        for part, value in (("text", self.text), ("lyrics", self.lyrics)):
            if not isinstance(value, str):
                raise TypeError(f"{part} is {type(value).__name__}, expected a string ('' if there is none)")
        if self.reference is not None:
            _require_audio("reference", self.reference)

    @property
    def modality(self) -> Modality:
        """The parts of the prompt; text is always named, even if it is empty."""
        if self.lyrics:
            return "text+lyrics" if self.reference is None else "text+lyrics+audio"
        return "text" if self.reference is None else "text+audio"


@dataclass(frozen=True)
class PromptRow:
    """A row of a prompts file: a prompt with its id, and what else the file says about it."""

    id: str
    prompt: Prompt
    caption: str = ""  # what the reference sounds like, for systems that cannot take audio
    vocals: bool | None = None  # None: the file does not say
    split: str = ""
    about: Mapping[str, Any] = field(default_factory=dict, hash=False)  # language, source, licence, x_ columns

    @property
    def own(self) -> dict[str, Any]:
        """The user's own columns, which begin with `x_`."""
        return {name: value for name, value in self.about.items() if name.startswith(OWN)}


@dataclass(frozen=True)
class Take:
    """One recording offered as an answer to a prompt."""

    prompt: Prompt
    audio: Audio

    def __post_init__(self) -> None:
        _require_audio("audio", self.audio)


@dataclass(frozen=True)
class Pair:
    """Two recordings, `a` and `b`, offered as answers to the same prompt."""

    prompt: Prompt
    a: Audio
    b: Audio

    def __post_init__(self) -> None:
        _require_audio("a", self.a)
        _require_audio("b", self.b)

    @property
    def takes(self) -> tuple[Take, Take]:
        return Take(self.prompt, self.a), Take(self.prompt, self.b)


class Score(NamedTuple):
    """The two scores of a take; higher is better."""

    musicality: float
    alignment: float


class Scorer(Protocol):
    """A reward model: one score per take, in their order, each independent of the others."""

    def score(self, takes: Sequence[Take]) -> list[Score]: ...


def read_prompts(path: Path) -> Iterator[PromptRow]:
    """Yield the prompts of a file: JSON lines, one JSON array, CSV or Parquet.

    A row has a text, lyrics or a reference, and may have an id (by default the row's number, from 1), caption, vocals
    (true or false), language, source, licence and split. Columns that begin with `x_` are kept; any other is an
    InputError. The reference's path is relative to the file's folder.
    """
    for prompt_id, where, row in number_rows(path, read_table(path, PROMPTS)):
        yield prompt_row(prompt_id, row, where, path.parent)


def prompt_row(prompt_id: str, row: Mapping[str, Any], where: str, folder: Path) -> PromptRow:
    """Return the prompt of a row with what else the row says; the reference's path is relative to `folder`."""
    prompt = prompt_of(row, where, folder)
    if not (prompt.text or prompt.lyrics or prompt.reference):
        raise InputError(f"{where}: a prompt without text, lyrics and reference, expected at least one of them")
    about: dict[str, Any] = {name: text_field(row, name, where) for name in ("language", "source", "licence")}
    about |= {name: value for name, value in row.items() if name.startswith(OWN) and not is_nan(value)}
    return PromptRow(
        prompt_id,
        prompt,
        text_field(row, "caption", where),
        bool_field(row, "vocals", where),
        text_field(row, "split", where),
        {name: value for name, value in about.items() if value not in ("", None)},
    )


def prompt_record(row: PromptRow, folder: Path) -> dict[str, Any]:
    """Return the fields of a prompt for a file in `folder`, without those that are empty."""
    prompt = row.prompt
    reference = None if prompt.reference is None else relative_path(prompt.reference, folder)
    fields: dict[str, Any] = {"id": row.id, "text": prompt.text, "lyrics": prompt.lyrics, "reference": reference}
    fields |= {"caption": row.caption, "vocals": row.vocals, **row.about, "split": row.split}
    return {name: value for name, value in fields.items() if value not in ("", None)}


def read_takes(path: Path) -> Iterator[tuple[str, Take]]:
    """Yield the takes of a manifest with their ids: JSON lines, one JSON array, CSV or Parquet.

    Fields: audio; optionally id (by default the row's number, from 1), text, lyrics, reference. Fields of other
    commands' manifests and those that begin with `x_` are ignored; any other is an InputError. Paths are relative to
    the manifest's folder; the manifest and the recordings may be at addresses such as s3://bucket/take.wav.
    """
    for take_id, take, _, _ in take_rows(path, TAKES):
        yield take_id, take


def read_recordings(path: Path) -> list[Path]:
    """Return the recordings that a manifest of takes names."""
    rows = number_rows(path, read_table(path, TAKES, ["audio"]))
    return [recording(row, "audio", where, path.parent) for _, where, row in rows]


def read_generated_takes(path: Path) -> Iterator[tuple[str, Take, str]]:
    """Yield the takes of a manifest with their ids and their generators, '' if the row does not name one."""
    for take_id, take, where, row in take_rows(path, TAKES):
        yield take_id, take, text_field(row, "generator", where)


def take_rows(path: Path, known: Columns) -> Iterator[tuple[str, Take, str, dict[str, Any]]]:
    """Yield the takes of a manifest with their ids, their places (for messages) and their rows."""
    for take_id, where, row in number_rows(path, read_table(path, known, ["audio"])):
        yield take_id, Take(prompt_of(row, where, path.parent), recording(row, "audio", where, path.parent)), where, row


def prompt_of(row: Mapping[str, Any], where: str, folder: Path) -> Prompt:
    """Return the prompt of a row; the reference's path is relative to `folder`."""
    reference = _path_of(row, "reference", where, folder)
    return Prompt(text_field(row, "text", where), text_field(row, "lyrics", where), reference)


def recording(row: Mapping[str, Any], field: str, where: str, folder: Path) -> Path:
    """Return the path of the recording that a row must name, relative to `folder`."""
    path = _path_of(row, field, where, folder)
    if path is None:
        raise InputError(f"{where}: {field!r} is missing, expected the path of a recording")
    return path


def _path_of(row: Mapping[str, Any], field: str, where: str, folder: Path) -> Path | None:
    name = path_field(row, field, where)
    try:
        return join_path(folder, name) if name else None
    except InputError as error:
        raise InputError(f"{where}: {field!r}: {error}") from error


def relative_path(audio: Audio, folder: Path) -> str:
    """Return the path of a file relative to `folder`, as manifests in that folder state it."""
    if not isinstance(audio, Path):
        raise TypeError("a waveform in memory has no path, expected a file")
    if audio.is_relative_to(folder):
        return audio.relative_to(folder).as_posix()
    # Folders are resolved, because '..' does not go back through a link.
    return Path(os.path.relpath(audio.parent.resolve() / audio.name, folder.resolve())).as_posix()


def read_take_folders(folder: Path) -> Iterator[tuple[str, Prompt, list[Path]]]:
    """Yield the name of each prompt, the prompt and its takes, sorted by name.

    A subfolder for each prompt   The prompt is in prompt.json (text, lyrics, reference; each optional) or prompt.txt
                                  (the text). Lyrics may be in lyrics.txt, and the reference may be a recording called
                                  reference; a reference is not a take.
    Recordings, no subfolders     The folder has one prompt, as a subfolder would, or each recording its own: the text
                                  of take.wav is in take.txt.
    """
    subfolders = [path for path in _visible(folder) if path.is_dir()]
    if not subfolders:
        yield from _read_flat_folder(folder)
    for path in subfolders:
        yield path.name, *_read_prompt_folder(path)


def takes_in(folder: Path, prompt: Prompt) -> list[Take]:
    """Return the takes of a folder: of its recordings, which answer `prompt`, or of its subfolders with their prompts.

    Without a `prompt`, recordings have the prompts of `read_take_folders`, if there are any. InputError if subfolders
    have prompts of their own and `prompt` asks for something else.
    """
    sounds = _sounds_in(folder)
    if sounds and (prompt != Prompt() or not (_has_prompt(folder) or all(map(_has_text, sounds)))):
        return [Take(prompt, file) for file in sounds if file != prompt.reference]
    if prompt != Prompt():
        raise InputError(f"{folder}: no recordings in it, only subfolders, which have prompts of their own")
    if sounds:
        return [Take(own, file) for _, own, files in _read_flat_folder(folder) for file in files]
    return [Take(own, file) for _, own, files in read_take_folders(folder) for file in files]


def _read_flat_folder(folder: Path) -> Iterator[tuple[str, Prompt, list[Path]]]:
    sounds = _sounds_in(folder)
    if not sounds:
        raise InputError(f"{folder}: no subfolders and no recordings, expected one subfolder per prompt with its takes")
    if _has_prompt(folder):
        yield folder.resolve().name, *_read_prompt_folder(folder)
        return
    if missing := next((file for file in sounds if not _has_text(file)), None):
        raise InputError(
            f"{folder}: nothing says what was asked for: expected a subfolder for each prompt with prompt.txt and its "
            f"takes, or the prompt of {missing.name} in {missing.stem}.txt, and so on"
        )
    by_text: dict[str, list[Path]] = {}
    for file in sounds:
        by_text.setdefault(read_text(file.with_suffix(".txt")).strip(), []).append(file)
    yield from ((files[0].stem, Prompt(text), files) for text, files in by_text.items())


def _read_prompt_folder(folder: Path) -> tuple[Prompt, list[Path]]:
    sounds = _sounds_in(folder)
    prompt = _prompt_of_folder(folder, sounds)
    return prompt, [file for file in sounds if file != prompt.reference]


def _has_prompt(folder: Path) -> bool:
    return (folder / "prompt.json").exists() or (folder / "prompt.txt").exists()


def _has_text(sound: Path) -> bool:
    return sound.with_suffix(".txt").is_file()


def _sounds_in(folder: Path) -> list[Path]:
    return [file for file in _visible(folder) if file.suffix.lower() in AUDIO_SUFFIXES]


def _prompt_of_folder(folder: Path, sounds: Sequence[Path]) -> Prompt:
    record, text, lyrics = (folder / name for name in ("prompt.json", "prompt.txt", "lyrics.txt"))
    if record.exists() and text.exists():
        raise InputError(f"{folder}: both prompt.json and prompt.txt, expected one of them")
    if record.exists():
        prompt = _prompt_of_json(record)
    elif text.exists():
        prompt = Prompt(read_text(text).strip())
    else:
        raise InputError(f"{folder}: no prompt.json and no prompt.txt, expected one that says what was asked for")
    if lyrics.exists() and not prompt.lyrics:
        prompt = replace(prompt, lyrics=read_text(lyrics).strip())
    if prompt.reference is None:
        prompt = replace(prompt, reference=next((file for file in sounds if file.stem == "reference"), None))
    return prompt


def _prompt_of_json(path: Path) -> Prompt:
    record = read_json(path)
    if not isinstance(record, dict):
        raise InputError(f'{path}: {type(record).__name__}, expected an object such as {{"text": "slow sad piano"}}')
    PROMPT.require_known(record, str(path), "field")
    return prompt_of(record, str(path), path.parent)


def _visible(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}") from error


def _require_audio(field: str, value: object) -> None:
    if not isinstance(value, Audio):
        raise TypeError(f"{field} is {type(value).__name__}, expected a Path or a Waveform")
