"""Captions: text prompts that are known to be true or false of a piece.

A caption states some of the facts as tags, labels or sentences: always the style or two instruments (one if there is
only one), and one more fact. All words are in captions.toml.

`holds` compares a caption with the facts of any piece. It is undecided if listeners might disagree: folk for a fiddle
tune, an electric piano for a piano, 80 for 160 beats a minute. Instruments are false if at least half of those named
do not play, nor anything like them.

Wrong captions describe some other possible piece, made by the same code, so the text alone does not give them away. If
the altered fact would look odd beside the true style (a fast lullaby), the style is not mentioned.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from random import Random
from typing import Literal, NamedTuple, get_args

from cmi._util.config import read_config
from cmi._util.errors import InputError
from cmi.studio.piece import Mode, Piece, Role
from cmi.studio.styles import STYLES

Attribute = Literal["style", "mood", "tempo", "density", "instruments", "metre", "mode", "vocals"]
Place = Literal["tag", "adjective", "tail", "sentence", "label"]
Words = tuple[str, ...]
ATTRIBUTES: tuple[Attribute, ...] = get_args(Attribute)

_PROMINENCE: tuple[Role, ...] = ("melody", "harmony", "drums", "bass", "pad")
_MENTIONED: dict[Attribute, float] = {
    "style": 0.75, "instruments": 0.65, "mood": 0.6, "tempo": 0.55, "density": 0.2, "vocals": 0.15, "metre": 0.1,
    "mode": 0.1,
}  # fmt: skip  # probabilities, roughly as in people's prompts
_FAR = 0.4  # relative difference of tempos that are clearly different
_OCTAVE = 0.05  # tolerance around the double or half tempo, which might be tapped the same
_TRIES = 2000
_ARTICLE = re.compile(r"\b([Aa]) (?=(?!eu|uni|one\b)[aeiou8])", re.IGNORECASE)


class StyleWords(NamedTuple):
    genres: Words = ()  # to stand before 'track'
    nouns: Words = ()  # to stand alone


class Pace(NamedTuple):
    below: float  # beats a minute
    adjectives: Words  # of a piece
    tempos: Words  # of a tempo


@dataclass(frozen=True)
class CaptionWords:
    nouns: Words
    uncounted: Words
    separators: Words
    tag_frames: Words
    label_separators: Words
    frames: Words
    near_styles: tuple[frozenset[str], ...]
    kin: tuple[frozenset[str], ...]
    contrary_moods: tuple[frozenset[str], ...]
    needs: Mapping[str, Words]
    styles: Mapping[str, StyleWords]
    instruments: Mapping[str, Words]
    moods: Mapping[str, Mapping[str, Words]]  # by family
    densities: Mapping[str, Words]
    metres: Mapping[int, Words]
    paces: tuple[Pace, ...]
    patterns: Mapping[str, Mapping[Place, Words]]


WORDS = read_config(files("cmi.studio") / "captions.toml", CaptionWords)
MOODS = {mood: words for family in WORDS.moods.values() for mood, words in family.items()}
FAMILY = {mood: name for name, family in WORDS.moods.items() for mood in family}


@dataclass(frozen=True)
class Facts:
    style: str
    mood: str
    tempo: float  # beats a minute
    density: str
    instruments: tuple[str, ...]  # the most prominent first
    metre: int  # beats in a bar
    mode: Mode
    vocals: bool = False


@dataclass(frozen=True)
class Caption:
    """A text, the facts it is about, and which of them it states."""

    text: str
    facts: Facts
    says: frozenset[Attribute]
    instruments: tuple[str, ...] = ()  # those named
    wrong: frozenset[Attribute] = frozenset()  # attributes that are false of the piece


def facts(piece: Piece, vocals: bool = False) -> Facts:
    """The facts of a piece, with or without a singer."""
    known = piece.attributes
    parts = sorted((part for part in piece.parts if part.notes), key=lambda part: _PROMINENCE.index(part.role))
    instruments = tuple(dict.fromkeys(part.instrument for part in parts))
    for what, word, words in (
        ("style", known.style, WORDS.styles),
        ("mood", known.mood, MOODS),
        *(("instrument", name, WORDS.instruments) for name in instruments),
    ):
        if word not in words:
            raise InputError(f"{piece.name}: captions have no words for the {what} {word!r}")
    if not instruments:
        raise InputError(f"{piece.name}: no part has notes, so there is nothing to say about it")
    return Facts(known.style, known.mood, known.tempo, known.density, instruments, piece.metre, piece.key.mode, vocals)


def sayable(facts: Facts) -> tuple[Attribute, ...]:
    """Attributes that can be stated: not a metre of two, nor 'no vocals' with a choir."""
    unsaid = {"metre": facts.metre not in WORDS.metres, "vocals": "choir" in facts.instruments and not facts.vocals}
    return tuple(attribute for attribute in ATTRIBUTES if not unsaid.get(attribute))


def alterable(facts: Facts) -> tuple[Attribute, ...]:
    """Attributes that a caption can be clearly wrong about."""
    unclear = {
        "density": facts.density == "moderate",
        "metre": facts.metre not in WORDS.metres,
        "vocals": "choir" in facts.instruments,
    }
    return tuple(attribute for attribute in ATTRIBUTES if not unclear.get(attribute))


def caption(facts: Facts, rng: Random, says: Collection[Attribute] | None = None) -> Caption:
    """Write a true caption that states the attributes `says`, by default random ones."""
    if says is None:
        drawn = _draw(facts, rng)
    else:
        drawn = tuple(attribute for attribute in ATTRIBUTES if attribute in says)
        if not drawn or len(drawn) < len(says) or not set(drawn) <= set(sayable(facts)):
            raise InputError(f"a caption of this piece can say {', '.join(sayable(facts))}; not {sorted(says)}")
    named = _name_some(facts, rng, drawn)
    return Caption(_write(facts, drawn, named, rng), facts, frozenset(drawn), named)


def wrong_caption(facts: Facts, rng: Random, about: Attribute | None = None) -> Caption:
    """Write a caption that is false about the attribute `about` and otherwise true, or false as a whole.

    If it is wrong about the style or as a whole, it describes an invented piece. The result's `wrong` says what is
    clearly false. `caption(facts, rng, made.says)` is a true counterpart.
    """
    if about is not None and about not in alterable(facts):
        raise InputError(f"a caption cannot be clearly wrong about the {about} of this piece")
    unsayable = tuple(attribute for attribute in ATTRIBUTES if attribute not in sayable(facts))
    must = () if about is None else (about,)
    for _ in range(_TRIES):
        claimed = _alter(facts, _invent(rng, facts.vocals), about)
        drawn = _draw(claimed, rng, must, (*unsayable, *_implausible(claimed, about)))
        made = Caption("", claimed, frozenset(drawn), _name_some(claimed, rng, drawn))
        wrong = false_of(made, facts)
        if (about or ("style" if "style" in drawn else "instruments")) in wrong:
            return replace(made, text=_write(claimed, drawn, made.instruments, rng), wrong=wrong)
    raise InputError(f"no invented piece is contrary to this one in {about or 'style or instruments'}")


def paraphrase(caption: Caption, rng: Random) -> Caption:
    """Reword a caption with the same attributes and instruments."""
    said = tuple(attribute for attribute in ATTRIBUTES if attribute in caption.says)
    text = caption.text
    while text == caption.text:
        text = _write(caption.facts, said, caption.instruments, rng)
    return replace(caption, text=text)


def holds(caption: Caption, attribute: Attribute, facts: Facts) -> bool | None:
    """Whether the caption's statement on `attribute` is true of these facts; None if undecided."""
    claimed = caption.facts
    if attribute not in sayable(facts):
        return None
    if attribute == "instruments":
        if all(name in facts.instruments for name in caption.instruments):
            return True
        absent = sum(_is_absent(name, facts) for name in caption.instruments)
        return False if absent >= len(caption.instruments) / 2 else None
    if getattr(claimed, attribute) == getattr(facts, attribute):
        return True
    return False if _is_contrary(attribute, claimed, facts) else None


