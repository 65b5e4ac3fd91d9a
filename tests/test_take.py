import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from cmi._util.errors import InputError
from cmi.audio import Waveform
from cmi.preferences import Preference
from cmi.take import Pair, Prompt, Score, Scorer, Take, read_prompts, read_take_folders, read_takes, takes_in

DRUMS = Path("drums.wav")
PAIR = Pair(Prompt("slow sad piano"), Path("a.wav"), Path("b.wav"))


@pytest.mark.parametrize(
    ("prompt", "modality"),
    [
        (Prompt(), "text"),
        (Prompt("piano"), "text"),
        (Prompt("piano", "la la"), "text+lyrics"),
        (Prompt("piano", reference=DRUMS), "text+audio"),
        (Prompt("piano", "la la", DRUMS), "text+lyrics+audio"),
        (Prompt(lyrics="la la"), "text+lyrics"),
        (Prompt(reference=Waveform(np.ones(9, np.float32), 16_000)), "text+audio"),
    ],
)
def test_a_prompt_knows_what_it_is_made_of(prompt, modality):
    assert prompt.modality == modality


def test_nouns_refuse_what_they_can_not_hold():
    for wrong in (
        lambda: Prompt(None),
        lambda: Prompt("piano", None),
        lambda: Prompt("piano", reference="drums.wav"),
        lambda: Take(Prompt(), "drums.wav"),
        lambda: Take(Prompt(), None),
        lambda: Pair(Prompt(), DRUMS, "b.wav"),
    ):
        with pytest.raises(TypeError, match="expected a"):
            wrong()


def test_a_pair_is_two_takes_of_one_prompt():
    assert PAIR.takes == (Take(PAIR.prompt, Path("a.wav")), Take(PAIR.prompt, Path("b.wav")))


def test_takes_can_be_collected_in_sets():
    wave = Waveform(np.ones(9, np.float32), 16_000)
    assert len({Take(Prompt("x"), DRUMS), Take(Prompt("x"), DRUMS), Take(Prompt("x"), wave), PAIR}) == 3


def test_a_preference_has_a_known_axis_choice_and_confidence():
    assert Preference(PAIR, "musicality", "both").confidence is None
    assert Preference(PAIR, "overall", "a", 5, "r1").rater == "r1"
    with pytest.raises(InputError, match="axis 'loudness', expected one of musicality, alignment, overall"):
        Preference(PAIR, "loudness", "a")
    with pytest.raises(InputError, match="choice 'c', expected one of a, b, both, neither"):
        Preference(PAIR, "overall", "c")
    for confidence in (0, 6, 2.5, "3"):
        with pytest.raises(InputError, match=r"confidence .* from 1 to 5"):
            Preference(PAIR, "overall", "a", confidence)


def test_a_scorer_is_any_class_that_scores():
    class Loudness:
        def score(self, takes):
            return [Score(1.0, 0.0) for _ in takes]

    scorer: Scorer = Loudness()
    assert scorer.score(PAIR.takes)[0].musicality == 1.0


