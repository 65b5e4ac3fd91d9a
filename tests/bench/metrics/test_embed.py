import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from cmi._util.cache import VectorCache  # noqa: E402
from cmi._util.errors import InputError, MissingExtra  # noqa: E402
from cmi.bench.metrics import embed, encoder  # noqa: E402
from cmi.bench.metrics.embed import distinct_texts, load_embedder  # noqa: E402
from cmi.bench.metrics.encoder import clean, token_batches  # noqa: E402

WORDS = "slow sad piano with rain and drums over a heavy beat while one woman sings".split()
SENTENCES = [" ".join(WORDS[start:end]) for end in range(1, len(WORDS) + 1) for start in range(0, end, 3)]


@pytest.fixture(scope="module")
def minilm() -> embed.TextEmbedder:
    pytest.importorskip(embed.MINILM_PACKAGE)
    return load_embedder("minilm", None)


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT with two random layers, a word per token, and room for 32 tokens."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])}
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        initializer_range=0.5,  # large enough for neighbours to change a token's vector visibly
    )
    transformers.BertModel(config).save_pretrained(folder)
    transformers.BertTokenizer(vocab=vocabulary).save_pretrained(folder)
    return folder


@pytest.fixture
def own_folder(tiny_folder: Path, tmp_path: Path) -> Path:
    """A copy of the tiny model that a test may change."""
    return Path(shutil.copytree(tiny_folder, tmp_path / "own"))


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts the model was given, call by call."""
    calls: list[int] = []
    original = encoder.TextEncoder.token_vectors

    def counted(self, ids):
        calls.append(len(ids))
        return original(self, ids)

    monkeypatch.setattr(encoder.TextEncoder, "token_vectors", counted)
    return calls


def write_json(path: Path, content: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content))


# MiniLM, for real


def test_minilm_knows_what_music_words_mean(minilm):
    vocal, woman, techno = minilm.encode(["female vocal", "woman singing", "techno drum machine"])
    assert vocal @ woman > vocal @ techno + 0.2


def test_minilm_reads_as_its_own_files_say(minilm):
    assert minilm.name == "minilm@0.1.0"
    assert minilm.dimension == 384
    assert (
        minilm.recipe == embed._stated_recipe(minilm.folder, minilm.encoder) == embed.EmbedderRecipe("mean", 256, 384)
    )


def test_minilm_alone_and_in_a_batch_agree(minilm):
    texts = ["", "piano", "a long calm ballad " * 30, "techno, 140 bpm", "\ud800 lone", "x" * 300]
    together = minilm.encode(texts)
    alone = np.concatenate([minilm.encode([text]) for text in texts])
    assert np.abs(together - alone).max() < 1e-5
    assert np.abs(np.linalg.norm(together, axis=1) - 1).max() < 1e-5


def test_minilm_reads_256_tokens_and_no_further(minilm):
    head = "word " * 254
    cut, longer, shorter = minilm.encode([head, head + "piano", "word " * 253])
    assert np.abs(cut - longer).max() < 1e-6
    assert np.abs(cut - shorter).max() > 1e-5


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", ["a", "a ", "\u0301", "[CLS]", "\n", "語"])
def test_a_hostile_answer_of_ten_megabytes_does_not_hang(minilm, unit):
    assert np.isfinite(minilm.encode([unit * (10_000_000 // len(unit))])).all()


# Encoding


def test_padding_changes_no_vector(tiny_folder):
    embedder = load_embedder(str(tiny_folder), None)
    together = embedder.encode(SENTENCES)
    alone = np.concatenate([embedder.encode([text]) for text in SENTENCES])
    assert np.abs(together - alone).max() < 1e-5
    assert np.abs(embedder.encode(SENTENCES[::-1])[::-1] - together).max() < 1e-5


def test_a_tokenizer_that_pads_on_the_left_changes_no_vector(tiny_folder, own_folder):
    settings = json.loads((own_folder / "tokenizer_config.json").read_text())
    write_json(own_folder / "tokenizer_config.json", {**settings, "padding_side": "left"})
    expected = load_embedder(str(tiny_folder), None).encode(SENTENCES)
    assert np.abs(load_embedder(str(own_folder), None).encode(SENTENCES) - expected).max() < 1e-6


def test_mean_pooling_is_the_mean_over_all_tokens(tiny_folder):
    model = transformers.BertModel.from_pretrained(tiny_folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_folder)
    with torch.inference_mode():
        mean = model(**tokenizer("slow sad piano", return_tensors="pt")).last_hidden_state[0].mean(dim=0).numpy()
    found = load_embedder(str(tiny_folder), None).encode(["rain and drums over a heavy beat", "slow sad piano"])[1]
    assert np.abs(found - mean / np.linalg.norm(mean)).max() < 1e-5


def test_each_distinct_text_is_encoded_once_and_order_is_kept(tiny_folder, batches):
    embedder = load_embedder(str(tiny_folder), None)
    vectors = embedder.encode(["rain", "slow piano", "rain", "rain"])
    assert sum(batches) == 2
    assert np.array_equal(vectors[0], vectors[2])
    assert np.abs(vectors[1] - embedder.encode(["slow piano"])[0]).max() < 1e-5


def test_no_texts_give_no_vectors(tiny_folder):
    assert load_embedder(str(tiny_folder), None).encode([]).shape == (0, 16)


def test_a_full_cache_needs_no_model(tmp_path, monkeypatch):
    with VectorCache(tmp_path) as cache:
        first = load_embedder("minilm", cache).encode(["rain", "drums"])
        monkeypatch.setattr(embed, "load_encoder", lambda folder: pytest.fail("loaded"))
        assert np.array_equal(load_embedder("minilm", cache).encode(["drums", "rain"]), first[::-1])


def test_progress_counts_each_distinct_text_once(tiny_folder, tmp_path):
    with VectorCache(tmp_path) as cache:
        embedder = load_embedder(str(tiny_folder), cache)
        embedder.encode(SENTENCES[:5])
        steps: list[int] = []
        embedder.encode(SENTENCES * 2, steps.append)
    assert sum(steps) == len(set(SENTENCES))


@given(st.lists(st.text(st.characters(codec=None), max_size=20)))
def test_distinct_texts_lead_back_to_every_text(texts):
    indices, distinct = distinct_texts(texts)
    assert [distinct[i] for i in indices] == [clean(text) for text in texts]
    assert len(set(distinct)) == len(distinct)


def test_clean_cuts_and_replaces_lone_surrogates():
    assert clean("a\ud800b\udfff") == "a\ufffdb\ufffd"
    assert clean("語" * 20_001) == "語" * 20_000
    assert clean("🎵") == "🎵"


@given(st.lists(st.integers(1, 60)), st.integers(1, 200))
def test_batches_keep_to_the_budget_and_miss_nothing(lengths, budget):
    batches = list(token_batches(lengths, budget))
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    assert all(len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= budget for batch in batches)


# The cache


def test_what_is_cached_is_not_encoded_again(tiny_folder, tmp_path, batches):
    with VectorCache(tmp_path) as cache:
        first = load_embedder(str(tiny_folder), cache).encode(SENTENCES)
        encoded = sum(batches)
        second = load_embedder(str(tiny_folder), cache).encode([*SENTENCES[::-1], "woman rain"])
    assert encoded == len(set(SENTENCES))
    assert batches[-1] == 1
    assert sum(batches) == encoded + 1
    assert np.array_equal(second[:-1][::-1], first)


def test_a_stopped_run_goes_on_where_it_stopped(tiny_folder, tmp_path, batches, monkeypatch):
    whole = load_embedder(str(tiny_folder), None).encode(SENTENCES)
    small_batches = embed.token_batches
    monkeypatch.setattr(embed, "token_batches", lambda lengths: small_batches(lengths, 32))
    batches.clear()
    steps: list[int] = []

    def stop_after_three(done: int) -> None:
        steps.append(done)
        if len(steps) == 3:
            raise KeyboardInterrupt

    with VectorCache(tmp_path) as cache:
        with pytest.raises(KeyboardInterrupt):
            load_embedder(str(tiny_folder), cache).encode(SENTENCES, stop_after_three)
        stopped_at = sum(batches)
        assert 0 < stopped_at < len(set(SENTENCES))
        resumed = load_embedder(str(tiny_folder), cache).encode(SENTENCES)
    assert sum(batches) == len(set(SENTENCES))
    assert np.abs(resumed - whole).max() < 1e-5


def test_poolings_and_lengths_do_not_share_vectors(tiny_folder, tmp_path):
    with VectorCache(tmp_path) as cache:
        mean = load_embedder(str(tiny_folder), cache)
        first_token = replace(mean, recipe=embed.EmbedderRecipe("cls", 32, 16))
        short = replace(mean, recipe=embed.EmbedderRecipe("mean", 4, 16))
        vectors = [embedder.encode(["slow sad piano"]) for embedder in (mean, first_token, short)]
    assert np.abs(vectors[0] - vectors[1]).max() > 1e-3
    assert np.abs(vectors[0] - vectors[2]).max() > 1e-3


# Folders and what their files say


def test_a_folder_is_named_by_its_content(tiny_folder, own_folder):
    name = load_embedder(str(own_folder), None).name
    assert name.startswith("own@")
    assert name.partition("@")[2] == load_embedder(str(tiny_folder), None).name.partition("@")[2]
    write_json(own_folder / "sentence_bert_config.json", {"max_seq_length": 8})
    assert load_embedder(str(own_folder), None).name != name


@pytest.mark.parametrize(
    ("stated", "pooling"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False, "include_prompt": True}, "cls"),
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, "mean"),
        ({"pooling_mode": "cls", "include_prompt": True}, "cls"),
        ({"pooling_mode": ["mean"]}, "mean"),
        (None, "mean"),
    ],
)
def test_pooling_is_what_the_folder_says(own_folder, stated, pooling):
    if stated is not None:
        write_json(own_folder / "1_Pooling" / "config.json", stated)
    assert load_embedder(str(own_folder), None).recipe.pooling == pooling


def test_cls_pooling_is_the_first_token(own_folder):
    write_json(own_folder / "1_Pooling" / "config.json", {"pooling_mode_cls_token": True})
    model = transformers.BertModel.from_pretrained(own_folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(own_folder)
    with torch.inference_mode():
        first = model(**tokenizer("slow sad piano", return_tensors="pt")).last_hidden_state[0, 0].numpy()
    found = load_embedder(str(own_folder), None).encode(["slow sad piano"])[0]
    assert np.abs(found - first / np.linalg.norm(first)).max() < 1e-5


@pytest.mark.parametrize("stated", [{"pooling_mode_max_tokens": True}, {"pooling_mode": ["cls", "mean"]}, {}])
def test_a_pooling_that_is_not_known_is_refused(own_folder, stated):
    write_json(own_folder / "1_Pooling" / "config.json", stated)
    with pytest.raises(InputError, match="pooling"):
        load_embedder(str(own_folder), None)


def test_a_further_layer_on_top_is_refused(own_folder):
    write_json(own_folder / "modules.json", [{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}])
    with pytest.raises(InputError, match="Dense"):
        load_embedder(str(own_folder), None)


@pytest.mark.parametrize(("stated", "max_tokens"), [(None, 32), (8, 8), (10_000, 32)])
def test_length_is_what_the_folder_says_within_what_the_model_can(own_folder, stated, max_tokens):
    write_json(own_folder / "sentence_bert_config.json", {"max_seq_length": stated})
    embedder = load_embedder(str(own_folder), None)
    assert embedder.recipe.max_tokens == max_tokens
    assert np.isfinite(embedder.encode(["piano " * 100])).all()


def test_positions_that_roberta_leaves_unused_are_not_counted(tmp_path):
    config = transformers.RobertaConfig(
        vocab_size=10,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
        max_position_embeddings=34,
    )
    assert encoder._position_limit(transformers.RobertaModel(config)) == 32


# What can't be loaded


@pytest.fixture
def no_hub(tmp_path, monkeypatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)  # read from the environment once, at import
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))


@pytest.mark.parametrize("name", ["bge-large-en-v1.5", "someone/some-encoder"])
def test_a_hub_that_can_not_be_reached(no_hub, name):
    with pytest.raises(InputError, match=rf"{name}.*hf download.*--embedder minilm") as caught:
        load_embedder(name, None)
    assert "\n" not in str(caught.value)


def test_a_hub_model_that_was_downloaded_before_is_named_by_its_commit(no_hub, tiny_folder, tmp_path):
    commit = "0123456789abcdef0123456789abcdef01234567"
    stored = tmp_path / "hub" / "models--someone--some-encoder"
    shutil.copytree(tiny_folder, stored / "snapshots" / commit)
    (stored / "refs").mkdir()
    (stored / "refs" / "main").write_text(commit)
    embedder = load_embedder("someone/some-encoder", None)
    assert embedder.name == "someone/some-encoder@0123456789ab"
    assert np.array_equal(embedder.encode(["rain"]), load_embedder(str(tiny_folder), None).encode(["rain"]))


def test_bge_reads_the_first_token_whatever_files_came_along(no_hub, tiny_folder, tmp_path):
    stored = tmp_path / "hub" / "models--BAAI--bge-large-en-v1.5" / "snapshots" / embed.BGE_LARGE_REVISION
    shutil.copytree(tiny_folder, stored)
    embedder = load_embedder("bge-large-en-v1.5", None)
    assert embedder.name == "BAAI/bge-large-en-v1.5@d4aa6901d3a4"
    assert embedder.recipe.pooling == "cls"


def test_a_path_that_is_not_there(no_hub):
    with pytest.raises(InputError, match="neither a folder here nor a hub id"):
        load_embedder("./models/absent", None)


@pytest.mark.parametrize("package", ["torch", "transformers", embed.MINILM_PACKAGE])
def test_a_package_that_is_not_installed(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"cmi\[embed\]"):
        load_embedder("minilm", None)


def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(InputError, match=r"config.json: No such file or directory; expected the folder of a model"):
        load_embedder(str(tmp_path), None)


def test_pickled_weights_are_not_read(own_folder):
    weights = own_folder / "model.safetensors"
    torch.save(transformers.BertModel.from_pretrained(own_folder).state_dict(), own_folder / "pytorch_model.bin")
    weights.unlink()
    with pytest.raises(InputError, match=r"no .safetensors file in it"):
        load_embedder(str(own_folder), None)


def test_damaged_weights_are_not_read(own_folder):
    weights = own_folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(InputError, match="its weights cannot be read"):
        load_embedder(str(own_folder), None)


def test_missing_weights_are_not_made_up(own_folder):
    config = json.loads((own_folder / "config.json").read_text())
    write_json(own_folder / "config.json", {**config, "num_hidden_layers": 3})
    with pytest.raises(InputError, match=r"missing are encoder\.layer\.2"):
        load_embedder(str(own_folder), None)


def test_a_missing_vocabulary_is_not_made_up(own_folder):
    (own_folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match="lacks the vocabulary"):
        load_embedder(str(own_folder), None)


def test_code_that_comes_with_a_model_is_not_run(own_folder):
    config = json.loads((own_folder / "config.json").read_text())
    (own_folder / "evil.py").write_text("raise SystemExit('remote code ran')\n")
    remote = {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"}
    write_json(own_folder / "config.json", {**config, "model_type": "evil", "auto_map": remote})
    with pytest.raises(InputError, match="not a model that transformers can load"):
        load_embedder(str(own_folder), None)


def test_loading_is_quiet_and_leaves_settings_alone(tiny_folder, capfd):
    from transformers.utils import logging

    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    load_embedder(str(tiny_folder), None)
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before
    assert capfd.readouterr() == ("", "")
