"""Captions say what is true, wrong ones what is false, and the text alone does not tell which is which."""

import os
import random
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi.studio.captions import (
    ATTRIBUTES,
    FAMILY,
    MOODS,
    WORDS,
    Caption,
    Facts,
    alterable,
    caption,
    facts,
    false_of,
    holds,
    paraphrase,
    sayable,
    wrong_caption,
)
from cmi.studio.compose import compose
from cmi.studio.corpus import KINDS
from cmi.studio.piece import INSTRUMENTS, Attributes, InstrumentPart, MusicalKey, Note, Piece, even_beats
from cmi.studio.styles import STYLES

WALTZ = Facts("waltz", "nostalgic", 104.0, "sparse", ("accordion", "upright bass"), 3, "minor")
CHORALE = Facts("chorale", "solemn", 72.0, "moderate", ("church organ",), 4, "major")
seeds = st.integers(0, 10**9)
every_style = pytest.mark.parametrize("style", STYLES)


@cache
def known() -> tuple[Facts, ...]:
    """Facts of pieces in every style, half of them sung, and of the corpus's kinds."""
    drawn = [facts(compose(seed, style=style, seconds=4), seed % 2 > 0) for style in STYLES for seed in range(6)]
    odd = facts(compose(1, style="piano ballad", instruments=["harp", "cello"], tempo=150, seconds=4))
    return (*drawn, odd, WALTZ, CHORALE, replace(CHORALE, style="fiddle tune", metre=2, instruments=("violin",)))


def a_piece(seed: int) -> Facts:
    return known()[seed % len(known())]


def found(text: str, words: dict[str, object]) -> list[object]:
    """What the words in a text stand for, the longest words first, so that 'pan flute' is no flute."""
    meant = {word.lower(): meaning for word, meaning in words.items()}
    longest_first = "|".join(re.escape(word) for word in sorted(meant, key=len, reverse=True))
    return [meant[word] for word in re.findall(rf"(?<![\w-])(?:{longest_first})(?![\w/-])", text.lower())]


def meanings(table) -> dict[str, set]:
    """Each word of a synonym table, and all that it may stand for."""
    read: dict[str, set] = {}
    for meaning, words in table.items():
        for word in words:
            read.setdefault(word, set()).add(meaning)
    return read


STYLE_WORDS = meanings({style: (*words.genres, *words.nouns) for style, words in WORDS.styles.items()})
INSTRUMENT_WORDS = meanings(WORDS.instruments)
MOOD_WORDS = meanings(MOODS)
DENSITY_WORDS = meanings(WORDS.densities)
METRE_WORDS = meanings(WORDS.metres)
PACE_WORDS = meanings({i: (*pace.adjectives, *pace.tempos) for i, pace in enumerate(WORDS.paces)})
MODE_WORDS = {f"{mode}{after}": {mode} for mode in ("major", "minor") for after in ("", "-key")}
VOCALS = {True: WORDS.patterns["vocals"], False: WORDS.patterns["no vocals"]}
VOCAL_WORDS = meanings(
    {sings: [pattern for place in places.values() for pattern in place] for sings, places in VOCALS.items()}
    | {False: [p.rstrip(".") for place in VOCALS[False].values() for p in place]}
)
VOCAL_WORDS |= {p.rstrip("."): {True} for place in VOCALS[True].values() for p in place}
TABLES = {
    "style": STYLE_WORDS, "mood": MOOD_WORDS, "density": DENSITY_WORDS, "metre": METRE_WORDS, "mode": MODE_WORDS,
    "vocals": VOCAL_WORDS,
}  # fmt: skip


def read_back(made: Caption) -> dict[str, list]:
    """What a text says, by the tables alone."""
    said = {attribute: found(made.text, words) for attribute, words in TABLES.items()}
    bare = re.sub("jazz guitar", "hollow-body guitar", made.text, flags=re.IGNORECASE)
    said["style"] = found(re.sub(r"folk fiddle", "fiddle", bare, flags=re.IGNORECASE), STYLE_WORDS)
    said["instruments"] = found(
        re.sub("fiddle tune|piano ballad", "", made.text, flags=re.IGNORECASE), INSTRUMENT_WORDS
    )
    said["tempo"] = [*found(made.text, PACE_WORDS), *map(int, re.findall(r"(?<![\d/])\d{2,3}", made.text))]
    return said


