"""English synonyms and stems for METEOR: WordNet 3.0 and Porter's stemmer.

WordNet's files come from NLTK's data if installed, else from Debian's package wordnet-base. We do not use NLTK's
reader, which is five times slower and needs files that Debian leaves out; a test compares the two.
"""

import re
import zipfile
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError, require_extra

DEBIAN = Path("/usr/share/wordnet")
HOW_TO_GET = "METEOR needs WordNet 3.0: apt-get install wordnet-base, or python -m nltk.downloader wordnet"

# WordNet's rules of detachment: endings of inflected forms and their replacements.
_ENDINGS = {
    "noun": "s: ses:s ves:f xes:x zes:z ches:ch shes:sh men:man ies:y",
    "verb": "s: ies:y es:e es: ed:e ed: ing:e ing:",
    "adj": "er: est: er:e est:e",
    "adv": "",
}
_MARKER = re.compile(r"\((?:a|p|ip)\)$")  # an adjective's position: 'galore(ip)'


class _PartOfSpeech:
    """The lemmas of nouns, verbs, adjectives or adverbs, and the words of each of their senses."""

    def __init__(self, name: str, read: Callable[[str], bytes]) -> None:
        self._rules = [rule.split(":") for rule in _ENDINGS[name].split()]
        exceptions = (line.split() for line in read(f"{name}.exc").decode().splitlines())
        self._exceptions = {form: lemmas for form, *lemmas in exceptions}
        lines = (line.partition(" ") for line in read(f"index.{name}").decode().splitlines())
        self._index = {lemma: rest for lemma, _, rest in lines if lemma}  # licence lines start with a blank
        self._data = read(f"data.{name}")

    def words(self, form: str) -> Iterator[str]:
        """Yield the words of every sense of every lemma of `form`."""
        for lemma in self._lemmas(form):
            _, count, *rest = self._index[lemma].split()
            for offset in rest[-int(count) :]:
                yield from self._words_of_sense(int(offset))

    def _lemmas(self, form: str) -> list[str]:
        detached = (form.removesuffix(old) + new for old, new in self._rules if form.endswith(old))
        forms = [form, *self._exceptions.get(form, detached)]
        return [form for form in dict.fromkeys(forms) if form in self._index]

    def _words_of_sense(self, offset: int) -> list[str]:
        line = self._data[offset : self._data.index(b"\n", offset)].decode().split(" ")
        return [_MARKER.sub("", word) for word in line[4 : 4 + 2 * int(line[3], 16) : 2]]


class Thesaurus:
    def __init__(self, read: Callable[[str], bytes]) -> None:
        self._parts = [_PartOfSpeech(name, read) for name in _ENDINGS]
        self._looked_up: dict[str, frozenset[str]] = {}

    def synonyms(self, word: str) -> frozenset[str]:
        """Return the word and all single-word synonyms of its senses."""
        if word not in self._looked_up:
            words = (synonym for part in self._parts for synonym in part.words(word.lower()))
            self._looked_up[word] = frozenset(synonym for synonym in words if "_" not in synonym) | {word}
        return self._looked_up[word]


def load_thesaurus() -> Thesaurus:
    with require_extra("METEOR", "bench"):
        import nltk
    for name in ("corpora/wordnet", "corpora/wordnet.zip"):
        try:
            return Thesaurus(_reader(Path(str(nltk.data.find(name)))))
        except LookupError:
            continue
    if not (DEBIAN / "data.noun").exists():
        raise InputError(HOW_TO_GET)
    return Thesaurus(_reader(DEBIAN))


def _reader(source: Path) -> Callable[[str], bytes]:
    if source.suffix == ".zip":
        archive = zipfile.ZipFile(source)
        return lambda name: archive.read(f"wordnet/{name}")
    return lambda name: (source / name).read_bytes()


@lru_cache(maxsize=1_000_000)
def stem(word: str) -> str:
    """Porter's stem in NLTK's variant."""
    return str(_porter().stem(word))


@cache
def _porter() -> Any:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()