def false_of(caption: Caption, facts: Facts) -> frozenset[Attribute]:
    """Attributes on which the caption is clearly false of these facts."""
    return frozenset(attribute for attribute in caption.says if holds(caption, attribute, facts) is False)


def _is_contrary(attribute: Attribute, claimed: Facts, true: Facts) -> bool:
    """Whether two different values of an attribute exclude each other."""
    if attribute == "style":
        waltzes = claimed.style == "waltz" and true.metre == 3
        return not waltzes and {claimed.style, true.style} not in WORDS.near_styles
    if attribute == "mood":
        return {FAMILY[claimed.mood], FAMILY[true.mood]} in WORDS.contrary_moods
    if attribute == "tempo":
        ratio = claimed.tempo / true.tempo
        octave = any(abs(ratio / octave - 1) < _OCTAVE for octave in (0.5, 2))
        return abs(ratio - 1) >= _FAR and not octave and _pace(claimed.tempo) != _pace(true.tempo)
    if attribute == "density":
        return {claimed.density, true.density} == {"sparse", "busy"}
    if attribute == "metre":
        return {claimed.metre, true.metre} <= set(WORDS.metres)
    if attribute == "vocals":
        return "choir" not in true.instruments
    return True


def _is_absent(instrument: str, facts: Facts) -> bool:
    """Whether neither the instrument nor a similar one plays."""
    kin = [names for names in WORDS.kin if instrument in names]
    return not any(name == instrument or any(name in names for names in kin) for name in facts.instruments)


