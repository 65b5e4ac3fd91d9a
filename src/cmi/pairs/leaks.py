"""Find what two splits share: a text, lyrics or a recording.

Texts and lyrics are compared without case and spacing, recordings (takes and references alike) by their bytes; a file
that cannot be read counts as the recording of that name. An empty text is not shared.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from cmi._util.errors import InputError
from cmi.audio import content_hash
from cmi.preferences import NamedPair, Preference, PreferenceRow, draw_split, normalise_text, read_rows
from cmi.take import Audio, Prompt

TraitKind = Literal["text", "lyrics", "recording"]
LONGEST_SHOWN = 60  # characters


class Trait(NamedTuple):
    """Something that only one split may have."""

    kind: TraitKind
    value: str


class SplitRow(NamedTuple):
    """The prompt and the recordings of a row of a split."""

    id: str
    split: str
    prompt: Prompt
    sounds: tuple[Audio, ...]


class Leak(NamedTuple):
    """A text, lyrics or recording that several splits share, and the first row of each."""

    kind: TraitKind
    what: str
    rows: dict[str, str]  # split: id

    def __str__(self) -> str:
        where = " and ".join(f"{split} (row {name})" for split, name in self.rows.items())
        return f"the same {self.kind}, {self.what!r}, is in {where}"


def find_leaks(source: Path | str | Iterable[Preference | PreferenceRow | NamedPair]) -> list[Leak]:
    """Return what the splits of a preference file share; an empty list if nothing leaks.

    If no row states a split, each row's split is drawn from its prompt, as everywhere (`cmi.preferences.draw_split`).

    >>> from cmi.take import Pair
    >>> def row(number: int, split: str, *files: str) -> NamedPair:
    ...     return NamedPair(str(number), Pair(Prompt(f"prompt {number}"), *map(Path, files)), {}, {"split": split})
    >>> for leak in find_leaks([row(1, "train", "1.wav", "2.wav"), row(2, "test", "2.wav", "3.wav")]):
    ...     print(leak)
    the same recording, '2.wav', is in train (row 1) and test (row 2)
    """
    rows = list(read_rows(Path(source)) if isinstance(source, Path | str) else source)
    is_stated = any("split" in row.about for row in rows)
    return shared_by_splits(
        SplitRow(
            row.id,
            str(row.about.get("split", "")) if is_stated else draw_split(row.pair.prompt),
            row.pair.prompt,
            (row.pair.a, row.pair.b),
        )
        for row in rows
    )


def shared_by_splits(rows: Iterable[SplitRow], identify: Callable[[Audio], str] | None = None) -> list[Leak]:
    """Return what rows of different splits share; recordings are the same if `identify`, by default a hash, says so."""
    identify = cache(identify or _digest)
    found: defaultdict[Trait, dict[str, str]] = defaultdict(dict)
    shown: dict[Trait, str] = {}
    for row in rows:
        for trait, what in _traits_of_row(row, identify):
            found[trait].setdefault(row.split, row.id)
            shown.setdefault(trait, what)
    return [Leak(trait.kind, shown[trait], splits) for trait, splits in found.items() if len(splits) > 1]


def prompt_traits(prompt: Prompt) -> Iterator[Trait]:
    """The traits of a prompt's words."""
    if text := normalise_text(prompt.text):
        yield Trait("text", text)
    if lyrics := normalise_text(prompt.lyrics):
        yield Trait("lyrics", lyrics)


def _traits_of_row(row: SplitRow, identify: Callable[[Audio], str]) -> Iterator[tuple[Trait, str]]:
    for trait in prompt_traits(row.prompt):
        yield trait, trait.value if len(trait.value) <= LONGEST_SHOWN else trait.value[:LONGEST_SHOWN] + "..."
    for sound in (*row.sounds, row.prompt.reference):
        if sound is not None:
            yield Trait("recording", identify(sound)), str(sound) if isinstance(sound, Path) else "audio in memory"


def _digest(sound: Audio) -> str:
    try:
        return content_hash(sound)
    except InputError:
        return str(sound)
