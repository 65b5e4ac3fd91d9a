import numpy as np
import pytest

from cmi._util.errors import InputError
from cmi.bench.catalog import DATASETS
from cmi.bench.evaluation import Item, Setting
from cmi.bench.metrics.tools import Tools
from cmi.bench.tasks import _tags

TAGS = ("female", "male", "rock", "vocal")


class Letters:
    """An embedder that hears letters only, and remembers what it was asked."""

    name = "letters@1"
    dimension = 26

    def __init__(self):
        self.asked = []

    def encode(self, texts, progress=None):
        self.asked += texts
        counts = np.array([[text.count(chr(97 + i)) for i in range(26)] for text in texts], dtype=np.float32)
        counts = counts + 1e-3
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def evaluation(pairs, protocol, embedder=None):
    tools = Tools()
    tools.embedder = embedder or Letters()
    items = [Item("", answer, truth, str(i)) for i, (truth, answer) in enumerate(pairs)]
    return _tags.evaluate(items, Setting("MTT", protocol, "m", tools), TAGS)


PAIRS = [("female, rock", "rock by a woman"), ("male", "male"), ("vocal", "vocal"), ("rock", ""), ("male", "male")]


def test_each_distinct_text_is_encoded_once():
    letters = Letters()
    evaluation(PAIRS, "paper", letters)
    assert sorted(letters.asked) == sorted(["rock by a woman", "male", "vocal", "", *TAGS])


def test_truth_is_by_letters_in_the_paper_and_by_name_under_strict():
    paper, strict = (evaluation(PAIRS, protocol).statistics[:, len(TAGS) :] for protocol in ("paper", "strict"))
    assert paper[0].tolist() == [1, 1, 1, 0]  # 'male' is in 'female'
    assert strict[0].tolist() == [1, 0, 1, 0]


def test_named_tags_rank_first_and_an_empty_answer_last():
    scores = evaluation(PAIRS, "strict").statistics[:, : len(TAGS)]
    assert scores[1, 1] > 1 > scores[0, 1]
    assert (scores[3] < scores[[0, 1, 2, 4]].min()).all()


def test_a_perfect_answer_is_perfect_under_strict_only():
    perfect = [(truth, truth) for truth, _ in PAIRS]
    assert evaluation(perfect, "strict").values()[0].tolist() == [100, 100]
    assert evaluation(perfect, "paper").values()[0, 0] < 100


def test_one_answer_for_all_is_chance():
    roc, average_precision = evaluation([(truth, "music") for truth, _ in PAIRS], "strict").values()[0]
    assert roc == pytest.approx(50)
    assert average_precision == pytest.approx(100 * (1 + 2 + 2 + 1) / 5 / 4)


def test_tags_that_nobody_has_are_left_out_and_noted():
    only_rock = evaluation([("rock", "rock"), ("", "pop")], "strict")
    assert only_rock.values()[0].tolist() == [100, 100]
    assert "3 of 4 tags left out: no item has them, or every item" in only_rock.notes


def test_the_embedder_is_named_and_only_bge_is_comparable():
    assert any("not comparable" in note for note in evaluation(PAIRS, "paper").notes)
    published = Letters()
    published.name = "bge-large-en-v1.5@abc"
    assert evaluation(PAIRS, "paper", published).notes == ("text embedder bge-large-en-v1.5@abc",)


def test_without_an_embedder_nothing_is_made_up():
    without = evaluation(PAIRS, "paper", InputError("pip install 'cmi[embed]'"))
    assert np.isnan(without.values()).all()
    assert {metric.not_computed for metric in without.metrics} == {"pip install 'cmi[embed]'"}
    assert (without.n, without.unparsed) == (5, 1)


def test_tag_lists_have_their_published_sizes(shared):
    assert [len(set(DATASETS[name].classes)) for name in ("MTT", "MTG_genre", "MTG_top50tags")] == [50, 87, 50]
    theirs = np.load(shared / "cmi-bench" / "annotations" / "mtt_tags.npy", allow_pickle=False)
    assert sorted(str(tag) for tag in theirs) == sorted(DATASETS["MTT"].classes)


def test_minilm_comes_near_the_published_numbers(shared, tools):
    """Within the spread that another encoder brings (the printed ones are bge-large's)."""
    from cmi.bench.scoring.one_file import Items
    from cmi.bench.scoring.responses import ResponseSet, find_responses
    from cmi.bench.tasks import load_task

    (file,) = find_responses([shared / "cmi-bench" / "responses" / "gama" / "gama_MTT.jsonl.gz"])
    setting = Setting("MTT", "paper", "gama", tools)
    roc, average_precision = (
        load_task(file.dataset).evaluate(Items(ResponseSet(file), answered_only=True), setting).values()[0]
    )
    assert roc == pytest.approx(80.03, abs=0.2)  # an independent MiniLM run
    assert average_precision == pytest.approx(34.06, abs=0.2)
