"""Check the columns of a file: an unknown column is an error that suggests the nearest known one.

Otherwise a misspelt column would be ignored silently. Users may add columns of their own that begin with `x_`.
"""

from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches

from cmi._util.errors import InputError

OWN = "x_"
_LONGEST_SHOWN = 40  # characters of a name

# Common names for our columns that a spelling check does not find.
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
    """The columns of a kind of file: messages list the `main` ones; `others` are accepted too."""

    main: tuple[str, ...]
    others: tuple[str, ...] = ()

    def require_known(self, found: Collection[str], where: str, called: str = "column") -> None:
        """InputError if a column is unknown. `called` is what the file's format calls a column."""
        unknown = [name for name in found if not self._knows(name)]
        if unknown:
            raise InputError(f"{where}: {self._sentence(unknown[0], found, called)}")

    def own(self, name: str) -> str:
        """Return `name` if it is a known column, else with the prefix of users' own columns."""
        return name if self._knows(name) else OWN + name

    def _knows(self, name: str) -> bool:
        return name in self.main or name in self.others or name.startswith(OWN)

    def _sentence(self, name: str, found: Collection[str], called: str) -> str:
        spelling = name.strip().lower()
        candidates = [one for one in (*self.main, *self.others) if one not in found]
        close = get_close_matches(spelling, candidates, n=1, cutoff=0.7)
        nearest = _MEANT[spelling] if _MEANT.get(spelling) in candidates else next(iter(close), None)
        shown = name if len(name) <= _LONGEST_SHOWN else name[:_LONGEST_SHOWN] + "..."
        question = f"; did you mean {nearest!r}?" if nearest else f"; call one of your own {OWN}{shown.strip()}."
        return f"unknown {called} {shown!r}{question} Known {called}s: {', '.join(self.main)}"
