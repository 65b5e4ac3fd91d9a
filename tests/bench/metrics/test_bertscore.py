import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
byte_level = pytest.importorskip("tokenizers.pre_tokenizers").ByteLevel

from cmi._util.errors import InputError, MissingExtra  # noqa: E402
from cmi.bench.evaluation import Item, Setting  # noqa: E402
from cmi.bench.metrics import bertscore, encoder  # noqa: E402
from cmi.bench.metrics.bertscore import BertScorer, TokenVectors, greedy_match, load_bert_scorer  # noqa: E402
from cmi.bench.metrics.tools import Tools  # noqa: E402
from cmi.bench.tasks import captioning  # noqa: E402

LAYERS = 4
CANDIDATES = ["slow sad piano with rain", "techno!", "a woman sings over drums, softly", "x", "piano piano piano"]
REFERENCES = ["a sad piano piece", "a techno track at 140 bpm", "a woman sings over drums, softly", "y", "guitar"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A RoBERTa with four random layers, a byte per token, saved with its language-model head like roberta-large."""
    path = tmp_path_factory.mktemp("models") / "tiny-roberta"
    vocabulary = ["<s>", "<pad>", "</s>", "<unk>", *sorted(byte_level.alphabet()), "<mask>"]
    torch.manual_seed(0)
    config = transformers.RobertaConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=LAYERS,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=66,
        initializer_range=0.5,  # large enough for the layers to differ visibly
    )
    transformers.RobertaForMaskedLM(config).save_pretrained(path)
    transformers.RobertaTokenizer(vocab={token: i for i, token in enumerate(vocabulary)}, merges=[]).save_pretrained(
        path
    )
    return path


@pytest.fixture(scope="module")
def scorer(folder: Path) -> BertScorer:
    return load_bert_scorer(str(folder), layer=3)


def ones(texts: list[str]) -> list[list[str]]:
    return [[text] for text in texts]


def by_the_paper(folder: Path, layer: int, candidate: str, reference: str) -> list[float]:
    """Zhang et al., equations for R, P and F, one text at a time, on the whole model's hidden states."""
    model = transformers.RobertaModel.from_pretrained(folder).eval()
    tokenizer = transformers.RobertaTokenizer.from_pretrained(folder, add_prefix_space=True)

    def states(text: str) -> np.ndarray:
        with torch.inference_mode():
            output = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True)
        return output.hidden_states[layer][0].double().numpy()

    def best(own: np.ndarray, other: np.ndarray) -> float:
        cosines = [max(a @ b / np.sqrt(a @ a * (b @ b)) for b in other) for a in own[1:-1]]  # without <s> and </s>
        return sum(cosines) / len(cosines)

    x, y = states(candidate), states(reference)
    precision, recall = best(x, y), best(y, x)
    return [precision, recall, 2 * precision * recall / (precision + recall)]


def test_greedy_matching_by_hand():
    candidate = TokenVectors(np.array([[1, 0], [0.6, 0.8]], np.float32), np.array([True, True]))
    reference = TokenVectors(np.array([[0, 1], [1, 0], [-1, 0]], np.float32), np.array([True, True, True]))
    # cosines: 0 1 -1 / 0.8 0.6 -0.6; precision (1 + 0.8) / 2, recall (0.8 + 1 - 0.6) / 3
    assert greedy_match(candidate, reference) == pytest.approx((0.9, 0.4, 2 * 0.9 * 0.4 / 1.3))


def test_a_special_token_can_be_matched_but_is_not_averaged_over():
    candidate = TokenVectors(np.array([[0, 1], [1, 0]], np.float32), np.array([False, True]))
    reference = TokenVectors(np.array([[1, 0], [0.6, 0.8]], np.float32), np.array([False, True]))
    assert greedy_match(candidate, reference)[:2] == pytest.approx((1.0, 0.8))


@pytest.mark.parametrize("layer", [1, 3, LAYERS])
def test_scores_are_those_of_the_paper(folder, layer):
    found = load_bert_scorer(str(folder), layer).score(CANDIDATES, ones(REFERENCES))
    expected = [by_the_paper(folder, layer, *pair) for pair in zip(CANDIDATES, REFERENCES, strict=True)]
    assert np.abs(found - expected).max() < 1e-5


def test_the_same_sentence_scores_one(scorer):
    assert np.abs(scorer.score(CANDIDATES, ones(CANDIDATES)) - 1).max() < 1e-5


