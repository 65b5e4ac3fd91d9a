"""Adding a data set or a task to the benchmark is adding one file: nothing else names them."""

import json
import sys

import numpy as np
import pytest
import soundfile

import cmi.bench.data
import cmi.bench.tasks
from cmi.bench.ask.nulls import NullListener
from cmi.bench.ask.run import RunPlan, read_data, run
from cmi.bench.browser.items import read_answers
from cmi.bench.catalog import DATASETS, find_corpus
from cmi.bench.make import MakeOptions, make
from cmi.bench.metrics.tools import Tools
from cmi.bench.scoring.one_file import score_file
from cmi.bench.scoring.responses import find_annotations, find_responses

TASK = """
from cmi.bench.evaluation import Measured, accuracy, evaluate_each
from cmi.bench.tasks import constant, in_words

NULL_ANSWER = "2"


def parse(answer):
    return int(answer) if answer.isdecimal() else None


def evaluate(items, setting):
    def measure(item):
        return Measured(parse(item.answer) is not None, [parse(item.answer) == parse(item.truth)])

    return evaluate_each(items, measure, [accuracy("Acc.")])


def nulls(items):
    return [constant(NULL_ANSWER, "a duo")]


def reader(setting, truths):
    return in_words(parse)
"""
DATA = """
from cmi.bench.catalog import BenchDataset, Corpus
from cmi.bench.data._reading import LabelledClip
from cmi.bench.prompts import Wording, Wordings

ASKED = Wordings("players", "regression", "player_count", {"plain": Wording("How many play? Give a number.")})


def read(folder, sounds):
    for path in sounds.paths:
        yield LabelledClip("Ensembles", path, path[0], path)


CORPUS = Corpus(
    name="ensembles",
    title="Ensembles",
    datasets=(BenchDataset("Ensembles", "ENS", "player_count", 3, prompts=ASKED),),
    licence="ours",
    where="here",
    verified="nothing",
    read=read,
)
"""


@pytest.fixture
def added(tmp_path, monkeypatch):
    """A data set and a task in one file each, in folders that stand for those of the two packages."""
    for package, name, text in ((cmi.bench.data, "ensembles", DATA), (cmi.bench.tasks, "player_count", TASK)):
        folder = tmp_path / package.__name__
        folder.mkdir()
        (folder / f"{name}.py").write_text(text)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
        monkeypatch.delitem(sys.modules, f"{package.__name__}.{name}", raising=False)
    monkeypatch.setattr(DATASETS, "__dict__", {})  # look again, and forget it afterwards
    return tmp_path


def test_one_file_each_goes_from_prompt_to_score(added):
    folder, out = added / "recordings", added / "bench"
    folder.mkdir()
    for name in ("1-a", "2-b", "2-c"):
        soundfile.write(folder / f"{name}.wav", np.zeros(8000, np.float32), 8000)
    (made,) = make(find_corpus("ensembles"), folder, None, out, MakeOptions())
    assert (made.dataset, made.questions, made.published) == ("Ensembles", 3, 3)
    asked = [json.loads(line) for line in made.path.read_text().splitlines()]
    assert {record["instruction"] for record in asked} == {"How many play? Give a number."}

    data = read_data([out / "annotations"], tasks=["player_count"], audio=out)
    (summary,) = run(NullListener("null:constant"), RunPlan(added / "answers", "duo", "null:constant", data))
    assert (summary.dataset, summary.answered) == ("Ensembles", 3)

    (file,) = find_responses([added / "answers"])
    truth = find_annotations(out / "annotations")["Ensembles"]
    cells = score_file(file, "strict", Tools(), truth)
    assert {(cell.model, cell.row, cell.metric, round(cell.value or 0, 2)) for cell in cells} == {
        ("duo", "ENS", "Acc.", 66.67),
        ("null: empty answer", "ENS", "Acc.", 0.0),
        ("null: a duo", "ENS", "Acc.", 66.67),
    }
    assert [item.reading for item in read_answers(file, "strict", Tools(), truth).items] == ["2", "2", "2"]


def test_a_row_that_was_not_published_comes_after_those_that_were(added):
    assert "ENS" in DATASETS.rows[20:]
    assert {*list(DATASETS.corpora)[-3:-1]} == {"ensembles", "mirdata"}
    assert list(DATASETS.corpora)[-1] == "released"


def test_the_catalog_is_in_the_order_of_the_published_table():
    assert list(DATASETS)[:3] == ["GS_key", "EMO_arousal", "EMO_valence"]
    assert DATASETS.rows[:20] == tuple(
        "GS-K EMO MTT M-G M-E M-I M-50 GTZ. VS-T NI NP SDD MC DS G-B G-D BR-B BR-D MDB GZ".split()
    )
