"""Write simple rhyming lyrics.

A line is an opening ('we hear the river') and a rhyming phrase ('in the morning light'). The words come from one theme.
Verses have four lines, rhymed aabb or abab, with different endings.
"""

import re
from collections.abc import Mapping
from random import Random

from cmi._util.errors import InputError

_VERSE = 4  # lines
_SCHEMES = ("aabb", "abab")

_SUBJECTS = ("I", "we", "you", "they", "I still", "we all", "now I", "then we", "someday you")
_VERBS = (
    "see", "hear", "find", "know", "love", "follow", "need", "dream of", "sing to", "call to", "run to", "think of",
    "wait for", "reach for", "walk with", "look for", "hold on to", "wake to", "talk to", "come back to",
)  # fmt: skip
_STATES = ("is calling", "is waiting", "is singing", "is with me", "was near us", "keeps turning", "will find us")
_THEMES: Mapping[str, str] = {
    "sea": "ocean, harbour, silver water, rolling wave, sailor, island, open sea, lighthouse, sand, salty wind",
    "road": "highway, engine, dusty road, open window, city line, wheel, old bridge, station, train, long mile",
    "love": "lover, tender heart, letter, gentle hand, promise, kiss, quiet voice, summer girl, ring, rose",
    "night": "moon, candle, silver star, shadow, sleeping town, lantern, velvet sky, midnight bell, owl, dream",
    "fields": "meadow, golden corn, sparrow, farm, apple tree, garden gate, river, barley, hill, clover",
    "winter": "snow, frozen lake, fire, northern wind, icy street, winter coat, robin, chimney, frost, old cabin",
    "city": "neon sign, crowded street, corner shop, subway, tower, rooftop, taxi, market, party, traffic light",
    "home": "kitchen, mother, wooden door, table, brother, garden, yellow lamp, porch, family, front step",
    "storm": "thunder, rain, heavy cloud, flood, broken roof, lightning, black horizon, wind, hurricane, grey hill",
    "sky": "eagle, rainbow, rocket, sunrise, paper kite, planet, feather, cloud, yellow sun, swallow",
}
_RHYMES: Mapping[str, str] = {
    "ight": "in the light, through the night, burning bright, out of sight, holding tight, taking flight",
    "ay": "every day, on the way, far away, here to stay, all in grey, come what may",
    "own": "in the town, going down, like a crown, with a frown, in a gown",
    "ain": "in the rain, on the train, once again, through the pain, down the lane, like a chain",
    "ore": "by the shore, at the door, evermore, like before, on the floor, wanting more",
    "ee": "by the sea, you and me, running free, under the tree, wild as can be",
    "ound": "on the ground, all around, lost and found, without a sound, homeward bound",
    "ire": "by the fire, on the wire, climbing higher, full of desire",
    "old": "in the cold, made of gold, never told, growing old, brave and bold, mine to hold",
    "ow": "in the snow, long ago, soft and low, where the rivers flow, to and fro, even so",
    "all": "by the wall, in the fall, standing tall, after all, down the hall, at the call",
    "ime": "one more time, like a rhyme, at the chime, worth the climb",
    "eam": "in a dream, by the stream, like a beam, through the steam, at the seam",
    "art": "in my heart, from the start, worlds apart, sweet and tart, like a work of art",
    "ing": "in the spring, on a wing, while we sing, like a king, on a string",
    "ue": "ever true, just for you, oh so blue, shining through, something new, morning dew",
    "ove": "up above, like a dove, all my love, hand in glove",
    "and": "in the sand, hand in hand, through the land, where we stand, like a band",
}
# syllables of common words that the rule below miscounts
_COUNTS = {
    "area": 3, "baseball": 2, "being": 2, "careless": 2, "chocolate": 2, "create": 2, "crying": 2, "different": 2,
    "dying": 2, "evening": 2, "every": 2, "everything": 3, "fireside": 2, "flying": 2, "giant": 2, "going": 2,
    "homeland": 2, "homesick": 2, "homeward": 2, "idea": 3, "lifetime": 2, "lion": 2, "loneliness": 3, "lonely": 2,
    "lonesome": 2, "lovely": 2, "lying": 2, "maybe": 2, "movement": 2, "neon": 2, "piano": 3, "poem": 2, "quiet": 2,
    "radio": 3, "reality": 4, "riot": 2, "rodeo": 3, "science": 2, "seeing": 2, "serious": 3, "someday": 2,
    "something": 2, "sometime": 2, "sometimes": 2, "somewhere": 2, "trying": 2, "useless": 2, "violet": 3,
}  # fmt: skip
_WORD = re.compile(r"[a-z]+(?:['’][a-z]+)*")
_VOWELS = re.compile(r"[aeiouy]+")
_SILENT_END = re.compile(r"(?:[^laeiouy]|[aeiouy]l)e$|[^aeiouytd]ed$|(?:[^aeiouylsxzcgh]|[aeiouy]l|th)es$")


def write_lyrics(rng: Random, lines: int = 4) -> str:
    """Write verses of four lines, separated by empty lines; the last may be shorter."""
    if lines < 1:
        raise InputError(f"lines {lines} is not 1 or more")
    things = _THEMES[rng.choice(tuple(_THEMES))].split(", ")
    verses: list[list[str]] = []
    rhymes: list[str] = []
    for first in range(0, lines, _VERSE):
        rhymes = rhymes if len(rhymes) > 1 else rng.sample(tuple(_RHYMES), len(_RHYMES))
        verses.append(_verse(rng, things, rhymes.pop(), rhymes.pop())[: lines - first])
    return "\n\n".join("\n".join(verse) for verse in verses)


def syllables(line: str) -> int:
    """Estimate the number of syllables, and so of notes, of a line by rule."""
    return sum(_in_word(word) for word in _WORD.findall(line.lower()))


def _verse(rng: Random, things: list[str], *rhymes: str) -> list[str]:
    closes = {letter: rng.sample(_RHYMES[rhyme].split(", "), 2) for letter, rhyme in zip("ab", rhymes, strict=True)}
    return [_line(rng, rng.choice(things), closes[letter].pop()) for letter in rng.choice(_SCHEMES)]


def _line(rng: Random, thing: str, close: str) -> str:
    if rng.random() < 0.3:
        line = f"the {thing} {rng.choice(_STATES)} {close}"
    else:
        line = f"{rng.choice(_SUBJECTS)} {rng.choice(_VERBS)} the {thing} {close}"
    return line[0].upper() + line[1:]


def _in_word(word: str) -> int:
    if word in _COUNTS:
        return _COUNTS[word]
    return max(1, len(_VOWELS.findall(word)) - bool(_SILENT_END.search(word)))
