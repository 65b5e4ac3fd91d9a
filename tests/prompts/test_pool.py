"""The whole of a pool: quotas, lyrics, references, captions, budgets, and what is said of it."""

import tracemalloc
from collections import Counter
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import soundfile

from cmi._util.errors import InputError
from cmi.llm import Budget, BudgetSpent
from cmi.preferences import write_rows
from cmi.prompts.pool import PoolPlan, build_pool
from cmi.take import read_prompts
from cmi.testing.chat_endpoint import fake_endpoint

from .conftest import answer, text_of, write_endpoint

QUOTA = "text=10,text+lyrics=4,text+audio=2,text+lyrics+audio=1"


def build(texts: Path, **settings: object):
    plan = PoolPlan([texts], settings.pop("out", texts.with_name("pool.jsonl")), **settings)
    report = build_pool(plan)
    return report, list(read_prompts(plan.out))


def test_quotas_are_met_from_files(texts, lyrics, references):
    report, rows = build(texts, quota=QUOTA, lyrics=lyrics, references=references)
    assert Counter(row.prompt.modality for row in rows) == {
        "text": 10, "text+lyrics": 4, "text+audio": 2, "text+lyrics+audio": 1,
    }  # fmt: skip
    assert not report.short
    assert all(row.vocals for row in rows if row.prompt.lyrics)
    assert all(row.prompt.reference.is_file() for row in rows if row.prompt.reference)
    assert len({row.prompt.lyrics for row in rows if row.prompt.lyrics}) == 5  # each file once


def test_the_same_command_writes_the_same_bytes(texts, lyrics, references):
    out = texts.with_name("pool.jsonl")
    written = set()
    for _ in range(2):
        build(texts, quota=QUOTA, lyrics=lyrics, references=references, vocal_share=0.5)
        written.add(out.read_bytes())
    assert len(written) == 1


def test_repeats_are_left_out_and_counted(tmp_path):
    path = tmp_path / "mine.txt"
    long = "a slow sad piano ballad with soft strings and a female voice in the rain"
    path.write_text(f"{long}\n{long.upper()}\n{long} tonight\nfast techno\n")
    report, rows = build(path)
    assert [row.id for row in rows] == ["1", "4"]
    counts = report.sources["mine"]
    assert (counts.read, counts.exact, counts.near, counts.written) == (4, 1, 1, 2)
    assert report.languages == {"en": 2} and report.text_words == {15: 1, 2: 1}
    assert rows[0].about["language"] == "en"


def test_files_of_lyrics_come_before_the_endpoint_and_no_answer_is_asked_for_twice(texts, lyrics):
    with fake_endpoint(answer) as server:
        settings = {
            "quota": "text+lyrics=12",
            "lyrics": lyrics,
            "lyrics_from": write_endpoint(texts.parent, server.url),
        }
        report, rows = build(texts, **settings)
        assert len(rows) == 12 and sum(server.billed.values()) == 7
        asked = [row for row in rows if row.prompt.lyrics.startswith("[verse]")]
        assert len(asked) == 7 and all(f"{row.prompt.text} line 3" in row.prompt.lyrics for row in asked)
        again, _ = build(texts, **settings)
        assert sum(server.calls.values()) == 7
    assert report.asked["lyrics"].usage == again.asked["lyrics"].usage
    assert report.asked["lyrics"].cost == pytest.approx(7 * (1000 + 2 * 50) / 1e6)


def test_a_larger_pool_pays_for_the_new_prompts_only(texts):
    with fake_endpoint(answer) as server:
        endpoint = write_endpoint(texts.parent, server.url)
        build(texts, quota="text+lyrics=5", lyrics_from=endpoint)
        build(texts, quota="text+lyrics=8", lyrics_from=endpoint)
        assert sum(server.billed.values()) == 8