def assert_true(made: Caption, true: Facts, of=ATTRIBUTES) -> None:
    said = read_back(made)
    assert {attribute for attribute, meant in said.items() if meant} == made.says, made.text
    for attribute in made.says & set(of):
        for meant in said[attribute]:
            if attribute == "instruments":
                assert meant & set(true.instruments), (made.text, true)
            elif isinstance(meant, int):
                assert abs(meant - true.tempo) <= 0.5, (made.text, true)
            elif attribute == "tempo":
                limits = [0.0, *(pace.below for pace in WORDS.paces)]
                assert any(limits[i] <= true.tempo < limits[i + 1] for i in meant), (made.text, true)
            else:
                assert getattr(true, attribute) in meant, (made.text, attribute, true)
    assert len(said["instruments"]) == len(made.instruments), made.text


@settings(max_examples=120, deadline=None)
@given(seeds)
def test_all_that_a_caption_says_is_true_and_it_knows_what_it_says(seed):
    true = a_piece(seed)
    made = caption(true, random.Random(seed))
    assert_true(made, true)
    assert all(holds(made, attribute, true) for attribute in made.says)
    assert not made.wrong
    if "piano ballad" in made.text.lower():
        assert "piano" in true.instruments


@settings(max_examples=120, deadline=None)
@given(seeds)
def test_a_caption_says_enough_to_tell_pieces_apart(seed):
    true = a_piece(seed)
    made = caption(true, random.Random(seed))
    assert "style" in made.says or len(made.instruments) >= min(2, len(true.instruments))
    assert len(made.says) >= 2


@settings(max_examples=120, deadline=None)
@given(seeds, st.sampled_from((None, *ATTRIBUTES)))
def test_a_wrong_caption_is_false_about_what_it_says_is_wrong(seed, about):
    true = a_piece(seed)
    if about is not None and about not in alterable(true):
        with pytest.raises(InputError, match=about):
            wrong_caption(true, random.Random(seed), about)
        return
    made = wrong_caption(true, random.Random(seed), about)
    said = read_back(made)
    assert made.wrong and made.wrong <= made.says
    assert about is None or about in made.wrong
    assert about in (None, "style") or made.wrong == {about}
    assert_true(made, made.facts)
    if about not in (None, "style"):
        assert_true(made, true, of=made.says - made.wrong)
    if "style" in made.wrong:
        assert not any(true.style in meant for meant in said["style"])
    if "instruments" in made.wrong:
        playing = [meant & set(true.instruments) for meant in said["instruments"]]
        assert sum(map(bool, playing)) <= len(playing) / 2
    if "tempo" in made.wrong:
        assert abs(made.facts.tempo - true.tempo) >= 0.4 * true.tempo
        with pytest.raises(AssertionError):
            assert_true(made, true, of=("tempo",))
    for attribute in made.wrong & {"mood", "density", "metre", "mode", "vocals"}:
        assert not any(getattr(true, attribute) in meant for meant in said[attribute]), made.text


@settings(max_examples=120, deadline=None)
@given(seeds)
def test_a_text_has_no_leftovers_of_its_making(seed):
    true, rng = a_piece(seed), random.Random(seed)
    for text in (caption(true, rng).text, wrong_caption(true, rng).text):
        assert not re.search(r"[{}#]|  |\s[.,;?]|[,.]{2}|^\W|\s$", text), text
        assert not re.search(r"\ba (?!eu)[aeiou8]|\ban (?![aeiou8])|\ban eu", text.lower()), text
        assert not re.search(r"\b(\w+) \1\b", text.lower()), text


@settings(max_examples=100, deadline=None)
@given(seeds)
def test_a_paraphrase_says_the_same_in_other_words(seed):
    rng = random.Random(seed)
    made = wrong_caption(a_piece(seed), rng) if seed % 2 else caption(a_piece(seed), rng)
    other = paraphrase(made, rng)
    assert other.text != made.text
    assert replace(other, text=made.text) == made
    assert_true(other, made.facts)


@every_style
def test_captions_of_one_piece_vary(style):
    true, rng = facts(compose(3, style=style, seconds=4)), random.Random(style)
    assert len({caption(true, rng).text for _ in range(500)}) >= 400


