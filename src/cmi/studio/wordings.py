"""The words of captions: for each fact, all true wordings.

Conventions
    A word stands for one value of one attribute, so a caption's statements can be read back from its text.
    '{}' in a pattern is where a word goes. Articles are all written 'a'; captions turn them into 'an' where needed.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

Attribute = Literal["style", "mood", "tempo", "density", "instruments", "metre", "mode", "vocals"]
Place = Literal["tag", "adjective", "tail", "sentence", "label"]


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split(", "))


def _each(table: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The wordings of each fact, its own name first."""
    return {name: (name, *(_listed(words) if words else ())) for name, words in table.items()}


class StyleWords(NamedTuple):
    genres: tuple[str, ...]  # to stand before 'track'
    nouns: tuple[str, ...]  # to stand alone


STYLES: Mapping[str, StyleWords] = {
    "piano ballad": StyleWords((), _listed("piano ballad, ballad")),
    "pop": StyleWords(_listed("pop, radio pop, mainstream pop, chart pop"), _listed("pop tune, pop number")),
    "rock": StyleWords(_listed("rock, stadium rock, arena rock, classic rock"), _listed("rock number, rock anthem")),
    "jazz swing": StyleWords(_listed("jazz swing, swing jazz, swing, swinging jazz"), _listed("swing number")),
    "bossa nova": StyleWords(_listed("bossa nova, bossa, Brazilian bossa nova"), _listed("bossa nova, bossa tune")),
    "waltz": StyleWords((), _listed("waltz, waltz tune, ballroom waltz")),
    "folk": StyleWords(_listed("folk, folk-style, traditional folk"), _listed("folk tune, folk melody")),
    "house": StyleWords(_listed("house, house music, club house, dance-floor house"), _listed("house tune")),
    "ambient": StyleWords(_listed("ambient, ambient-style"), _listed("ambient soundscape, soundscape, ambient piece")),
    "march": StyleWords((), _listed("march, parade march, marching tune, military march")),
    "blues": StyleWords(_listed("blues, bluesy, twelve-bar-style blues"), _listed("blues, blues number, blues tune")),
    "baroque": StyleWords(_listed("baroque, baroque-style, Baroque-era"), _listed("baroque piece, baroque movement")),
    "hip hop": StyleWords(_listed("hip hop, hip-hop, boom bap, boom-bap hip hop"), ()),
    "reggae": StyleWords(_listed("reggae, roots reggae, Jamaican reggae"), _listed("reggae tune, reggae number")),
    "synthwave": StyleWords(_listed("synthwave, retrowave, eighties-style synthwave, outrun"), ()),
    "lullaby": StyleWords((), _listed("lullaby, cradle song, bedtime lullaby")),
    "chorale": StyleWords(_listed("chorale-style, hymn-like"), _listed("chorale, hymn")),
    "fiddle tune": StyleWords((), _listed("fiddle tune, traditional dance tune, barn-dance tune")),
}  # fmt: skip
NEEDS = {"piano ballad": ("piano",), "fiddle tune": ("fiddle", "violin")}  # words true only if one of these plays
NEAR_STYLES = (
    {"folk", "fiddle tune"}, {"folk", "lullaby"}, {"baroque", "chorale"}, {"piano ballad", "pop"}, {"pop", "rock"},
    {"piano ballad", "lullaby"}, {"piano ballad", "ambient"}, {"pop", "synthwave"}, {"pop", "house"}, {"blues", "rock"},
    {"house", "synthwave"}, {"jazz swing", "blues"}, {"jazz swing", "bossa nova"}, {"ambient", "lullaby"},
    {"waltz", "lullaby"}, {"bossa nova", "reggae"}, {"pop", "hip hop"},
)  # fmt: skip  # of which a listener may call one the other
NOUNS = _listed("track, piece, composition, cue, recording")

