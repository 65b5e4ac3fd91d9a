"""Model output is data. Whatever it holds, no parser runs it, hangs on it or falls over it."""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cmi.bench.catalog import DATASETS
from cmi.bench.evaluation import Item, Setting
from cmi.bench.metrics.text import mentions, squash
from cmi.bench.metrics.tools import Tools
from cmi.bench.tasks import _labels as labels
from cmi.bench.tasks import beat, emotion_regression, key, lyrics, melody, pitch, playing_technique
from cmi.bench.tasks.captioning import character_bleu, rouge_l, rouge_tokens

PARSERS = {
    "key": key.parse,
    "key, paper": key.parse_paper,
    "emotion": emotion_regression.parse,
    "emotion, paper": emotion_regression.parse_paper,
    "beats": beat.parse,
    "beats, paper": beat.parse_paper,
    "pitch": pitch.parse,
    "melody": melody.parse,
    "technique": playing_technique.parse,
    "technique, paper": lambda text: playing_technique.parse_paper(text, whole=False),
    "technique, paper, whole": lambda text: playing_technique.parse_paper(text, whole=True),
    "label": lambda text: labels.parse(text, DATASETS["GTZAN"].classes),
    "label, paper": lambda text: labels.parse_paper(text, DATASETS["GTZAN"].classes),
    "tags": lambda text: mentions(text, DATASETS["MTG_genre"].classes),
    "lyrics": lambda text: lyrics.words(lyrics.transcription(text)),
}

MEGABYTE = 1_000_000
HOSTILE = {
    "brackets": "[" * 10 * MEGABYTE,
    "closing brackets": ")]" * (MEGABYTE // 2),
    "opened tuples": "[(" * (MEGABYTE // 2),
    "code": "[(__import__('os').system('exit 1'), 1, 'Vibrato')]",
    "nan": "nan, NaN, inf, -inf, [(nan, nan)], [('nan', 'inf', 'Vibrato')]",
    "huge numbers": "1e308, 9" + "9" * 5000 + ", [(1e308, 1e308)], [('1e308', '1e309', 'Vibrato')] 1e308s",
    "lone surrogates": "\ud800 C major \udfff, 0.5s \ud83d, ('1.0', '2.0', 'Vibrato\udc00')",
    "100,000 beats": ",".join(f"{i / 100}s" for i in range(100_000)),
    "nested lists": "[" * 500 + "('1.0', '2.0', 'Vibrato')" + "]" * 500,
    "spaces": " " * MEGABYTE,
    "one line of lyrics": " lyrics " * (MEGABYTE // 8),
    "announcements": "the lyrics of it are: " * (MEGABYTE // 22),
    "digits": "7" * MEGABYTE,
    "dots": "1." * (MEGABYTE // 2),
    "colons": "1:" * (MEGABYTE // 2),
    "commas": "," * MEGABYTE,
    "quotes": "('" * (MEGABYTE // 2),
    "letters": "a" * MEGABYTE,
    "flats": "b" * MEGABYTE,
    "minus": "-" * MEGABYTE,
    "scales": "1 to 9 " * (MEGABYTE // 7),
    "null bytes": "\x00" * 100_000,
}


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.timeout(60)
def test_hostile_answers_neither_run_nor_hang(parser, name):
    begin = time.process_time()
    PARSERS[parser](HOSTILE[name])
    # A linear parser needs a second for a megabyte, a quadratic one half a day.
    assert time.process_time() - begin < 30


@pytest.mark.parametrize("parser", PARSERS)
@given(text=st.text(max_size=2000))
@settings(deadline=2000, max_examples=60)
@example(text="\ud800")
def test_any_text_is_read_or_refused(parser, text):
    PARSERS[parser](text)
    assert squash(text) == squash(squash(text)) or "İ" in text


ALPHABET = st.text(alphabet="0123456789.,:;s[]()'\"-+eE CDEFGABbm#♯majorin/\n", max_size=400)


@pytest.mark.parametrize("parser", PARSERS)
@given(text=ALPHABET)
@settings(deadline=2000, max_examples=150)
def test_text_in_the_shape_of_answers_is_read_or_refused(parser, text):
    result = PARSERS[parser](text)
    if parser.startswith("beats") and result is not None:
        assert result == sorted(result)
        assert all(0 <= time <= 30_000 for time in result)
    if parser == "pitch" and result is not None:
        assert 0 <= int(result) <= 127
    if parser == "melody" and result is not None:
        assert all(0 <= midi <= 127 for _, midi in result)


@given(reference=st.text(max_size=300), hypothesis=st.text(max_size=300))
@settings(deadline=2000, max_examples=100)
def test_text_measures_stay_in_range(reference, hypothesis):
    assert 0 <= character_bleu(reference, hypothesis) <= 1
    recall, f1 = rouge_l(rouge_tokens(reference), rouge_tokens(hypothesis))
    assert 0 <= f1 <= 1
    assert 0 <= recall <= 1


@pytest.mark.parametrize(
    ("dataset", "truth"),
    [
        ("GS_key", "C major"),
        ("gtzan_beat", "0.5s,1.0s"),
        ("DSing", "LA LA"),
        ("Guzheng_Tech", "[('0.0', '10.0', 'No Tech')]"),
        ("MedleyDB", "[(10.0, 60), (11.0, 62)]"),
        ("EMO_arousal", "0.5"),
        ("Nsynth_pitch", "60"),
    ],
)
@pytest.mark.parametrize("protocol", ["paper", "strict"])
@pytest.mark.timeout(120)
def test_a_hostile_answer_scores_like_any_wrong_one(dataset, truth, protocol):
    from cmi.bench.catalog import DATASETS
    from cmi.bench.tasks import load_task

    items = [Item("", text[:1_000_000], truth, str(i), 10.0, 20.0) for i, text in enumerate(HOSTILE.values())]
    items.append(items[0]._replace(answer="no answer", truth="-0.5" if dataset == "EMO_arousal" else truth))
    evaluation = load_task(DATASETS[dataset]).evaluate(items, Setting(dataset, protocol, "hostile", Tools()))
    assert evaluation.n == len(HOSTILE) + 1
    assert (evaluation.values() == evaluation.values()).all()


def test_code_in_an_answer_is_never_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "__import__('pathlib').Path('ran').touch()"
    for parse in PARSERS.values():
        for shape in ("{}", "[({}, 1, 'Vibrato')]", "[({}, 60)]", "[('{}', 1.0, 'Vibrato')]", "{}s, 1.0s"):
            parse(shape.format(code))
    assert list(tmp_path.iterdir()) == []
