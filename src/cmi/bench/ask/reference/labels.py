"""Labels of the benchmark out of musicnn's tags: genre, instruments, moods, tags.

A label's evidence is the largest lift among the tags that stand for it: the one of its own name, and those listed
below, which count a little less.
A label for which no tag stands is never given, and the documentation says which those are.
"""

from collections.abc import Iterable, Mapping

from cmi.bench.ask import Question
from cmi.bench.ask.reference.tags import Lifts, Tagger
from cmi.bench.metrics.text import squash
from cmi.bench.tasks import emotion_tagging, genre, instrument, music_tagging

LABELS: Mapping[str, tuple[str, ...]] = {
    "GTZAN": genre.GTZAN,
    "MTG_genre": genre.MTG_GENRE,
    "MTG_emotion": emotion_tagging.TAGS,
    "MTG_instrument": instrument.MTG_INSTRUMENT,
    "MTG_top50tags": music_tagging.MTG_TOP50,
    "MTT": music_tagging.MTT,
}
MOST, LEAST = 8, 3  # labels in an answer where any number may be given
STAND_IN = 0.5  # what is taken off the lift of a tag that has not the label's own name
CLEAR = 0.7  # the lift from which on a label is given: twice as likely as anywhere

# Tags that stand for a label besides its own name.
STANDING_FOR: Mapping[str, tuple[str, ...]] = {
    "disco": ("dance", "funk", "70s"),
    "reggae": ("soul", "rnb"),
    "metal": ("heavy metal",),
    "classical": ("opera", "choral", "harpsichord"),
    "alternativerock": ("alternative rock",),
    "bluesrock": ("blues", "classic rock"),
    "choir": ("choral",),
    "club": ("house", "party"),
    "contemporary": ("experimental",),
    "deephouse": ("house",),
    "downtempo": ("chillout", "chill"),
    "easylistening": ("easy listening",),
    "edm": ("house", "techno", "electro"),
    "electropop": ("electro",),
    "ethno": ("indian", "sitar"),
    "groove": ("funk",),
    "hard": ("hard rock",),
    "idm": ("electronica",),
    "lounge": ("easy listening", "chillout"),
    "medieval": ("harpsichord",),
    "newage": ("new age",),
    "orchestral": ("strings", "classical"),
    "popfolk": ("folk",),
    "poprock": ("indie pop", "rock"),
    "progressive": ("progressive rock",),
    "punkrock": ("punk",),
    "rap": ("hip-hop",),
    "rocknroll": ("oldies", "60s"),
    "singersongwriter": ("acoustic", "folk"),
    "soundtrack": ("ambient", "instrumental"),
    "symphonic": ("strings", "classical"),
    "synthpop": ("synth", "80s"),
    "trance": ("techno", "dance"),
    "triphop": ("chillout", "electronica"),
    "world": ("indian", "sitar"),
    "acousticguitar": ("acoustic", "guitar"),
    "classicalguitar": ("guitar",),
    "electricguitar": ("rock", "hard rock", "metal"),
    "computer": ("electronic", "techno"),
    "drummachine": ("techno", "beats", "electro"),
    "drums": ("beat",),
    "keyboard": ("synth",),
    "orchestra": ("strings", "classical"),
    "pad": ("ambient", "synth"),
    "saxophone": ("jazz",),
    "synthesizer": ("synth", "electronic"),
    "voice": ("vocal", "vocals", "singing", "female vocalists", "male vocalists"),
    "calm": ("quiet", "soft", "mellow"),
    "dark": ("metal", "ambient"),
    "deep": ("chillout", "house"),
    "dream": ("ambient", "new age"),
    "emotional": ("beautiful", "sad"),
    "energetic": ("loud", "fast", "rock"),
    "epic": ("opera", "choir"),
    "film": ("instrumental", "ambient"),
    "fun": ("party", "happy"),
    "groovy": ("funk",),
    "heavy": ("metal", "hard rock", "loud"),
    "love": ("beautiful", "soul"),
    "meditative": ("ambient", "new age", "quiet"),
    "melancholic": ("sad",),
    "melodic": ("beautiful",),
    "positive": ("happy", "catchy"),
    "powerful": ("loud", "hard rock"),
    "relaxing": ("chill", "chillout", "mellow", "soft"),
    "retro": ("oldies", "80s", "60s"),
    "romantic": ("beautiful",),
    "soundscape": ("ambient", "experimental"),
    "space": ("ambient", "electronic"),
    "sport": ("fast", "loud"),
    "summer": ("happy", "party"),
    "upbeat": ("fast", "happy", "catchy"),
    "uplifting": ("happy",),
}


class LabelSkill:
    """One label where one is asked for, several where any number may be given."""

    def __init__(self, tagger: Tagger) -> None:
        self._tagger = tagger

    def answer(self, question: Question) -> str:
        ranked = rank(self._tagger.lifts(question), LABELS[question.dataset])
        if question.dataset == "GTZAN":
            return ranked[0][0]
        clear = sum(lift >= CLEAR for _, lift in ranked)
        return ", ".join(label for label, _ in ranked[: max(LEAST, min(MOST, clear))])


def rank(lifts: Lifts, labels: Iterable[str]) -> list[tuple[str, float]]:
    """Labels that some tag stands for, with their evidence, the strongest first."""
    by_form = {squash(tag): lift for tag, lift in lifts.items()}
    found = {label: evidence(by_form, label) for label in labels}
    heard = [(label, lift) for label, lift in found.items() if lift is not None]
    return sorted(heard, key=lambda item: -item[1])


def evidence(by_form: Mapping[str, float], label: str) -> float | None:
    """None: no tag stands for the label."""
    own = [by_form[form] for form in (squash(label),) if form in by_form]
    others = [by_form[form] - STAND_IN for form in map(squash, STANDING_FOR.get(label, ())) if form in by_form]
    return max(own + others, default=None)