INSTRUMENTS: Mapping[str, tuple[str, ...]] = _each({
    "piano": "acoustic piano, grand piano", "electric piano": "e-piano, Rhodes, Rhodes piano",
    "harpsichord": "cembalo", "celesta": "celeste", "music box": "musical box", "vibraphone": "vibes",
    "marimba": "concert marimba", "organ": "Hammond organ, drawbar organ, electric organ", "church organ": "pipe organ",
    "accordion": "squeezebox", "classical guitar": "nylon-string guitar, Spanish guitar, nylon guitar",
    "acoustic guitar": "steel-string guitar, steel-string acoustic guitar", "jazz guitar": "hollow-body guitar",
    "electric guitar": "clean electric guitar", "distorted guitar": "overdriven guitar, distorted electric guitar",
    "harp": "concert harp", "banjo": "five-string banjo", "strings": "string section, string ensemble",
    "synth strings": "synthesized strings, string synth", "choir": "choral voices, wordless choir",
    "synth pad": "pad synth, synthesizer pad", "brass section": "brass, brass ensemble",
    "synth lead": "lead synth, synthesizer lead", "violin": "", "fiddle": "folk fiddle", "cello": "violoncello",
    "trumpet": "", "trombone": "slide trombone", "french horn": "orchestral horn", "saxophone": "sax", "oboe": "",
    "bassoon": "", "clarinet": "", "flute": "concert flute", "pan flute": "panpipes, pan pipes",
    "harmonica": "mouth organ", "tuba": "", "upright bass": "double bass, acoustic bass, contrabass",
    "bass guitar": "electric bass, electric bass guitar", "synth bass": "bass synth, synthesizer bass",
    "drums": "drum kit, drum set",
})  # fmt: skip
UNCOUNTED = ("strings", "vibes", "voices", "drums", "panpipes", "pipes", "brass")  # a word that ends so has no article
KIN = (
    {"piano", "electric piano"}, {"organ", "church organ", "accordion", "harmonica"},
    {"classical guitar", "acoustic guitar", "jazz guitar", "electric guitar", "distorted guitar", "banjo"},
    {"violin", "fiddle", "cello", "strings", "synth strings"}, {"synth strings", "synth pad", "synth lead"},
    {"brass section", "trumpet", "trombone", "french horn", "tuba"}, {"saxophone", "oboe", "bassoon", "clarinet"},
    {"flute", "pan flute"}, {"celesta", "music box", "vibraphone", "marimba"}, {"harp", "harpsichord"},
    {"upright bass", "bass guitar", "synth bass"}, {"choir", "synth pad"},
)  # fmt: skip  # of which a listener may take one for the other

MOOD_FAMILIES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "cheerful": _each({
        "happy": "glad, joyous", "bright": "radiant, sparkling", "uplifting": "inspiring, heartening",
        "cheerful": "cheery, merry", "joyful": "joyous, jubilant", "playful": "frisky, whimsical",
        "breezy": "light-hearted", "sunny": "summery, sunlit", "carefree": "untroubled, light-hearted",
        "euphoric": "ecstatic, elated", "festive": "celebratory, jubilant", "lively": "spirited, vivacious",
        "hopeful": "optimistic",
    }),
    "forceful": _each({
        "energetic": "high-energy, full-throttle", "triumphant": "victorious", "rousing": "stirring",
        "driving": "propulsive", "defiant": "unbowed", "proud": "lofty", "heroic": "epic, valiant",
        "confident": "self-assured, swaggering", "rebellious": "insurgent",
    }),
    "harsh": _each({
        "angry": "furious, raging", "dark": "ominous", "tense": "nervous, suspenseful", "grim": "bleak",
        "stern": "severe", "restless": "agitated", "gritty": "rough-edged, raw", "dramatic": "stormy",
        "brooding": "ominous",
    }),
    "sad": _each({
        "melancholy": "melancholic", "sad": "mournful, sorrowful", "lonesome": "forlorn", "lonely": "forlorn, solitary",
        "aching": "heartbroken", "sorrowful": "mournful, sad", "wistful": "rueful",
        "yearning": "longing, full of longing", "bittersweet": "", "longing": "yearning, full of longing",
        "fragile": "delicate", "nostalgic": "backward-looking, full of memories",
    }),
    "calm": _each({
        "calm": "tranquil", "tender": "loving, affectionate", "warm": "heartfelt", "peaceful": "tranquil, restful",
        "serene": "tranquil, placid", "dreamy": "floating", "relaxed": "relaxing, easy", "easygoing": "relaxed",
        "laid-back": "relaxed", "chilled": "chill, laid-back", "mellow": "soft-spoken, soothing",
        "gentle": "soft, soothing", "sleepy": "drowsy, sleep-inducing", "innocent": "childlike", "homely": "cosy",
        "intimate": "close and personal", "soulful": "heartfelt", "meditative": "contemplative",
    }),
    "shadowy": _each({
        "mysterious": "enigmatic", "hypnotic": "trance-like, mesmerising", "deep": "murky", "nocturnal": "late-night",
        "smoky": "hazy", "cool": "", "sultry": "sensual", "neon-lit": "night-drive", "haunting": "eerie, ghostly",
        "moody": "shadowy", "smouldering": "simmering",
    }),
    "grave": _each({"solemn": "ceremonial", "grave": "serious", "pensive": "reflective", "earnest": "sincere"}),
    "dignified": _each({
        "graceful": "flowing", "elegant": "refined", "stately": "regal", "noble": "dignified",
    }),
}  # fmt: skip
CONTRARY_MOODS = (
    {"cheerful", "sad"}, {"cheerful", "harsh"}, {"cheerful", "shadowy"}, {"cheerful", "grave"}, {"forceful", "calm"},
    {"forceful", "sad"}, {"harsh", "calm"}, {"harsh", "dignified"},
)  # fmt: skip
MOODS = {mood: words for family in MOOD_FAMILIES.values() for mood, words in family.items()}
FAMILY = {mood: name for name, family in MOOD_FAMILIES.items() for mood in family}


