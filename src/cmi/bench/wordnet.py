"""English synonyms and stems for METEOR: WordNet 3.0 and Porter's stemmer, through NLTK.

WordNet is taken from NLTK's own data where that is installed, else from Debian's files (packages wordnet-base and
wordnet-sense-index). Every word is looked up once.
"""

import io
import warnings
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TextIO

from cmi.errors import InputError, MissingExtra

DEBIAN = Path("/usr/share/wordnet")
HOW_TO_GET = (
    "METEOR needs WordNet 3.0: apt-get install wordnet-base wordnet-sense-index, or python -m nltk.downloader wordnet"
)
# Debian leaves out `lexnames`, the numbered list of WordNet's lexicographer files that NLTK reads.
_LEXNAMES = (
    "adj.all adj.pert adv.all noun.Tops noun.act noun.animal noun.artifact noun.attribute noun.body noun.cognition"
    " noun.communication noun.event noun.feeling noun.food noun.group noun.location noun.motive noun.object noun.person"
    " noun.phenomenon noun.plant noun.possession noun.process noun.quantity noun.relation noun.shape noun.state"
    " noun.substance noun.time verb.body verb.change verb.cognition verb.communication verb.competition"
    " verb.consumption verb.contact verb.creation verb.emotion verb.motion verb.perception verb.possession verb.social"
    " verb.stative verb.weather adj.ppl"
)
_PARTS = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}


@dataclass
class Thesaurus:
    wordnet: Any  # nltk.corpus.reader.WordNetCorpusReader
    _known: dict[str, frozenset[str]] = field(default_factory=dict)

    def synonyms(self, word: str) -> frozenset[str]:
        """The word itself and the one-word lemmas of every sense it has."""
        if word not in self._known:
            senses = self.wordnet.synsets(word)
            lemmas = (lemma.name() for sense in senses for lemma in sense.lemmas())
            self._known[word] = frozenset(name for name in lemmas if "_" not in name) | {word}
        return self._known[word]


@lru_cache(maxsize=1_000_000)
def stem(word: str) -> str:
    """Porter's stem in NLTK's variant."""
    return str(_porter().stem(word))


@cache
def _porter() -> Any:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()


def load_thesaurus() -> Thesaurus:
    try:
        import nltk
    except ModuleNotFoundError as error:
        raise MissingExtra("METEOR", "bench") from error
    try:
        folder = Path(str(nltk.data.find("corpora/wordnet")))
    except LookupError:
        folder = DEBIAN
    if folder.joinpath("data.noun").exists():
        return Thesaurus(_read(folder))
    try:
        nltk.data.find("corpora/wordnet.zip")
    except LookupError as error:
        raise InputError(HOW_TO_GET) from error
    return Thesaurus(nltk.corpus.wordnet)


def _read(folder: Path) -> Any:
    import nltk
    from nltk.corpus.reader import WordNetCorpusReader

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def open(self, file: str) -> TextIO:
            """Plain files: NLTK's own decoder would double the time to load."""
            if file == "lexnames" and not (folder / file).exists():
                return io.StringIO(_lexnames())
            return (folder / file).open(encoding="utf-8")

        def map_wn(self, version: str = "wordnet") -> None:
            """Other languages need this map between versions of WordNet; it would look for a second copy."""

    if str(folder) not in nltk.data.path:
        nltk.data.path.append(str(folder))  # NLTK reads nothing outside the folders of this list
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that other languages are not there
        return Reader(str(folder), None)


def _lexnames() -> str:
    numbered = enumerate(_LEXNAMES.split())
    return "".join(f"{number:02d}\t{name}\t{_PARTS[name.partition('.')[0]]}\n" for number, name in numbered)