def test_there_are_thirty_templates_and_synonyms_for_all_that_is_composed():
    assert len(set(WORDS.frames)) >= 30
    assert set(STYLES) | {kind.style for kind in KINDS.values()} == set(WORDS.styles)
    assert {*INSTRUMENTS, "drums"} == set(WORDS.instruments)
    composed = {mood for style in STYLES.values() for moods in style.moods.values() for mood in moods}
    assert composed | {kind.mood for kind in KINDS.values()} <= set(MOODS)


def test_a_word_has_one_meaning():
    """Else a caption might say by a synonym what is contrary to the fact, or of another attribute."""
    for word, moods in MOOD_WORDS.items():
        families = [FAMILY[mood] for mood in moods]
        assert not any({a, b} in WORDS.contrary_moods for a in families for b in families), word
    for table in (STYLE_WORDS, INSTRUMENT_WORDS, DENSITY_WORDS, METRE_WORDS, PACE_WORDS):
        assert all(len(meant) == 1 for meant in table.values())
    words = [word for table in (*TABLES.values(), INSTRUMENT_WORDS, PACE_WORDS) for word in table]
    assert not [word for word, times in Counter(words).items() if times > 1]


def test_frames_say_nothing_about_the_music():
    frames = " ".join((*WORDS.frames, *WORDS.tag_frames, *WORDS.nouns))
    for table in (*TABLES.values(), INSTRUMENT_WORDS, PACE_WORDS):
        assert not found(frames, table)


def nearest_centroid_accuracy(right: list[list[str]], wrong: list[list[str]]) -> float:
    """Held out by piece: how often a text is nearer to the mean word counts of its own side."""
    half = len(right) // 2
    bags = [[[Counter(re.findall(r"[\w/-]+", t.lower())) for t in texts] for texts in side] for side in (right, wrong)]
    centroids = []
    for side in bags:
        texts = [bag for piece in side[:half] for bag in piece]
        centroids.append({word: n / len(texts) for word, n in sum(texts, Counter()).items()})
    norms = [sum(n * n for n in centroid.values()) for centroid in centroids]
    hits = [
        norms[i] - 2 * sum(n * centroids[i].get(word, 0) for word, n in bag.items())
        < norms[1 - i] - 2 * sum(n * centroids[1 - i].get(word, 0) for word, n in bag.items())
        for i, side in enumerate(bags)
        for piece in side[half:]
        for bag in piece
    ]
    return sum(hits) / len(hits)


@pytest.mark.parametrize("about", [None, "tempo", "mood", "instruments", "vocals"])
def test_words_alone_do_not_tell_right_from_wrong(about):
    """Against right captions that mention the same attributes, as a data set should pair them."""
    rng = random.Random(7)
    population = [true for true in known() if true.style in STYLES and (about is None or about in alterable(true))]
    rng.shuffle(population)
    wrong = [[wrong_caption(true, rng, about) for _ in range(8)] for true in population]
    right = [
        [caption(true, rng, made.says).text for made in several]
        for true, several in zip(population, wrong, strict=True)
    ]
    texts = [[made.text for made in several] for several in wrong]
    assert nearest_centroid_accuracy(right, texts) < 0.58


@pytest.mark.parametrize("about", [None, "instruments"])
def test_wrong_captions_are_as_long_as_right_ones(about):
    """2700 texts a side: their mean is known to about 1 %."""
    rng = random.Random(7)
    pairs = [(true, wrong_caption(true, rng, about)) for true in known()[: 6 * len(STYLES)] for _ in range(28)]
    wrong = sum(len(made.text) for _, made in pairs)
    assert sum(len(caption(true, rng, made.says).text) for true, made in pairs) == pytest.approx(wrong, rel=0.04)


@pytest.mark.parametrize(
    ("tempo", "word", "never"),
    [(58, "very slow", "fast"), (70, "slow", "mid-tempo"), (100, "mid-tempo", "slow"), (125, "brisk", "slow"),
     (150, "fast", "brisk"), (110, "mid-tempo", "fairly fast"), (90, "mid-tempo", "slow")],
)  # fmt: skip
def test_words_for_a_tempo_are_those_that_people_use(tempo, word, never):
    """The limits themselves, which the other tests take from the table."""
    rng = random.Random(tempo)
    texts = "; ".join(caption(replace(WALTZ, tempo=tempo), rng, ("style", "tempo")).text for _ in range(150))
    assert found(texts, {word: word})
    assert not found(texts, {never: never})