class Pace(NamedTuple):
    below: float  # beats a minute
    adjectives: tuple[str, ...]  # of a piece
    tempos: tuple[str, ...]  # of a tempo


PACES = (
    Pace(62, _listed("very slow, really slow, extremely slow"), _listed("very slow, glacial, crawling")),
    Pace(84, _listed("slow, slow-paced, downtempo, unhurried, low-tempo"), _listed("slow, leisurely, unhurried")),
    Pace(112, _listed("mid-tempo, medium-tempo, moderately paced"), _listed("medium, moderate, middling, walking")),
    Pace(140, _listed("up-tempo, brisk, fairly fast, quick"), _listed("brisk, quick, fairly fast")),
    Pace(1000, _listed("fast, fast-paced, high-tempo, rapid, speedy"), _listed("fast, rapid, very quick")),
)
DENSITIES: Mapping[str, tuple[str, ...]] = _each({
    "sparse": "minimal, spacious, stripped-down, pared-back", "moderate": "", "busy": "dense, intricate, densely woven",
}) | {"moderate": _listed("balanced, moderately dense, evenly filled")}  # fmt: skip
METRES: Mapping[int, tuple[str, ...]] = {
    3: _listed("3/4, 3/4 time, triple time, triple metre"),
    4: _listed("4/4, 4/4 time, common time, quadruple metre"),
}

