"""`cmi report` as a user meets it: the page, its numbers, and what it does with hostile names and broken files."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi.cli import app
from cmi.generator_report.collect import read_generators
from cmi.generator_report.inspect import Inspection, _inspect
from cmi.reward.model.encoders.musicnn import WHEEL

RATE = 8000
ATTACK = "<script>alert(1)</script>"
OWN = """
import numpy as np
import soundfile
from cmi.take import Score

class Level:
    '''Musicality is the level; alignment is high if the prompt names the file's own folder.'''
    def score(self, takes):
        return [
            Score(float(np.abs(soundfile.read(t.audio)[0]).mean()), float(t.audio.parent.name in t.prompt.text))
            for t in takes
        ]
"""


def notes(*seed: int) -> np.ndarray:
    """Five seconds of plucked strings, each note of its own pitch and level."""
    rng = np.random.default_rng(seed)
    sound = np.zeros(5 * RATE)
    for start in range(0, len(sound), RATE // 4):
        time = np.arange(len(sound) - start) / RATE
        pitch, level = 440 * 2 ** (rng.integers(-12, 12) / 12), rng.uniform(0.1, 0.4)
        sound[start:] += level * np.exp(-4 * time) * sum(np.sin(2 * np.pi * k * pitch * time) / k for k in range(1, 6))
    return np.asarray(sound * np.minimum(1, np.linspace(5, 0, len(sound))))


def write_takes(folder: Path, level: float, prompts: int = 10) -> None:
    for number in range(prompts):
        own = folder / f"p{number:02}"
        own.mkdir(parents=True)
        (own / "prompt.txt").write_text(f"a piano piece called p{number:02} {ATTACK}, 120 BPM")
        for i in range(2):
            soundfile.write(own / f"{i}.wav", level * notes(number, i), RATE)


def report(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["report", *arguments, "--model", "own_level:Level"])


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """A folder with a scorer, musicnn's weights, and loud/ and soft/, ten prompts with two takes each.

    In loud/p00, 0.wav has a gap and is long, 2.wav is a copy, and 3.wav is no sound.
    """
    folder = tmp_path_factory.mktemp("workplace")
    (folder / "own_level.py").write_text(OWN)
    (folder / "cache").mkdir()
    (folder / "cache" / WHEEL.file_name).symlink_to(wheel)
    write_takes(folder / "soft", 0.05)
    write_takes(folder / "loud", 0.2)
    own = folder / "loud" / "p00"
    sound, rate = soundfile.read(own / "0.wav")
    sound[2 * rate : 3 * rate] = 0
    soundfile.write(own / "0.wav", np.concatenate([sound[: 4 * rate]] * 4 + [sound]), rate)
    (own / "2.wav").write_bytes((own / "1.wav").read_bytes())
    (own / "3.wav").write_text("not a sound")
    return folder


@pytest.fixture(autouse=True)
def inside(workplace: Path, own_cache: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(workplace)
    monkeypatch.syspath_prepend(str(workplace))
    monkeypatch.setenv("CMI_CACHE", str(workplace / "cache"))
    yield


@pytest.fixture(scope="module")
def made(workplace: Path) -> dict[str, Any]:
    """What `cmi report soft --against loud` wrote."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(workplace)
        patch.syspath_prepend(str(workplace))
        patch.setenv("CMI_CACHE", str(workplace / "cache"))
        done = report("soft", "--against", "loud", "--out", "out/page.html", "--json")
    assert done.exit_code == 0, done.output
    record: dict[str, Any] = json.loads(done.stdout)
    assert record == json.loads((workplace / "out" / "page.json").read_text())
    return record


