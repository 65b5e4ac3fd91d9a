"""cmi-real from a small recipe of every kind: what is asked, under which prompts, and what is left out."""

import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi._util.errors import InputError
from cmi.rewardbench.data import cmi_real
from cmi.rewardbench.data.cmi_real import EDITS, PEOPLE, REFERENCE, REWARDS, SYSTEMS, TEXT
from cmi.rewardbench.data.recipes import Recipe, make_list, read_recipe
from cmi.rewardbench.data.recipes.texts import csv_column, html_texts, script_list, sheet_rows
from cmi.rewardbench.data.rows import LeftOut
from cmi.rewardbench.items import RatedItem
from cmi.take import Prompt

RECIPE = r"""
[[source]]
repository = "someone/music"
commit = "c0ffee"
licence = "CC0"
[[groups.ratings]]
name = "survey"
source = "someone/music"
answers = "answers.csv"
files = 'rated/(?P<key>\d+)\.wav'
apart = 2
[[groups.votes]]
name = "musicians"
source = "someone/music"
answers = "votes.xlsx"
files = 'voted/Pair (?P<key>\d+)/Track (?P<side>[AB])\.wav'
column = 'Usable \(pair (?P<key>\d+)\).*'
[[groups.scores]]
name = "machine"
source = "someone/music"
files = 'rated/(?P<key>\d+)\.wav'
value = { rule = "csv", file = "scores.csv", key = "clip", column = "score", prefix = "c", suffix = "" }
[[groups.order]]
name = "real over fake"
source = "someone/music"
better = 'real/(?P<key>.+)\.wav'
worse = 'fake/(?P<key>.+)\.wav'
text = { rule = "html", file = "page.html" }
[[groups.text]]
name = "genres"
source = "someone/music"
files = 'genres/(?P<key>.+)\.wav'
system = "M"
text = { rule = "name" }
families = "genres"
[[groups.edit]]
name = "{aspect}"
source = "someone/music"
files = 'edits/(?P<family>(?P<aspect>[a-z]+)_\d)_(?P<key>\d)\.wav'
system = "M"
text = { rule = "html", file = "page.html" }
[[groups.reference]]
name = "melody"
source = "someone/music"
files = 'melody/(?P<reference>[^/]+)/(?P<key>(?!prompt).+)\.wav'
references = 'melody/(?P<reference>[^/]+)/prompt\.wav'
system = "M"
text = { rule = "name" }
[[groups.reference]]
name = "half"
source = "someone/music"
files = 'halves/(?P<key>.+)\.wav'
system = "M"
[families]
genres = [["hip-hop", "trap"]]
"""
PAGE = """<table><tr><td>0</td><td>a long slow song<td><audio><source src="real/x.wav">can't play</audio>
<tr><td>tempo</td><td>a <b>fast</b>  tune</td><td><source src="edits/tempo_0_0.wav"></td>
<tr><td></td><td>a slow tune</td><td><source src="edits/tempo_0_1.wav"></td>
<!-- <tr><td>a middling tune</td><td><source src="edits/tempo_0_2.wav"></td> --></table>"""
CLIPS = (
    *(f"rated/{i}" for i in (1, 2, 3)),
    *(f"voted/Pair 2/Track {side}" for side in "AB"),
    *("real/x", "fake/x", "fake/y"),
    *(f"genres/{name}" for name in ("hip-hop", "trap", "jazz", "folk")),
    *(f"edits/tempo_0_{i}" for i in range(3)),
    *(f"melody/{tune}/{name}" for tune in ("bells", "saints") for name in ("prompt", "opera-singer", "piano-solo")),
    *("halves/one", "halves/two"),
)