def test_the_layer_matters(folder):
    first, last = (load_bert_scorer(str(folder), layer).score(CANDIDATES, ones(REFERENCES)) for layer in (1, LAYERS))
    assert np.abs(first - last).max() > 0.01


def test_precision_and_recall_swap_with_the_texts(scorer):
    forth, back = scorer.score(CANDIDATES, ones(REFERENCES)), scorer.score(REFERENCES, ones(CANDIDATES))
    assert np.abs(forth - back[:, [1, 0, 2]]).max() < 1e-5


def test_of_several_references_the_best_f1_counts(scorer):
    single = np.stack([scorer.score(CANDIDATES[:1], [[reference]])[0] for reference in REFERENCES])
    several = scorer.score(CANDIDATES[:1], [REFERENCES])[0]
    assert np.abs(several - single[single[:, 2].argmax()]).max() < 1e-5
    assert several[2] > single[:, 2].min()


def test_items_do_not_depend_on_their_neighbours(scorer, monkeypatch):
    together = scorer.score(CANDIDATES, [REFERENCES] * len(CANDIDATES))
    monkeypatch.setattr(bertscore, "PAIRS_PER_BATCH", 3)
    alone = np.concatenate([scorer.score([candidate], [REFERENCES]) for candidate in CANDIDATES])
    assert np.abs(together - alone).max() < 1e-5


def test_each_distinct_text_is_embedded_once(scorer, monkeypatch):
    given: list[int] = []
    original = encoder.TextEncoder.token_vectors

    def counted(self, ids):
        given.append(len(ids))
        return original(self, ids)

    monkeypatch.setattr(encoder.TextEncoder, "token_vectors", counted)
    scorer.score(["drums", "drums ", "rain"], [["drums", "piano"], ["piano"], ["rain", " drums"]])
    assert sum(given) == 3


@pytest.mark.parametrize("empty", ["", "   ", "\n"])
def test_an_empty_text_scores_zero(scorer, empty):
    assert scorer.score([empty, "rain"], [["rain"], [empty]]).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_space_around_a_text_does_not_matter(scorer):
    spaced = scorer.score([f"  {text}\n" for text in CANDIDATES], ones(REFERENCES))
    assert np.abs(spaced - scorer.score(CANDIDATES, ones(REFERENCES))).max() < 1e-6


def test_long_and_odd_texts_are_cut_and_scored(scorer):
    texts = ["drums " * 2_000_000, "\ud800", "<s></s><pad>", "語🎵"]
    assert np.isfinite(scorer.score(texts, ones(texts[::-1]))).all()
    assert np.abs(scorer.score(["ab" * 32], [["ab" * 40]]) - 1).max() < 1e-5  # equal as far as 64 tokens reach


def test_no_items_and_no_references(scorer):
    assert scorer.score([], []).shape == (0, 3)
    with pytest.raises(InputError, match="item 1 has no reference"):
        scorer.score(["a", "b"], [["a"], []])


def test_the_name_holds_model_revision_and_layer(scorer, folder):
    name, _, layer = scorer.name.partition(" ")
    assert name.startswith(f"{folder.name}@")
    assert layer == "layer 3"


@pytest.mark.parametrize("layer", [0, LAYERS + 1])
def test_a_layer_that_is_not_there(folder, layer):
    with pytest.raises(InputError, match=f"layers 1 to {LAYERS}"):
        load_bert_scorer(str(folder), layer)


def test_a_hub_that_can_not_be_reached(tmp_path, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)  # read from the environment once, at import
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    with pytest.raises(InputError, match=r"'roberta-large'.*hf download roberta-large --revision 722cf37b") as caught:
        load_bert_scorer()
    assert "minilm" not in str(caught.value)


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_a_package_that_is_not_installed(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"cmi\[bertscore\]"):
        load_bert_scorer()


def test_captions_report_recall_under_paper_and_f1_under_strict(scorer):
    tools = Tools()
    tools.thesaurus, tools.bert_scorer = InputError("not needed here"), scorer
    items = [Item("", c, r, str(i)) for i, (c, r) in enumerate(zip(CANDIDATES, REFERENCES, strict=True))]
    expected = scorer.score(CANDIDATES, ones(REFERENCES)).mean(axis=0)
    for protocol, column in (("paper", 1), ("strict", 2)):
        evaluation = captioning.evaluate(items, Setting("SDD", protocol, "m", tools))
        place = [metric.name for metric in evaluation.metrics].index("BS.")
        assert evaluation.values()[0, place] == pytest.approx(100 * expected[column], rel=1e-6)