def test_generators_are_ranked_and_compared_with_intervals(made: dict[str, Any]):
    assert [one["name"] for one in made["generators"]] == ["loud", "soft"]
    best = made["generators"][0]
    assert (best["prompts"], best["takes"]) == (10, 21)
    assert best["musicality"]["low"] < best["musicality"]["mean"] < best["musicality"]["high"]
    assert best["own_prompt"]["mean"] == 1.0
    assert [one["n"] for one in best["best_of"]["points"]] == [1, 2] * 3
    (paired,) = made["paired"]
    assert (paired["first"], paired["second"], paired["prompts"]) == ("loud", "soft", 10)
    assert paired["musicality"]["low"] > 0
    assert {found["metric"] for one in made["distances"] for found in one["distances"]} == {"fad", "kad"}


def test_what_prompts_name_is_compared_with_what_is_heard_if_they_do_not(made: dict[str, Any]):
    shares = {one["attribute"]: one for one in made["generators"][0]["attributes"]}
    assert shares["instrument"]["named"] == 21
    assert shares["instrument"]["elsewhere"] is None  # every prompt names it
    assert shares["tempo"]["named"] + shares["tempo"]["unchecked"] == 21
    take = made["generators"][0]["each"][0]
    assert [one["name"] for one in take["attributes"]] == ["piano", "120 BPM"]


def test_what_is_wrong_is_said_with_its_moment_and_copies_are_named(made: dict[str, Any]):
    loud = made["generators"][0]
    take = next(take for take in loud["each"] if (take["prompt"], take["take"]) == ("p00", "0.wav"))
    gap = next(one for one in take["observations"] if one["kind"] == "gap")
    assert gap["start"] == pytest.approx(2, abs=0.05)
    assert len(take["key_over_time"]) == 2
    assert len(take["loudness_over_time"]) == 19
    assert {(pair["a"], pair["b"]) for pair in loud["copies"]} == {("p00/1.wav", "p00/2.wav")}
    assert [row["take"] for row in loud["left_out"]] == ["p00/3.wav"]
    assert "No sound from 0:02" in Path("out/page.html").read_text()


@pytest.mark.usefixtures("made")
def test_the_page_links_to_every_take_and_shows_prompts_as_text():
    page = Path("out/page.html").read_text()
    sources = re.findall(r'<audio[^>]* src="([^"]+)"', page)
    assert len(sources) == 41
    assert all((Path("out") / source).resolve().is_file() for source in sources)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.usefixtures("made")
def test_the_page_begins_with_the_answer():
    page = Path("out/page.html").read_text()
    assert page.index('class="notice"') < page.index("<table")
    said = re.findall(r"<p>(.*?)</p>", page[page.index('class="notice"') :])[:3]
    assert said[0].startswith("On the 10 prompts that both were given, loud scores higher than soft in musicality (+")
    assert said[0].endswith("loud and soft cannot be told apart in alignment (+0.00, no interval).")
    assert re.match(r"loud: something is wrong with \d+ of 21 takes, most often: [\w ]+ \(\d+\); a take fits", said[1])
    assert re.findall(r'<a href="#(takes-\d)">(\w+)</a>', page) == [("takes-0", "loud"), ("takes-1", "soft")]
    assert page.count('<h2 id="takes-') == 2
    assert said[2].startswith("soft: something is wrong with ")


@pytest.mark.usefixtures("made")
def test_every_dot_of_the_picture_leads_to_its_take():
    page = Path("out/page.html").read_text()
    anchors, cards = re.findall(r'<a href="#(take-[0-9-]+)"', page), re.findall(r'<li class="take" id="([^"]+)"', page)
    assert len(anchors) == 41
    assert sorted(anchors) == sorted(cards)


def test_takes_of_one_length_are_not_wrong_because_they_break_off():
    """A generator that stops after 3 s cuts every piece: said, but not counted among what is wrong."""
    write_takes(Path("excerpts"), 0.1, prompts=3)
    for path in Path("excerpts").glob("*/*.wav"):
        sound, rate = soundfile.read(path)
        soundfile.write(path, sound[: 3 * rate], rate)
    assert report("excerpts", "--out", "excerpts.html").exit_code == 0
    page = Path("excerpts.html").read_text()
    (said,) = re.findall(r"<p>(excerpts: .*?)</p>", page)
    cut = json.loads(Path("excerpts.json").read_text())["generators"][0]["found"]["cut"]
    assert f"; {cut} break off at the end, as excerpts of a fixed length do" in said
    assert "most often: the music breaks off" not in said