def spreadsheet(path: Path, rows: list[list[str]]) -> None:
    """Numbers as they are, words by their places among the shared ones, and nothing where there is nothing."""
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    words = [cell for row in rows for cell in row if cell and not cell.isdigit()]

    def cell(column: str, number: int, text: str) -> str:
        kind, value = ("", text) if text.isdigit() else (' t="s"', str(words.index(text))) if text else ("", "")
        return f'<c r="{column}{number}"{kind}>' + (f"<v>{value}</v>" if value else "") + "</c>"

    lines = [f"<row>{''.join(map(cell, 'AB', [i] * 2, row))}</row>" for i, row in enumerate(rows, 1)]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/sharedStrings.xml", f"<sst {space}>{''.join(f'<si><t>{w}</t></si>' for w in words)}</sst>")
        archive.writestr("xl/worksheets/sheet1.xml", f"<worksheet {space}>{''.join(lines)}</worksheet>")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tree = tmp_path / "data/someone+music"
    for number, name in enumerate(CLIPS):
        path = tree / f"{name}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, np.full(1001, number / 100), 8000)
    (tree / "page.html").write_text(PAGE)
    spreadsheet(
        tree / "votes.xlsx", [["Subject", "Usable (pair 2) Which?"], ["7", "Track B"], ["8", ""], ["9", "Both"]]
    )
    (tree / "scores.csv").write_text("clip,score\nc1,0.5\nc2,-1\n")
    answers = ["USER_ID,SONG_ID,GUESS,RATING,TIME", "u,1,0,5,1", "u,2,0,3,1", "u,3,0,4,1", "v,1,0,0,1", "v,2,0,2,1"]
    (tree / "answers.csv").write_text("\n".join(answers))
    return tmp_path / "data"


@pytest.fixture
def recipe(folder: Path) -> Recipe:
    place = folder.parent
    (place / "small.toml").write_text(RECIPE)
    (place / "small.sha256").write_text(make_list("small", folder, place))
    return read_recipe("small", place)


@pytest.fixture
def asked(folder: Path, recipe: Recipe) -> dict[str, list[RatedItem]]:
    found: dict[str, list[RatedItem]] = {name: [] for name in (PEOPLE, REWARDS, SYSTEMS, TEXT, EDITS, REFERENCE)}
    for item in cmi_real.questions(folder, recipe):
        if isinstance(item, RatedItem):
            found[item.dataset].append(item)
    return found


def right_and_wrong(item: RatedItem) -> tuple[tuple[Prompt, str], tuple[Prompt, str]]:
    """What should win and what should lose: prompt and name of the clip."""
    (vote,) = item.votes.values()
    takes = item.asked if vote.choice == "a" else item.asked[::-1]
    return tuple((take.prompt, Path(take.audio).stem) for take in takes)  # type: ignore[arg-type, return-value]


def test_ratings_are_means_and_pairs_of_one_listener_that_are_apart(asked):
    asked = {PEOPLE: [item for item in asked[PEOPLE] if item.about["question"] == "survey"]}
    means = {Path(item.takes[0]).stem: item.ratings["musicality"] for item in asked[PEOPLE] if not item.is_pair}
    assert means == {"1": 2.5, "2": 2.5, "3": 4}
    pairs = [item for item in asked[PEOPLE] if item.is_pair]
    won = {(item.about["rater"], *(name for _, name in right_and_wrong(item))) for item in pairs}
    assert won == {("u", "1", "2"), ("v", "2", "1")}
    assert {frozenset((item.about["cluster"], item.about["cluster_b"])) for item in pairs} == {frozenset("12")}


def test_votes_of_a_spreadsheet_are_read_and_what_is_no_vote_is_not_guessed(asked):
    (item,) = [item for item in asked[PEOPLE] if item.about["question"] == "musicians"]
    assert [name for _, name in right_and_wrong(item)] == ["Track B", "Track A"]
    assert (item.about["rater"], item.about["cluster"]) == ("votes 1", "votes/2")


def test_a_spreadsheet_that_is_none_is_one_sentence(tmp_path):
    (tmp_path / "x.xlsx").write_bytes(b"no zip")
    with pytest.raises(InputError, match=r"x\.xlsx: not a spreadsheet"):
        list(sheet_rows(tmp_path / "x.xlsx"))


def test_scores_of_another_model_are_kept_apart_from_people(asked):
    assert {Path(item.takes[0]).stem: item.ratings["musicality"] for item in asked[REWARDS]} == {"1": 0.5, "2": -1}


