"""The page shows what is there, marks the flaw where it is, and says nothing that a browser would run."""

import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import soundfile

from cmi._util.errors import InputError, MissingExtra
from cmi.studio.compose import compose
from cmi.studio.flaws import FLAWS
from cmi.studio.recordings import RATE, SECONDS, TakeRecipe, TakeSource, record
from cmi.studio.show import (
    BANDS,
    COLUMNS,
    HIGHEST,
    LOWEST,
    MEASURES,
    ShownVersion,
    differences,
    page_of,
    show_flaws,
    spectrogram,
)

VERSIONS = ["clean", "dropouts", "abrupt-cut"]


class Page(HTMLParser):
    """The tags of a page, with their attributes, and its text."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shown")
    show_flaws(folder, seed=3, flaws=["abrupt-cut", "dropouts"])
    return folder


@pytest.fixture(scope="module")
def clean():
    return record(TakeRecipe(TakeSource(3)))[0]


def test_every_version_has_a_recording_and_a_picture_and_all_links_lead_to_them(shown):
    page = Page((shown / "index.html").read_text())
    linked = [tag["src"] for tag in page.all("audio") + page.all("img")]
    assert linked == [f"audio/{name}.flac" for name in VERSIONS] + [f"pictures/{name}.png" for name in VERSIONS]
    written = {path.relative_to(shown).as_posix() for path in shown.rglob("*") if path.is_file()}
    assert written == {"index.html", *linked}
    for name in VERSIONS:
        about = soundfile.info(shown / f"audio/{name}.flac")
        assert (about.samplerate, about.channels, about.frames) == (RATE, 2, SECONDS * RATE)
        assert (shown / f"pictures/{name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_stands_alone_and_can_be_read_aloud(shown):
    html = (shown / "index.html").read_text()
    page = Page(html)
    assert "://" not in html
    assert not page.all("link")
    assert all(picture["alt"] for picture in page.all("img"))
    assert all(
        audio["aria-label"] and audio["preload"] == "none" and "controls" in audio for audio in page.all("audio")
    )
    assert page.all("html") == [{"lang": "en"}]


def test_the_page_says_what_is_known_of_the_piece_and_its_flaws(shown):
    text = Page((shown / "index.html").read_text()).text
    piece = compose(3)
    known = [piece.attributes.style, f"{piece.attributes.tempo:g} beats a minute", f"{piece.metre} beats in a bar"]
    known += [piece.key.mode, *(part.instrument for part in piece.parts)]
    known += ["Short gaps of silence", "Breaks off", "Strength 0.6", "% of the music is lost", "in one place"]
    for said in known:
        assert said in text


def test_the_same_arguments_give_the_same_bytes(shown, tmp_path):
    show_flaws(tmp_path, seed=3, flaws=["dropouts", "abrupt-cut"])
    for path in (path for path in shown.rglob("*") if path.is_file()):
        assert (tmp_path / path.relative_to(shown)).read_bytes() == path.read_bytes()


def test_text_is_escaped():
    piece = replace(compose(1), name="<script>alert('1')</script>")
    version = ShownVersion("a&b", '"quoted" <b>', np.zeros((10, 2), np.float32), 0.5, "<i>", ())
    page = Page(page_of(piece, 1, [version]))
    assert len(page.all("script")) == 1
    assert not page.all("b") + page.all("i")
    assert page.all("audio")[0]["aria-label"] == 'a&b: "quoted" <b>'


def test_marks_are_where_the_sound_differs_whatever_its_gain(clean):
    flawed = 1.3 * clean
    flawed[10 * RATE : 12 * RATE] = 0
    (span,) = differences(clean, flawed)
    assert span == pytest.approx((10, 12), abs=0.05)


def test_what_is_the_same_has_no_marks_and_what_is_too_quiet_has_them_throughout(clean):
    assert differences(clean, clean) == ()
    quiet = ShownVersion("level", "", clean, marks=differences(clean, clean / 10))
    assert quiet.where == "throughout"


def test_bars_that_stayed_are_not_marked(clean):
    """Though most of the sound is other than it was."""
    flawed = np.roll(clean, 7 * RATE, axis=0)
    flawed[20 * RATE : 25 * RATE] = clean[20 * RATE : 25 * RATE]
    marks = differences(clean, flawed)
    assert sum(end - start for start, end in marks) > 20
    assert not [span for span in marks if span.start < 24.9 and span.end > 20.1]


@pytest.mark.parametrize("hertz", [110.0, 440.0, 7040.0])
def test_a_sine_is_on_its_band_at_its_level(hertz):
    decibels = spectrogram(0.1 * np.sin(2 * np.pi * hertz * np.arange(2 * RATE) / RATE, dtype=np.float32))
    assert decibels.shape == (BANDS, COLUMNS)
    middle = decibels[:, COLUMNS // 2]
    assert np.geomspace(LOWEST, HIGHEST, BANDS)[middle.argmax()] == pytest.approx(hertz, rel=0.03)
    assert middle.max() == pytest.approx(-20, abs=2)


def test_every_measure_has_words():
    assert {flaw.measure for flaw in FLAWS.values()} == set(MEASURES)


def test_a_strength_of_nothing_is_marked_nowhere(tmp_path):
    text = Page(show_flaws(tmp_path, seed=3, flaws=["wrong-notes"], strength=0.0).read_text()).text
    assert "Measured: 0 % of the pitched notes are changed" in text
    assert "Marked: nowhere" in text


def test_without_matplotlib_it_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match="pictures needs the plots extra"):
        show_flaws(tmp_path / "shown")
    assert not (tmp_path / "shown").exists()


def test_a_recording_that_cannot_be_written_is_bad_input(tmp_path):
    (tmp_path / "audio" / "clean.flac").mkdir(parents=True)
    with pytest.raises(InputError, match=str(tmp_path)):
        show_flaws(tmp_path, seed=3, flaws=["level"])