def manifest(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_json_lines(tmp_path):
    rows = [
        {"id": "one", "audio": "takes/a.wav", "text": "piano", "lyrics": "la\nla", "reference": "/far/ref.wav"},
        {"id": 7, "audio": "b.wav", "text": "drums", "lyrics": None, "reference": None, "x_genre": "jazz"},
        {"audio": "c.wav"},
    ]
    path = manifest(tmp_path, "takes.jsonl", "\n".join(map(json.dumps, rows)))
    assert list(read_takes(path)) == [
        ("one", Take(Prompt("piano", "la\nla", Path("/far/ref.wav")), tmp_path / "takes/a.wav")),
        ("7", Take(Prompt("drums"), tmp_path / "b.wav")),
        ("3", Take(Prompt(), tmp_path / "c.wav")),
    ]


@pytest.mark.parametrize("absent", ["None", "none", "null", "", "  ", " NULL "])
def test_the_word_none_is_an_absence(tmp_path, absent):
    rows = [json.dumps({"audio": "a.wav", "text": "x", "lyrics": absent, "reference": absent})]
    as_csv = f"audio,text,lyrics,reference\na.wav,x,{absent},{absent}\n"
    for path in (manifest(tmp_path, "t.jsonl", rows[0]), manifest(tmp_path, "t.csv", as_csv)):
        assert [take.prompt for _, take in read_takes(path)] == [Prompt("x")]


def test_none_within_a_text_stays(tmp_path):
    path = manifest(tmp_path, "t.csv", "audio,lyrics\na.wav,None of this is mine\n")
    assert next(read_takes(path))[1].prompt.lyrics == "None of this is mine"


def test_csv_with_a_byte_order_mark_windows_line_ends_and_lines_within_a_field(tmp_path):
    text = '\ufeffid,audio,text,lyrics\r\n1,a.wav,"sad, slow","la\r\nla"\r\n2,b.wav,fast,\r\n\r\n3,c.wav\r\n'
    assert list(read_takes(manifest(tmp_path, "takes.CSV", text))) == [
        ("1", Take(Prompt("sad, slow", "la\r\nla"), tmp_path / "a.wav")),
        ("2", Take(Prompt("fast"), tmp_path / "b.wav")),
        ("3", Take(Prompt(), tmp_path / "c.wav")),
    ]


def test_ids_default_to_the_row_number(tmp_path):
    path = manifest(tmp_path, "t.csv", "audio\na.wav\nb.wav\n")
    assert [take_id for take_id, _ in read_takes(path)] == ["1", "2"]


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("t.csv", "id,text\n1,x\n", r"t\.csv line 1: no column 'audio' in the header \(id, text\)"),
        ("t.csv", "", r"t\.csv line 1: no column 'audio'"),
        ("t.csv", "audio,audio\na,b\n", r"t\.csv line 1: the header has a column twice"),
        ("t.csv", "id,audio\n1,a\n2,\n", r"t\.csv line 3: 'audio' is missing"),
        ("t.csv", 'id,audio,lyrics\n1,a,"x\ny"\n1,b,\n', r"t\.csv line 4: 'id' is '1', the id of an earlier row"),
        ("t.csv", "audio,text\na,sad, slow\n", r"t\.csv line 2: more fields than the header's 2"),
        ("t.csv", 'audio,text\na,x\nb,"open\n', r"t\.csv line 3: not CSV"),
        ("t.csv", "audio,lyrics\na," + "la " * 50_000, r"t\.csv line 2: not CSV \(field larger"),
        ("t.csv", b"audio\n\xff\xfe\n", r"t\.csv: not UTF-8"),
        ("t.jsonl", '{"audio": "a"}\n{"audio": \n', r"t\.jsonl line 2: not JSON"),
        ("t.jsonl", '{"audio": "a"}\n\n{"text": "x"}\n', r"t\.jsonl line 3: 'audio' is missing"),
        ("t.jsonl", '{"audio": null}', r"t\.jsonl line 1: 'audio' is missing"),
        ("t.jsonl", '{"audio": "None"}', r"t\.jsonl line 1: 'audio' is missing"),
        ("t.jsonl", '{"audio": ["a", "b"]}', r"t\.jsonl line 1: 'audio' is list, expected text"),
        ("t.jsonl", '{"audio": "a", "lyrics": 3}', r"t\.jsonl line 1: 'lyrics' is int, expected text"),
        ("t.jsonl", '{"audio": "a", "id": true}', r"t\.jsonl line 1: 'id' is bool"),
        ("t.jsonl", '{"audio": "a", "id": 1}\n{"audio": "b", "id": "1"}', r"t\.jsonl line 2: 'id' is '1'"),
        ("t.jsonl", '["a.wav"]', r"t\.jsonl record 1: str, expected an object"),
        ("t.xlsx", "", r"t\.xlsx: expected a file named \.jsonl, \.json, \.csv or \.parquet"),
    ],
)
def test_a_bad_manifest_is_named_by_file_line_and_field(tmp_path, name, text, complaint):
    with pytest.raises(InputError, match=complaint):
        list(read_takes(manifest(tmp_path, name, text)))