def _invent(rng: Random, vocals: bool) -> Facts:
    """Invent facts as the composer might draw them."""
    name = rng.choice(tuple(STYLES))
    style, mode = STYLES[name], rng.choice(get_args(Mode))
    players = [rng.choice(style.players[role]) for role in _PROMINENCE if role in style.players]
    return Facts(
        name,
        rng.choice(style.moods[mode]),
        float(rng.randint(*style.tempos)),
        rng.choice(("sparse", "moderate", "moderate", "busy")),
        tuple(dict.fromkeys(player for player in players if player)),
        rng.choice(style.metres),
        mode,
        vocals,
    )


def _alter(facts: Facts, other: Facts, about: Attribute | None) -> Facts:
    """Take the attribute `about` from the other piece; all of them for the style and None."""
    if about in (None, "style"):
        return other
    if about == "vocals":
        return replace(facts, vocals=not facts.vocals)
    return replace(facts, **{about: getattr(other, about)})


def _implausible(claimed: Facts, about: Attribute | None) -> tuple[Attribute, ...]:
    """Attributes that would look implausible beside the altered one."""
    beside: dict[Attribute | None, tuple[Attribute, ...]] = {"mood": ("mode",), "mode": ("mood",)}
    unsaid = beside.get(about, ())
    style = STYLES.get(claimed.style)
    usual = style is not None and {
        "tempo": style.tempos[0] <= claimed.tempo <= style.tempos[1],
        "mood": any(claimed.mood in moods for moods in style.moods.values()),
        "metre": claimed.metre in style.metres,
        "instruments": all(any(name in names for names in style.players.values()) for name in claimed.instruments),
    }.get(about or "", True)
    altered_alone = about in ("tempo", "mood", "metre", "instruments")
    return (*unsaid, "style") if altered_alone and not usual else unsaid


def _draw(
    facts: Facts, rng: Random, must: Collection[Attribute] = (), unsaid: Collection[Attribute] = ()
) -> tuple[Attribute, ...]:
    """Draw the attributes to mention."""
    able = [attribute for attribute in sayable(facts) if attribute not in unsaid]
    while True:
        drawn = tuple(name for name in able if name in must or rng.random() < _MENTIONED[name])
        if len(drawn) > 1 and ("style" in drawn or "instruments" in drawn):
            return drawn


def _name_some(facts: Facts, rng: Random, says: Collection[Attribute]) -> tuple[str, ...]:
    """Choose the instruments to name: at least two if the style is not named."""
    if "instruments" not in says:
        return ()
    everyone = facts.instruments
    least = 1 if "style" in says else min(2, len(everyone))
    count = rng.randint(least, min(4, len(everyone)))
    chosen = range(count) if rng.random() < 0.5 else sorted(rng.sample(range(len(everyone)), count))
    return tuple(everyone[i] for i in chosen)


def _write(facts: Facts, says: Sequence[Attribute], named: tuple[str, ...], rng: Random) -> str:
    kind = rng.random()
    if kind < 0.25:
        text = _tags(facts, says, named, rng)
    elif kind < 0.32:
        labels = [_say(facts, attribute, "label", named, rng) for attribute in rng.sample(says, len(says))]
        text = rng.choice(WORDS.label_separators).join(labels)
    else:
        text = _sentences(facts, says, named, rng, split=kind < 0.5)
    text = _ARTICLE.sub(r"\1n ", text)
    text = text.removesuffix(".") if rng.random() < 0.3 else text
    casing = rng.random()
    return text.lower() if casing < 0.25 else text if casing < 0.35 else text[0].upper() + text[1:]


def _tags(facts: Facts, says: Sequence[Attribute], named: tuple[str, ...], rng: Random) -> str:
    """Write tags, usually with the style first."""
    order = rng.sample(says, len(says))
    if rng.random() < 0.6:
        order.sort(key=lambda attribute: attribute != "style")
    tags = [_say(facts, attribute, "tag", named, rng) for attribute in order]
    return rng.choice(WORDS.tag_frames).format(rng.choice(WORDS.separators).join(tags))