PATTERNS: Mapping[Attribute, Mapping[Place, tuple[str, ...]]] = {
    "style": {"tag": ("{}",), "label": ("Genre: {}", "Style: {}")},
    "instruments": {
        "tag": ("{}",),
        "tail": ("for {}", "with {}", "featuring {}", "using {}"),
        "sentence": ("I want to hear {}.", "It features {}.", "Use {}.", "The instruments include {}."),
        "label": ("Instruments: {}", "Instrumentation: {}", "Played by: {}"),
    },
    "mood": {
        "tag": ("{}", "{}", "{} mood", "{} feel"),
        "adjective": ("{}",),
        "tail": ("with a {} feel", "with a {} mood", "that feels {}", "that sounds {}"),
        "sentence": ("The mood is {}.", "It should feel {}.", "Make it {}.", "The feeling: {}."),
        "label": ("Mood: {}", "Feel: {}", "Atmosphere: {}"),
    },
    "density": {
        "tag": ("{} arrangement", "{} texture", "{}"),
        "adjective": ("{}",),
        "tail": ("with a {} arrangement", "with a {} texture", "in a {} arrangement"),
        "sentence": ("The arrangement is {}.", "Keep the texture {}.", "The arrangement should be {}."),
        "label": ("Texture: {}", "Arrangement: {}"),
    },
    "metre": {
        "tag": ("{}", "in {}"),
        "tail": ("in {}",),
        "sentence": ("It is in {}.", "Write it in {}.", "The metre is {}."),
        "label": ("Metre: {}", "Time signature: {}"),
    },
    "mode": {
        "tag": ("{} key", "in {}", "{} mode"),
        "adjective": ("{}-key",),
        "tail": ("in a {} key", "in the {} mode"),
        "sentence": ("The key is {}.", "It is in a {} key.", "Keep it in {}."),
        "label": ("Key: {}", "Mode: {}"),
    },
}  # fmt: skip
BPM: Mapping[Place, tuple[str, ...]] = {
    "tag": ("{} bpm", "{} BPM", "{}bpm", "tempo {}"),
    "adjective": ("{} bpm", "{}-bpm"),
    "tail": ("at {} bpm", "at {} BPM", "at {} beats per minute"),
    "sentence": ("The tempo is {} bpm.", "Keep it at {} bpm.", "Set the tempo to {} BPM."),
    "label": ("Tempo: {} bpm", "Tempo: {}", "BPM: {}"),
}
PACE: Mapping[Place, tuple[str, ...]] = {
    "tag": ("{} tempo", "{} pace"),
    "tail": ("at a {} tempo", "at a {} pace"),
    "sentence": ("The tempo is {}.", "It moves at a {} pace.", "Take it at a {} tempo."),
    "label": ("Tempo: {}", "Pace: {}"),
}
VOCALS: Mapping[bool, Mapping[Place, tuple[str, ...]]] = {
    True: {
        "tag": ("vocals", "with vocals", "lead vocals", "singer"),
        "adjective": ("vocal", "sung"),
        "tail": ("with vocals", "with a singer", "with lead vocals", "that has singing"),
        "sentence": ("Someone sings.", "There are vocals.", "Add a singer.", "It has sung lyrics."),
        "label": ("Vocals: yes", "Singing: yes"),
    },
    False: {
        "tag": ("instrumental", "no vocals", "without vocals", "no singing"),
        "adjective": ("instrumental", "purely instrumental"),
        "tail": ("without vocals", "with no vocals", "with no singing", "that has no singing"),
        "sentence": ("Nobody sings.", "There are no vocals.", "Leave out any singer.", "It is instrumental."),
        "label": ("Vocals: none", "Singing: none"),
    },
}

SEPARATORS = (", ", ", ", ", ", ", ", "; ", " / ", " | ", " - ")
TAG_FRAMES = ("{}", "{}", "{}", "{}", "Tags: {}", "Keywords: {}", "Music: {}", "Prompt: {}", "Track idea: {}")
LABEL_SEPARATORS = (". ", "; ", ", ", " | ", "\n")
FRAMES = (
    "{}.", "{}.", "{}.", "{}.", "{}, please.", "Write me {}.", "Write {}.", "Compose {}.", "Compose me {}.",
    "Generate {}.", "Create {}.", "Make {}.", "Make me {}.", "Please make {}.", "Please write me {}.", "Give me {}.",
    "I need {}.", "I want {}.", "I'd like {}.", "I'd love {}.", "I'm looking for {}.", "Looking for {}.",
    "Can you make {}?", "Can you write me {}?", "Could you compose {}?", "Could I have {}?", "Let me hear {}.",
    "Play me {}.", "How about {}?", "What would {} sound like?", "Imagine {}.", "Think of {}.", "Something like {}.",
    "This should be {}.", "It should be {}.", "It has to be {}.", "The next one should be {}.", "My idea: {}.",
    "Produce {}.", "Record {}.", "Come up with {}.", "Try {}.", "Surprise me with {}.", "A friend asked me for {}.",
    "We need {}.", "For my film I need {}.", "For a podcast I need {}.", "For the opening scene: {}.",
    "For a video game, {}.", "For our school project we want {}.", "The client wants {}.", "Here is the brief: {}.",
)  # fmt: skip