@pytest.mark.parametrize("name", ["absent.csv", "absent.jsonl"])
def test_a_manifest_that_is_not_there_is_named(tmp_path, name):
    with pytest.raises(InputError, match=rf"{name}: No such file"):
        list(read_takes(tmp_path / name))


def test_rows_before_a_broken_one_are_given_first(tmp_path):
    takes = read_takes(manifest(tmp_path, "t.jsonl", '{"audio": "a"}\nbroken\n'))
    assert next(takes)[0] == "1"
    with pytest.raises(InputError, match="line 2"):
        next(takes)


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_memory_holds_one_row_and_the_ids(tmp_path, name):
    lyrics = "la " * 1000
    with (tmp_path / name).open("w") as file:
        file.write("audio,lyrics\n" if name == "t.csv" else "")
        for i in range(3000):
            row = {"audio": f"{i}.wav", "lyrics": lyrics}
            file.write(f"{i}.wav,{lyrics}\n" if name == "t.csv" else json.dumps(row) + "\n")
    tracemalloc.start()
    assert sum(1 for _ in read_takes(tmp_path / name)) == 3000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**20  # the file is 9 MB


def test_prompts_are_read_with_what_is_known_about_them(tmp_path):
    path = tmp_path / "prompts.csv"
    path.write_text("text,reference,caption,vocals,split,x_n\na waltz,like.wav,a harp,yes,test,7\na march,,,,,\n")
    first, second = read_prompts(path)
    assert (first.id, first.prompt) == ("1", Prompt("a waltz", reference=tmp_path / "like.wav"))
    assert (first.caption, first.vocals, first.split, first.own) == ("a harp", True, "test", {"x_n": "7"})
    assert (second.id, second.vocals, second.prompt.reference) == ("2", None, None)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"id": "a"}, "a prompt without text, lyrics and reference"),
        ({"text": "a", "vocals": "perhaps"}, "'vocals' is 'perhaps', expected true or false"),
        ({"text": "a", "tempo": 3}, "unknown field 'tempo'"),
    ],
)
def test_a_prompt_that_cannot_be_used_is_named(tmp_path, row, sentence):
    path = tmp_path / "prompts.jsonl"
    path.write_text(json.dumps({"text": "fine"}) + "\n" + json.dumps(row) + "\n")
    with pytest.raises(InputError, match=f"line 2: {sentence}"):
        list(read_prompts(path))


def write_flat_folder(folder: Path, texts: dict[str, str]) -> Path:
    folder.mkdir()
    for name in ("a.wav", "b.wav", "c.flac"):
        (folder / name).touch()
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


def test_recordings_of_one_folder_have_its_prompt_or_each_its_own(tmp_path):
    one = write_flat_folder(tmp_path / "one", {"prompt.txt": "calm"})
    assert list(read_take_folders(one)) == [("one", Prompt("calm"), [one / "a.wav", one / "b.wav", one / "c.flac"])]
    each = write_flat_folder(tmp_path / "each", {"a.txt": "calm\n", "b.txt": "wild", "c.txt": "calm"})
    assert list(read_take_folders(each)) == [
        ("a", Prompt("calm"), [each / "a.wav", each / "c.flac"]),
        ("b", Prompt("wild"), [each / "b.wav"]),
    ]
    assert [take.prompt.text for take in takes_in(each, Prompt())] == ["calm", "calm", "wild"]
    assert {take.prompt.text for take in takes_in(one, Prompt())} == {"calm"}
    assert {take.prompt.text for take in takes_in(each, Prompt("loud"))} == {"loud"}


def test_a_folder_that_does_not_say_what_was_asked_for_is_refused_with_what_to_do(tmp_path):
    folder = write_flat_folder(tmp_path / "flat", {"a.txt": "calm"})
    with pytest.raises(InputError, match=r"expected .* or the prompt of b\.wav in b\.txt"):
        list(read_take_folders(folder))
    assert [take.prompt for take in takes_in(folder, Prompt())] == [Prompt()] * 3