def test_systems_are_compared_under_the_text_of_the_page(asked):
    (item,) = asked[SYSTEMS]
    (prompt, better), (other, worse) = right_and_wrong(item)
    assert prompt == other == Prompt("a long slow song")
    assert (Path(item.takes[0]).parent.name, better, worse) in {("real", "x", "x"), ("fake", "x", "x")}
    assert Path(item.takes["ab".index(item.votes["overall"].choice)]).parent.name == "real"


def test_wrong_texts_and_clips_are_of_other_families(asked):
    for item in asked[TEXT]:
        (right, clip), (wrong, other) = right_and_wrong(item)
        assert right.text == clip.replace("-", " ")
        assert {clip, other} != {"hip-hop", "trap"} and {right.text, wrong.text} != {"hip hop", "trap"}
        assert (clip == other) != (right == wrong)  # one of the two is changed
    assert len(asked[TEXT]) == 2 * (2 * 2 + 2 * 3)


def test_edits_are_all_ways_to_take_siblings_for_each_other(asked, folder, recipe):
    texts = {tuple(prompt.text for prompt, _ in right_and_wrong(item)) for item in asked[EDITS]}
    fast, slow = "a fast tune", "a slow tune"
    assert texts == {(fast, slow), (slow, fast), (fast, fast), (slow, slow)}
    left_out = [one.reason for one in cmi_real.questions(folder, recipe) if isinstance(one, LeftOut)]
    assert "no text known" in left_out  # of the clip that the page has commented out


def test_references_texts_and_clips_of_melodies_are_told_apart(asked):
    melodies = [item for item in asked[REFERENCE] if item.about["question"].startswith("melody")]
    assert all(take.prompt.reference is not None for item in melodies for take in item.asked)
    assert Counter(item.about["question"].rpartition(" ")[2] for item in melodies) == {
        "reference": 4,
        "clip": 4,
        "text": 4,
    }


def test_halves_refer_to_each_other_and_lose_nothing(asked, folder):
    halves = [item for item in asked[REFERENCE] if item.about["question"].startswith("half")]
    for item in halves:
        (prompt, clip), _ = right_and_wrong(item)
        assert Path(prompt.reference).name.removesuffix(".1.wav") == clip.removesuffix(".2")  # type: ignore[arg-type]
    cut = [soundfile.read(folder / f"prepared/someone+music/halves/one.wav.{half}.wav")[0] for half in (1, 2)]
    whole, _ = soundfile.read(folder / "someone+music/halves/one.wav")
    np.testing.assert_array_equal(np.concatenate(cut), whole)


def test_questions_do_not_depend_on_the_folder_or_on_what_is_missing(folder, recipe, tmp_path):
    before = [(i.id, i.votes) for i in cmi_real.questions(folder, recipe) if isinstance(i, RatedItem)]
    moved = folder.rename(tmp_path / "elsewhere")
    (moved / "someone+music/genres/jazz.wav").unlink()
    after = [(i.id, i.votes) for i in cmi_real.questions(moved, recipe) if isinstance(i, RatedItem)]
    assert after == before


def test_without_the_page_what_needs_it_is_left_out_and_the_rest_is_asked(folder, recipe):
    (folder / "someone+music/page.html").unlink()
    found = [one for one in cmi_real.questions(folder, recipe) if isinstance(one, RatedItem)]
    assert {item.dataset for item in found} == {PEOPLE, REWARDS, TEXT, REFERENCE}


def test_texts_are_read_from_scripts_and_tables(tmp_path):
    script = tmp_path / "load.js"
    script.write_text("names = [\n  'a',\n  'b',\n]\ntexts = [\n  'It\\'s <b>slow</b>.',\n  'two',\n];\n")
    assert dict(zip(script_list(script, "names"), script_list(script, "texts"), strict=True)) == {
        "a": "It's slow.",
        "b": "two",
    }
    table = tmp_path / "captions.csv"
    table.write_text('id,caption\nx.wav,"one, two"\n')
    assert csv_column(table, "id", "caption") == {"x.wav": "one, two"}
    page = tmp_path / "page.html"
    page.write_text(PAGE)
    assert html_texts(page)["edits/tempo_0_0.wav"] == "a fast tune"
    assert "edits/tempo_0_2.wav" not in html_texts(page)
