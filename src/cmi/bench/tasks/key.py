"""Key detection: name the key of a clip, one of 24. Data set: GiantSteps (GS_key).

Conventions
    A key is (tonic, mode): tonic in pitch classes 0-11 (C = 0), mode 'major' or 'minor'.
    Flats are canonical ('Db major'); sharps are understood.

Metrics
    GES     MIREX weights, times 100: the same key 1, a fifth above (not below) 0.5, relative 0.3, parallel 0.2. An
            unparsed answer scores 0. The weights are mir_eval's, whose next release makes descending fifths an option.

Protocols
    strict  The one key that the answer names, wherever it stands. None if it names none, or several different ones.
    paper   Spaces and digits go, then the first of the 24 names found in what is left, majors before minors: 'a minor
            key' is A minor, and a sharp is understood only as the second character.
"""

import re
from collections.abc import Iterable

from cmi.bench.evaluation import Evaluation, Item, Measured, Setting, evaluate_each, percent_mean
from cmi.bench.tasks import Null, Reader, constant, in_words, parse_truth
from cmi.features.key import TONICS, Key

KEYS = tuple(f"{tonic} {mode}" for mode in ("major", "minor") for tonic in TONICS)
NULL_ANSWER = "C minor"  # the best constant answer on GiantSteps

_PITCH = {"c": 0, "d": 2, "e": 4, "f": 5, "g": 7, "a": 9, "b": 11}
_SHIFT = {"": 0, "#": 1, "♯": 1, "sharp": 1, "b": -1, "♭": -1, "flat": -1}
_ACCIDENTAL = r"(?:[ -]?(?P<accidental>sharp|flat)|(?P<sign>[#♯b♭]))?"
_MENTION = re.compile(
    rf"(?<![\w#♯♭])(?P<tonic>[a-g]){_ACCIDENTAL}[ \t_-]{{0,3}}(?P<mode>major|minor|maj|min)(?!\w)", re.I
)
_WHOLE = re.compile(rf"(?P<tonic>[a-g]){_ACCIDENTAL}(?:\s{{0,3}}(?P<mode>major|minor|maj|min|m))?", re.I)

_PAPER_SHARPS = {"c#": "db", "d#": "eb", "f#": "gb", "g#": "ab", "a#": "bb"}
_PAPER_NAMES = {f"{tonic.lower()}{mode}": (i, mode) for mode in ("major", "minor") for i, tonic in enumerate(TONICS)}


def parse(answer: str) -> Key | None:
    """Return the one key that `answer` names, or None if it names none or several.

    >>> parse("The key is A minor.")
    Key(tonic=9, mode='minor')
    >>> parse("C major or A minor")
    """
    bare = answer.strip(" \t\r\n.\"'`*")
    whole = _WHOLE.fullmatch(bare) if len(bare) < 20 else None
    if whole and (whole["mode"] or bare[:1].isupper()):
        return _key(whole)
    found = {_key(m) for m in _MENTION.finditer(answer) if not _is_article(m)}
    return found.pop() if len(found) == 1 else None


def _is_article(mention: re.Match[str]) -> bool:
    """'in a minor key' names no key."""
    return mention["tonic"] == "a" and not mention["accidental"] and not mention["sign"]


def _key(match: re.Match[str]) -> Key:
    shift = _SHIFT[(match["accidental"] or match["sign"] or "").lower()]
    minor = match["mode"] == "m" or (match["mode"] or "").lower().startswith("min")
    return Key((_PITCH[match["tonic"].lower()] + shift) % 12, "minor" if minor else "major")


def parse_paper(answer: str) -> Key | None:
    """Parse like the published scorer."""
    text = "".join(character for character in answer.lower() if character != " " and not character.isdigit())
    if len(text) <= 3 and text.endswith("m"):
        text += "inor"
    elif len(text) <= 2:
        text += "major"
    if text[1:2] in ("#", "♯"):
        flat = _PAPER_SHARPS.get(f"{text[0]}#")
        if flat is None:
            return None
        text = flat + text[2:]
    return next((Key(*key) for name, key in _PAPER_NAMES.items() if name in text), None)


def weighted(reference: Key, estimated: Key | None) -> float:
    """MIREX weighted score of one clip; an unparsed answer scores 0."""
    if estimated is None:
        return 0.0
    above = (estimated.tonic - reference.tonic) % 12  # semitones
    if estimated.mode == reference.mode:
        return {0: 1.0, 7: 0.5}.get(above, 0.0)
    relative = 9 if reference.mode == "major" else 3
    return {relative: 0.3, 0: 0.2}.get(above, 0.0)


def evaluate(items: Iterable[Item], setting: Setting) -> Evaluation:
    read = parse_paper if setting.protocol == "paper" else parse

    def measure(item: Item) -> Measured:
        reference = _reference(item.truth)
        estimated = read(item.answer)
        return Measured(estimated is not None, [weighted(reference, estimated)])

    return evaluate_each(items, measure, [percent_mean("GES")])


def _reference(truth: str) -> Key:
    return parse_truth(truth, parse, "a key such as 'Db major'")


def expected(setting: Setting, truth: str) -> str:
    """Return what a right answer is read as."""
    return str(_reference(truth))


def nulls(items: Iterable[Item]) -> list[Null]:
    return [constant(NULL_ANSWER)]


def reader(setting: Setting, truths: Iterable[str]) -> Reader:
    return in_words(parse_paper if setting.protocol == "paper" else parse)
