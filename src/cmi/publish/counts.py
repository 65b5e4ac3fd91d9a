"""Count the rows of a data set in one pass, in a few dozen bytes for each row.

A sample is what one rater said about one pair on all axes (a row of the paper's Table 1), or a row of takes, ratings or
prompts.
A unit is what several raters may judge: the recordings of a row under its prompt.
"""

import hashlib
import math
import re
from array import array
from collections import Counter
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any, get_args

from cmi.preferences import AXES, RATED
from cmi.prompts.languages import guess_language
from cmi.publish.sources import DataRow
from cmi.rewardbench.data.rows import LeftOut
from cmi.take import Choice, Modality, Prompt

CHOICES: tuple[Choice, ...] = get_args(Choice)
MODALITIES: tuple[Modality, ...] = get_args(Modality)
NO_TAKE = -1
# Chinese and Japanese are written without spaces: there, a character counts as a word.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")


def count_words(text: str) -> int:
    """Count the words of a text.

    >>> count_words("slow sad piano"), count_words("悲しいピアノ"), count_words("")
    (3, 6, 0)
    """
    return len(_WORD.findall(text))


class Codes:
    """Distinct values, numbered from 0 in the order in which they appear."""

    def __init__(self) -> None:
        self._codes: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return len(self._codes)

    def code(self, value: Hashable) -> int:
        return self._codes.setdefault(value, len(self._codes))

    @property
    def values(self) -> list[Any]:
        return list(self._codes)


class DataCounts:
    """What was counted: a code or a number for each sample, vote, rating, prompt, unit and recording."""

    def __init__(self) -> None:
        self.rows = 0
        self.feedback = 0  # rows with a comment
        self.left_out: Counter[str] = Counter()
        self.splits, self.raters, self.systems, self.languages = Codes(), Codes(), Codes(), Codes()
        # of each sample
        self.sample_unit, self.sample_rater, self.sample_split = array("i"), array("i"), array("i")
        # of each vote and rating
        self.vote_sample, self.vote_axis, self.vote_choice = array("i"), array("b"), array("b")
        self.vote_confidence = array("f")  # NaN if it was not asked for
        self.rating_sample, self.rating_axis, self.rating_value = array("i"), array("b"), array("f")
        # of each prompt
        self.prompt_modality, self.prompt_words, self.prompt_lyrics = array("b"), array("i"), array("i")
        self.prompt_language, self.lyrics_language, self.prompt_reference = array("i"), array("i"), array("i")
        # of each unit
        self.unit_prompt, self.unit_a, self.unit_b = array("i"), array("i"), array("i")
        # of each recording
        self.take_system = array("i")
        self._prompts, self._units, self._takes, self._references = Codes(), Codes(), Codes(), Codes()
        self._open: dict[tuple[int, int], tuple[int, int]] = {}  # by unit and rater: the latest sample and its axes

    @property
    def takes(self) -> list[Path]:
        return [Path(path) for path in self._takes.values]

    @property
    def references(self) -> list[Path]:
        return [Path(path) for path in self._references.values]

    @property
    def has_text(self) -> bool:
        """Tell whether any prompt is known."""
        return any(self.prompt_words) or any(self.prompt_lyrics) or len(self._references) > 0

    def add(self, row: DataRow) -> None:
        """Count a row."""
        self.rows += 1
        self.feedback += "feedback" in row.cells
        unit = self._unit(row)
        rater = self.raters.code(str(row.cells.get("rater", "")))
        split = self.splits.code(str(row.cells.get("split", "")))
        axis = row.cells.get("axis")
        if axis is None or "choice" not in row.cells:
            sample = self._new_sample(unit, rater, split)
            for i, name in enumerate(RATED):
                if name in row.cells:
                    self.rating_sample.append(sample)
                    self.rating_axis.append(i)
                    self.rating_value.append(row.cells[name])
            return
        self.vote_sample.append(self._sample_of_vote(unit, rater, split, AXES.index(axis)))
        self.vote_axis.append(AXES.index(axis))
        self.vote_choice.append(CHOICES.index(row.cells["choice"]))
        self.vote_confidence.append(row.cells.get("confidence", math.nan))

    def _sample_of_vote(self, unit: int, rater: int, split: int, axis: int) -> int:
        """Return the rater's sample on this unit; a second vote on an axis begins another one."""
        sample, axes = self._open.get((unit, rater), (-1, 0))
        if sample < 0 or axes & 1 << axis:
            sample, axes = self._new_sample(unit, rater, split), 0
        self._open[unit, rater] = sample, axes | 1 << axis
        return sample

    def _new_sample(self, unit: int, rater: int, split: int) -> int:
        self.sample_unit.append(unit)
        self.sample_rater.append(rater)
        self.sample_split.append(split)
        return len(self.sample_unit) - 1

    def _unit(self, row: DataRow) -> int:
        prompt = self._prompt(row)
        takes = [self._take(path, row.systems[column]) for column, path in row.takes.items()]
        unit = self._units.code((prompt, *takes))
        if unit == len(self.unit_prompt):
            self.unit_prompt.append(prompt)
            self.unit_a.append(takes[0] if takes else NO_TAKE)
            self.unit_b.append(takes[1] if len(takes) > 1 else NO_TAKE)
        return unit

    def _take(self, path: Path, system: str) -> int:
        take = self._takes.code(str(path))
        if take == len(self.take_system):
            self.take_system.append(self.systems.code(system))
        return take

    def _prompt(self, row: DataRow) -> int:
        prompt = row.prompt
        code = self._prompts.code(_digest(prompt, row))
        if code == len(self.prompt_words):
            stated = str(row.cells.get("language") or row.cells.get("x_language") or "")
            languages = [stated if stated and text else guess_language(text) for text in (prompt.text, prompt.lyrics)]
            self.prompt_modality.append(MODALITIES.index(prompt.modality))
            self.prompt_words.append(count_words(prompt.text))
            self.prompt_lyrics.append(count_words(prompt.lyrics))
            self.prompt_language.append(self.languages.code(languages[0]))
            self.lyrics_language.append(self.languages.code(languages[1]))
            has_reference = isinstance(prompt.reference, Path)
            self.prompt_reference.append(self._references.code(str(prompt.reference)) if has_reference else NO_TAKE)
        return code


def _digest(prompt: Prompt, row: DataRow) -> bytes:
    """Return a hash that identifies a prompt, of its parts or, if they are unknown, of its or the row's id."""
    parts = [prompt.text, prompt.lyrics, str(prompt.reference or "")]
    if not any(parts):
        stated = (row.cells.get(name) for name in ("prompt_id", "x_prompt_id", "group"))
        parts = ["", str(next((one for one in stated if one), row.id))]
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def count_rows(rows: Iterable[DataRow | LeftOut]) -> DataCounts:
    """Count all rows of a data set."""
    counts = DataCounts()
    for row in rows:
        if isinstance(row, LeftOut):
            counts.left_out[row.reason] += 1
        else:
            counts.add(row)
    return counts