def test_another_source_does_not_make_earlier_lyrics_be_paid_for_again(texts):
    more = texts.with_name("more.jsonl")
    write_rows([{"text": "a march for brass", "lyrics": "left right\nleft right"}], more)
    with fake_endpoint(answer) as server:
        settings = {"quota": "text+lyrics=41", "lyrics_from": write_endpoint(texts.parent, server.url)}
        _, first = build(texts, **settings)
        plan = PoolPlan([texts, more], texts.with_name("pool.jsonl"), **settings)
        build_pool(plan)
        assert sum(server.billed.values()) == len(first) == 40
    rows = {row.id: row for row in read_prompts(plan.out)}
    assert len(rows) == 41 and rows["ideas-1"].prompt == first[0].prompt and "more-1" in rows


def test_half_a_character_in_lyrics_is_no_lyrics(texts):
    with fake_endpoint(lambda body: answer(body) + ("\ud83c" if text_of(0) in str(body) else "")) as server:
        report, rows = build(texts, quota="text+lyrics=40", lyrics_from=write_endpoint(texts.parent, server.url))
    assert len(rows) == 39 and "lone surrogate" in next(iter(report.asked["lyrics"].failures.values()))


def test_what_a_file_says_about_vocals_stays(tmp_path):
    path = tmp_path / "mine.jsonl"
    write_rows([{"text": "hummed", "lyrics": "la la", "vocals": False}, {"text": "sung", "lyrics": "lu lu"}], path)
    _, rows = build(path)
    assert [row.vocals for row in rows] == [False, True]


def test_answers_that_are_no_lyrics_are_asked_for_again_then_left_out(texts):
    def refuse(body):
        return "I cannot do that." if text_of(3) in str(body) else answer(body)

    with fake_endpoint(refuse) as server:
        endpoint = write_endpoint(texts.parent, server.url)
        report, rows = build(texts, quota="text+lyrics=40", lyrics_from=endpoint)
    assert len(rows) == 39
    assert list(report.asked["lyrics"].failures.values()) == [
        "the answer cannot be used: it has fewer than 4 lines to sing"
    ]


def test_a_code_fence_around_lyrics_is_taken_off(texts):
    with fake_endpoint(lambda body: f"```\n{answer(body)}\n```") as server:
        _, rows = build(texts, quota="text+lyrics=2", lyrics_from=write_endpoint(texts.parent, server.url))
    assert all(row.prompt.lyrics.startswith("[verse]") and "```" not in row.prompt.lyrics for row in rows)


def test_an_endpoint_that_never_writes_lyrics_ends_with_one_sentence(texts):
    with fake_endpoint(lambda body: "no") as server:
        endpoint = write_endpoint(texts.parent, server.url)
        with pytest.raises(InputError, match="fake answered none of 2 questions; the first: the answer cannot be used"):
            build(texts, quota="text+lyrics=2", lyrics_from=endpoint)
    assert not texts.with_name("pool.jsonl").exists()


def test_references_are_captioned_once_each(texts, references):
    with fake_endpoint(answer) as server:
        endpoint = str(write_endpoint(texts.parent, server.url))
        _, rows = build(texts, quota="text=3,text+audio=3", references=references, caption_with=endpoint)
        build(texts, quota="text=3,text+audio=3", references=references, caption_with=endpoint)
        assert sum(server.billed.values()) == 3
    assert [bool(row.caption) for row in rows] == [row.prompt.reference is not None for row in rows]


class Tagger:
    """The reference listener's contract without its weights, which are downloaded."""

    name = "tagger"
    asked: ClassVar[list[str]] = []

    def answer(self, questions):
        assert {question.task for question in questions} == {"captioning"}
        self.asked += [question.audio.name for question in questions]
        return [InputError("it is broken") if self.asked[-1] == "3.wav" else "A slow tone."]


def test_the_reference_listener_captions_each_recording_once(texts, references, monkeypatch):
    monkeypatch.setattr("cmi.bench.ask.reference.ReferenceListener", Tagger)
    settings = {"quota": "text+audio=4", "references": references, "caption_with": "reference"}
    report, rows = build(texts, **settings)
    build(texts, **settings)
    assert sorted(Tagger.asked) == ["0.wav", "1.wav", "2.wav", "3.wav", "3.wav"]  # what failed is tried again
    assert [row.caption for row in rows].count("A slow tone.") == 3 and len(rows) == 4
    assert list(report.asked["captions"].failures.values()) == ["it is broken"]


