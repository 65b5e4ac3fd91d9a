"""The columns of a file: an unknown one is an error that names the nearest known one.

A column that is misspelt would otherwise be ignored without a word, and its content be missing from every result.
Columns of the user's own begin with `x_`: they are kept where others are, and never an error.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from cmi._util.errors import InputError

OWN = "x_"
_LONGEST_SHOWN = 40  # characters of a name

# What others call our columns. Only what a spelling check does not find.
_SYNONYMS = {
    "text": ("prompt", "caption", "description", "instruction", "query"),
    "audio": ("path", "file", "filename", "wav", "mp3", "flac", "recording", "sound", "take"),
    "lyrics": ("words", "verse"),
    "reference": ("ref", "example", "like"),
    "choice": ("preference", "preferred", "winner", "label", "vote", "verdict", "answer"),
    "rater": ("annotator", "judge", "user", "worker", "evaluator", "listener", "person"),
    "axis": ("dimension", "criterion", "aspect", "question"),
    "confidence": ("certainty", "sureness"),
    "id": ("name", "key", "uid", "index", "number"),
    "group": ("prompt_id", "cluster"),
    "musicality": ("quality", "overall_quality"),
    "alignment": ("adherence", "relevance"),
    "generator": ("model", "system"),
    "a": ("audio_a", "path_a", "file_a", "take_a", "audio1", "first_audio"),
    "b": ("audio_b", "path_b", "file_b", "take_b", "audio2", "second_audio"),
    "generator_a": ("model_a",),
    "generator_b": ("model_b",),
}
_MEANT = {synonym: column for column, synonyms in _SYNONYMS.items() for synonym in synonyms}


@dataclass(frozen=True)
class Columns:
    """The columns of a kind of file: `main` are named in messages, `others` may stand beside them."""

    main: tuple[str, ...]
    others: tuple[str, ...] = ()

    def require_known(self, found: Collection[str], where: str, called: str = "column") -> None:
        """InputError if one is unknown. `called` is what the file's format calls them."""
        unknown = [name for name in found if not self._knows(name)]
        if unknown:
            raise InputError(f"{where}: {self._sentence(unknown[0], found, called)}")

    def own(self, name: str) -> str:
        """`name` if it may stand in a file, else as one of the user's own columns."""
        return name if self._knows(name) else OWN + name

    def _knows(self, name: str) -> bool:
        return name in self.main or name in self.others or name.startswith(OWN)

    def _sentence(self, name: str, found: Collection[str], called: str) -> str:
        nearest = self._nearest(name.strip().lower(), [one for one in (*self.main, *self.others) if one not in found])
        shown = name if len(name) <= _LONGEST_SHOWN else name[:_LONGEST_SHOWN] + "..."
        question = f"; did you mean {nearest!r}?" if nearest else f"; call one of your own {OWN}{shown.strip()}."
        return f"unknown {called} {shown!r}{question} Known {called}s: {', '.join(self.main)}"

    def _nearest(self, name: str, columns: Iterable[str]) -> str | None:
        candidates = list(columns)
        if _MEANT.get(name) in candidates:
            return _MEANT[name]
        return next(iter(get_close_matches(name, candidates, n=1, cutoff=0.7)), None)