def _sentences(facts: Facts, says: Sequence[Attribute], named: tuple[str, ...], rng: Random, split: bool) -> str:
    """'Write me a slow waltz for accordion.'; if `split`, some facts follow in further sentences."""
    room = rng.randint(1, 3)
    adjectives: list[str] = []
    tails: list[str] = []
    after: list[str] = []
    others = [attribute for attribute in says if attribute != "style"]
    for attribute in rng.sample(others, len(others)):
        if split and rng.random() < 0.6:
            after.append(_say(facts, attribute, "sentence", named, rng))
        elif attribute not in ("instruments", "metre") and len(adjectives) < room and rng.random() < 0.75:
            adjectives.append(_say(facts, attribute, "adjective", named, rng))
        else:
            tail = _say(facts, attribute, "tail", named, rng, unlike=tails)
            tails.insert(0 if attribute == "instruments" else len(tails), tail)
    noun = _style(facts, rng, alone=True) if "style" in says else rng.choice(WORDS.nouns)
    joint = " and " if len(adjectives) == 2 and rng.random() < 0.4 else ", "
    phrase = " ".join(["a", *([joint.join(adjectives)] if adjectives else []), noun])
    phrase += "".join(f"{', ' if i > 1 else ' '}{tail}" for i, tail in enumerate(tails))
    return " ".join([rng.choice(WORDS.frames).format(phrase), *after])


def _say(
    facts: Facts, attribute: Attribute, place: Place, named: tuple[str, ...], rng: Random, unlike: Sequence[str] = ()
) -> str:
    """Word one fact for a place, if possible with another first word than the texts `unlike`."""
    if attribute == "vocals":
        patterns, word = WORDS.patterns["vocals" if facts.vocals else "no vocals"][place], ""
    elif attribute == "tempo":
        patterns, word = _tempo(facts.tempo, place, rng)
    else:
        patterns, word = WORDS.patterns[attribute][place], _word(facts, attribute, place, named, rng)
    begun = [text.split()[0] for text in unlike]
    fresh = [pattern for pattern in patterns if pattern.split()[0] not in begun]
    return rng.choice(fresh or patterns).format(word)


def _word(facts: Facts, attribute: Attribute, place: Place, named: tuple[str, ...], rng: Random) -> str:
    if attribute == "style":
        return _style(facts, rng, alone=False)
    if attribute == "instruments":
        return _ensemble(named, place, rng)
    if attribute == "mode":
        return facts.mode
    if attribute == "metre":
        return rng.choice(WORDS.metres[facts.metre])
    return rng.choice(MOODS[facts.mood] if attribute == "mood" else WORDS.densities[facts.density])


def _style(facts: Facts, rng: Random, alone: bool) -> str:
    """Name the style, as a noun phrase if it stands `alone`."""
    genres, nouns = WORDS.styles[facts.style]
    nouns = tuple(
        noun
        for noun in nouns
        if noun not in WORDS.needs or any(name in facts.instruments for name in WORDS.needs[noun])
    )
    if not alone:
        return rng.choice(genres or nouns)
    word = rng.choice((*genres, *nouns))
    return word if word in nouns else f"{word} {rng.choice(WORDS.nouns)}"


def _ensemble(named: tuple[str, ...], place: Place, rng: Random) -> str:
    words = [rng.choice(WORDS.instruments[name]) for name in named]
    if place == "tag" and rng.random() < 0.8:
        return ", ".join(words)
    if place in ("tail", "sentence") and rng.random() < 0.4:
        words = [word if word.endswith(WORDS.uncounted) else f"a {word}" for word in words]
    *most, last = words
    joint = rng.choice((" and ", " and ", " and ", " plus ", " & ") if len(words) == 2 else (" and ", ", and "))
    return f"{', '.join(most)}{joint}{last}" if most else last


def _tempo(tempo: float, place: Place, rng: Random) -> tuple[Words, str]:
    """Patterns and a word for the tempo: a number or a pace."""
    if rng.random() < 0.45:
        return WORDS.patterns["bpm"][place], str(round(tempo))
    pace = WORDS.paces[_pace(tempo)]
    if place == "adjective" or (place == "tag" and rng.random() < 0.6):
        return ("{}",), rng.choice(pace.adjectives)
    return WORDS.patterns["pace"][place], rng.choice(pace.tempos)


def _pace(tempo: float) -> int:
    return next(i for i, pace in enumerate(WORDS.paces) if tempo < pace.below)