def test_the_null_would_notice_words_that_give_a_caption_away():
    rng = random.Random(7)
    right = [[caption(true, rng).text for _ in range(8)] for true in known()]
    given_away = [[f"{caption(true, rng).text} really" for _ in range(8)] for true in known()]
    assert nearest_centroid_accuracy(right, given_away) > 0.7


def test_an_altered_fact_is_not_said_beside_a_style_that_it_does_not_suit():
    lullaby, rng = facts(compose(3, style="lullaby", seconds=4)), random.Random(1)
    assert not any("style" in wrong_caption(lullaby, rng, "tempo").says for _ in range(50))
    bossa = facts(compose(3, style="bossa nova", seconds=4))
    assert any("style" in wrong_caption(bossa, rng, "mood").says for _ in range(50))


def test_what_could_be_called_either_way_is_neither_true_nor_false():
    made = caption(WALTZ, random.Random(1), ("style", "instruments", "tempo", "density", "mood"))
    undecided = replace(
        WALTZ, style="lullaby", instruments=("harmonica", "bass guitar"), tempo=208.0, density="moderate", mood="sad"
    )
    assert {holds(made, attribute, undecided) for attribute in made.says} == {None}
    assert false_of(made, replace(WALTZ, style="reggae", metre=4)) == {"style"}
    assert false_of(made, replace(WALTZ, tempo=180.0, density="busy")) == {"tempo", "density"}
    assert holds(caption(replace(CHORALE, style="waltz"), random.Random(1), ("style",)), "style", WALTZ) is True
    assert holds(caption(WALTZ, random.Random(1), ("style",)), "style", replace(WALTZ, style="baroque")) is None


def test_a_choir_is_neither_called_instrumental_nor_denied_vocals():
    choir = replace(WALTZ, instruments=("choir", "harp"))
    assert "vocals" not in sayable(choir)
    assert "vocals" not in alterable(replace(choir, vocals=True))
    assert "vocals" in sayable(replace(choir, vocals=True))
    assert holds(caption(WALTZ, random.Random(1), ("vocals",)), "vocals", choir) is None


def test_facts_are_of_the_parts_that_sound_the_most_prominent_first():
    note = (Note(0, 1, 60, 80),)
    parts = (
        InstrumentPart("bass", "cello", 42, note),
        InstrumentPart("drums", "drums", 0, ()),
        InstrumentPart("melody", "piano", 0, note),
        InstrumentPart("harmony", "piano", 0, note),
    )
    piece = Piece("p", parts, even_beats(4, 90), 4, MusicalKey(0, "minor"), Attributes("pop", "calm", 90.0, "busy"))
    assert facts(piece, True) == Facts("pop", "calm", 90.0, "busy", ("piano", "cello"), 4, "minor", True)
    with pytest.raises(InputError, match="p: captions have no words for the mood 'purple'"):
        facts(replace(piece, attributes=Attributes("pop", "purple", 90.0, "busy")))
    with pytest.raises(InputError, match="p: no part has notes"):
        facts(replace(piece, parts=()))


@pytest.mark.parametrize("says", [(), ("metre", "style"), ("style", "colour")])
def test_what_can_not_be_said_is_one_sentence(says):
    with pytest.raises(InputError, match="can say style, mood, tempo"):
        caption(replace(WALTZ, metre=2), random.Random(1), says)


def test_captions_are_the_same_in_another_process():
    code = (
        "import random\n"
        "from cmi.studio.captions import *\n"
        "rng = random.Random(5)\n"
        "f = Facts('waltz', 'nostalgic', 104.0, 'sparse', ('accordion', 'upright bass'), 3, 'minor')\n"
        "for about in (None, *alterable(f)) * 4:\n"
        "    made = wrong_caption(f, rng, about)\n"
        "    print([made.text, caption(f, rng, made.says).text, caption(f, rng).text, paraphrase(made, rng).text])\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert len(outputs.pop().splitlines()) == 36