def test_a_caption_that_is_there_is_kept(tmp_path, references):
    path = tmp_path / "mine.jsonl"
    write_rows([{"text": "like this", "reference": "music/0.wav", "caption": "a low tone"}], path)
    with fake_endpoint(answer) as server:
        _, (row,) = build(path, caption_with=str(write_endpoint(tmp_path, server.url)))
        assert not server.calls
    assert row.caption == "a low tone"


def test_recordings_from_elsewhere_are_not_sent(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "private").mkdir()
    soundfile.write(tmp_path / "private" / "x.wav", np.zeros(4000), 8000)
    write_rows([{"text": "like this", "reference": "../private/x.wav"}], tmp_path / "data" / "mine.jsonl")
    with fake_endpoint(answer) as server:
        endpoint = str(write_endpoint(tmp_path, server.url))
        with pytest.raises(InputError, match="--audio-from"):
            build(tmp_path / "data" / "mine.jsonl", caption_with=endpoint)
        assert not server.calls
        _, (row,) = build(tmp_path / "data" / "mine.jsonl", caption_with=endpoint, audio_from=[tmp_path / "private"])
    assert row.caption


def test_one_budget_is_for_lyrics_and_captions_together(texts, references):
    with fake_endpoint(answer) as server:
        endpoint = write_endpoint(texts.parent, server.url, concurrency=1)
        settings = {
            "quota": "text+lyrics=3,text+audio=2",
            "lyrics_from": endpoint,
            "references": references,
            "caption_with": str(endpoint),
        }
        with pytest.raises(BudgetSpent):
            build(texts, **settings, budget=Budget(calls=4))
        assert sum(server.billed.values()) == 4
        _, rows = build(texts, **settings, budget=Budget(calls=5))
        assert sum(server.billed.values()) == 5 and len(rows) == 5


def test_a_dry_run_asks_and_writes_nothing(texts):
    with fake_endpoint(answer) as server:
        endpoint = write_endpoint(texts.parent, server.url)
        plan = PoolPlan([texts], texts.with_name("pool.jsonl"), quota="text=1,text+lyrics=5", lyrics_from=endpoint)
        report = build_pool(plan, dry_run=True)
        assert not server.calls
    assert report.estimates["lyrics"].requests == 5 and report.modalities["text+lyrics"].written == 5
    assert sorted(path.name for path in texts.parent.iterdir()) == ["endpoint.toml", "ideas.txt"]


def test_own_words_are_another_question(texts, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('[lyrics]\nsystem = "Rhyme."\nquestion = "Sing:"\n[caption]\nsystem = "x"\nquestion = "y"\n')
    seen = []

    def note(body):
        seen.append(body["messages"][0]["content"])
        return answer(body)

    with fake_endpoint(note) as server:
        settings = {"quota": "text+lyrics=1", "lyrics_from": write_endpoint(texts.parent, server.url)}
        build(texts, **settings)
        build(texts, **settings, questions=own)
    assert len(seen) == 2 and seen[1] == "Rhyme."


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"lyrics": Path("x")}, "lyrics and references need --quota"),
        ({"similarity": 0.0}, "a similarity of 0"),
        ({"out": Path("ideas.txt")}, "a source as well"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(texts, monkeypatch, settings, sentence):
    monkeypatch.chdir(texts.parent)
    with pytest.raises(InputError, match=sentence):
        build(texts, **settings)


def test_memory_does_not_hold_the_prompts(tmp_path):
    path = tmp_path / "mine.jsonl"
    write_rows(({"text": f"{'la' * 1500} {i} {i + 1} {i + 2}"} for i in range(3000)), path)
    tracemalloc.start()
    report, count = build_pool(PoolPlan([path], tmp_path / "pool.jsonl")), sum(1 for _ in path.open())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert report.sources["mine"].written == count == 3000
    assert peak < path.stat().st_size / 2  # the file is 9 MB


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_pool_can_be_a_table(texts, suffix):
    _, rows = build(texts, out=texts.with_name(f"pool{suffix}"), vocal_share=0.5, total=10)
    assert Counter(row.vocals for row in rows) == {True: 5, False: 5}