@pytest.mark.usefixtures("made")
def test_the_page_is_accessible_and_fits_a_phone_in_the_dark():
    """axe finds nothing serious; nothing is wider than 390 px; a click on a section plays from there."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install 'cmi[test]'")
    chromium = os.environ.get("CMI_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for scheme, width in (("light", 1280), ("dark", 390)):
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page.goto(Path("out/page.html").resolve().as_uri())
            for summary in page.locator("summary").all():
                summary.click()
            found = axe.Axe().run(page).response["violations"]
            assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.locator('.sections button[data-at="10.00"]').first.click()
        page.wait_for_function("[...document.querySelectorAll('audio')].some((one) => one.currentTime >= 10)")
        browser.close()


def test_the_same_command_resumes_and_measures_only_what_has_changed():
    write_takes(Path("small"), 0.1, prompts=2)
    assert report("small").exit_code == 0
    first, log = Path("report.json").read_text(), Path("report.inspected.jsonl")
    lines = log.read_bytes().splitlines(keepends=True)
    log.unlink()
    Path("report.inspected.jsonl.partial").write_bytes(lines[0] + lines[1] + lines[2][:40])  # as after kill -9
    assert report("small", "--embed-audio").exit_code == 0
    assert Path("report.json").read_text() == first
    assert Path("report.html").read_text().count('src="data:audio/mpeg;base64,') == 4
    again = log.read_bytes().splitlines(keepends=True)
    assert again[:2] == lines[:2]
    assert len(again) == 4
    changed = Path("small/p00/0.wav")
    sound, rate = soundfile.read(changed)
    soundfile.write(changed, sound[: 4 * rate], rate)
    assert report("small").exit_code == 0
    assert json.loads(Path("report.json").read_text())["generators"][0]["each"][0]["seconds"] == 4
    assert len(log.read_bytes().splitlines()) == 5


def test_lyrics_without_a_voice_are_told_and_transcribed_on_request():
    pytest.importorskip("moonshine_voice", reason="no recogniser is installed: pip install 'cmi[listen]'")
    for number in (0, 1):
        folder = Path(f"sung/p{number}")
        folder.mkdir(parents=True)
        prompt = {"text": "a song", "lyrics": f"{number} <b>little birds</b>"}
        (folder / "prompt.json").write_text(json.dumps(prompt))
        soundfile.write(folder / "0.wav", 0.2 * notes(number), RATE)
    done = report("sung", "--transcribe", "--json", "--out", "sung.html")
    assert done.exit_code == 0, done.output
    take = json.loads(done.stdout)["generators"][0]["each"][0]
    assert "no voice" in {one["kind"] for one in take["observations"]}
    assert take["lyrics_heard"]["rate"] >= 0
    page = Path("sung.html").read_text()
    assert "No voice is heard, though lyrics were given" in page
    assert "<b>little" not in page


def test_one_short_take_alone_has_a_page():
    folder = Path("single/only")
    folder.mkdir(parents=True)
    (folder / "prompt.json").write_text(json.dumps({"text": "", "lyrics": "la la"}))
    soundfile.write(folder / "a.wav", 0.2 * notes(0)[: RATE // 4], RATE)
    done = report("single", "--out", "single.html")
    assert done.exit_code == 0, done.output
    assert "<audio" in Path("single.html").read_text()
    assert "1 take has lyrics; --transcribe" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "nowhere"),
        (["loud", "--out", "page.pdf"], "page.pdf: expected a name that ends in .html"),
        (["empty"], "empty"),
        (["loud", "--against", "loud"], "named twice"),
        (["loud", "--reference", "empty"], "empty: 0 recordings, expected 10"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], sentence: str):
    Path("empty").mkdir(exist_ok=True)
    done = report(*arguments)
    assert isinstance(done.exception, InputError)
    assert sentence in str(done.exception)


def test_a_generator_without_a_take_that_can_be_heard_is_an_error():
    write_takes(Path("broken"), 0.1, prompts=1)
    for path in Path("broken").rglob("*.wav"):
        path.write_text("not a sound")
    done = report("broken", "--out", "broken.html")
    assert isinstance(done.exception, InputError)
    assert "none of 2 takes could be heard" in str(done.exception)


def test_a_take_far_beyond_full_scale_is_left_out_without_warnings(recwarn: pytest.WarningsRecorder):
    write_takes(Path("odd"), 0.1, prompts=1)
    soundfile.write("odd/p00/1.wav", 1e30 * notes(1), RATE, subtype="FLOAT")
    assert isinstance(loud := _inspect(Path("odd/p00/1.wav")), InputError)
    assert "odd/p00/1.wav: cannot be inspected (overflow" in str(loud)
    assert isinstance(_inspect(Path("odd/p00/0.wav")), Inspection)
    assert not recwarn.list


def test_prompts_are_shared_whatever_their_white_space_and_wherever_the_reference_lies(tmp_path: Path):
    for name, text, lyrics in (("one", "slow piano\n", "la\nla"), ("two", " slow  piano", "la la")):
        (tmp_path / name).mkdir()
        soundfile.write(tmp_path / name / "like.wav", 0.2 * notes(0), RATE)
        soundfile.write(tmp_path / name / "a.wav", 0.2 * notes(len(name), len(text)), RATE)
        row = {"audio": "a.wav", "text": text, "lyrics": lyrics, "reference": "like.wav", "group": "p"}
        (tmp_path / name / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    places = [str(tmp_path / name / f"{name}.jsonl") for name in ("one", "two")]
    done = report(places[0], "--against", places[1], "--json", "--out", "shared.html")
    assert [one["prompts"] for one in json.loads(done.stdout)["paired"]] == [1]
    for name in ("one", "two"):
        (tmp_path / name / "like.wav").unlink()  # Level does not need it
    done = report(places[0], "--against", places[1], "--json", "--out", "shared.html")
    assert json.loads(done.stdout)["paired"] == []


def test_generators_without_a_common_prompt_are_said_to_have_none():
    for name in ("left", "right"):
        write_takes(Path(name), 0.1, prompts=1)
        Path(name, "p00", "prompt.txt").write_text(f"a piece by {name}")
    done = report("left", "--against", "right", "--json", "--out", "apart.html")
    found = json.loads(done.stdout)
    assert found["paired"] == []
    assert any("have no prompt in common" in note for note in found["notes"])
    assert "cannot be compared: they have no prompt in common" in Path("apart.html").read_text()


def test_generators_that_a_manifest_names_are_compared(tmp_path: Path):
    rows = [
        {"audio": f"{generator}-{group}.wav", "text": f"prompt {group}", "group": group, "generator": generator}
        for group in ("p1", "p2")
        for generator in ("mine", "base")
    ]
    first, second = tmp_path / "takes.jsonl", tmp_path / "more.jsonl"
    first.write_text("".join(json.dumps(row) + "\n" for row in rows))
    second.write_text(json.dumps({"audio": "a.wav", "text": "prompt p1"}) + "\n" + json.dumps(rows[0]) + "\n")
    assert [(one.name, [row.name for row in one.rows]) for one in read_generators([first])] == [
        ("base", ["base-p1.wav", "base-p2.wav"]),
        ("mine", ["mine-p1.wav", "mine-p2.wav"]),
    ]
    names = [one.name for one in read_generators([first, second])]
    assert names == ["base", f"mine ({first})", "more", f"mine ({second})"]
