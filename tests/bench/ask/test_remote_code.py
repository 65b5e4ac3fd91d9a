"""Models that bring their own code: tiny folders whose code has the interface of the real ones."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from cmi._util.errors import InputError
from cmi.bench.ask import Question
from cmi.bench.ask.registry import Options, load_listener
from cmi.bench.ask.run import read_data

CONFIG = """
from transformers import PretrainedConfig
class TinyConfig(PretrainedConfig):
    model_type = "tiny-{kind}"
"""
QWEN = """
import wave, torch
from transformers import PreTrainedModel
from .configuration_tiny import TinyConfig
class Tiny(PreTrainedModel):
    config_class = TinyConfig
    def __init__(self, config):
        super().__init__(config)
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.post_init()
    def forward(self): ...
    def chat(self, tokenizer, query, history):
        path, text = query.split("|")
        with wave.open(path) as clip:
            return f"{text} {clip.getnframes() / clip.getframerate():.1f} s", []
"""
TOKENIZER = """
from transformers import PreTrainedTokenizer
class TinyTokenizer(PreTrainedTokenizer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
    @property
    def vocab_size(self): return 1
    def get_vocab(self): return {"a": 0}
    def save_vocabulary(self, *a, **k): return ()
    def from_list_format(self, parts): return parts[0]["audio"] + "|" + parts[1]["text"]
"""
MUSILINGO = """
import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel
from .configuration_tiny import TinyConfig
class Words:
    bos_token_id = 1
    def decode(self, tokens, skip_special_tokens): return f"Human: x Assistant: {len(tokens)} tokens ### more"
class Tiny(PreTrainedModel):
    config_class = TinyConfig
    prompt_template = "###Human: {} ###Assistant: "
    def __init__(self, config):
        super().__init__(config)
        small = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, vocab_size=9)
        self.llama_model = LlamaForCausalLM(LlamaConfig(**small, num_key_value_heads=2, eos_token_id=None))
        self.llama_tokenizer = Words()
        self.post_init()
    def forward(self): ...
    def encode_audio(self, audio):
        assert audio.shape == (1, 24_000) and abs(float(audio.std()) - 1) < 0.01
        return torch.zeros(1, 3, 16), torch.ones(1, 3)
    def instruction_prompt_wrap(self, sound, mask, prompts):
        assert prompts[0].startswith("###Human: <Audio><AudioHere></Audio> Question 0")
        return sound, mask
"""


def _folder(folder: Path, kind: str, code: str, auto: str) -> Path:
    folder.mkdir()
    auto_map = {"AutoConfig": "configuration_tiny.TinyConfig", auto: "modeling_tiny.Tiny"}
    (folder / "config.json").write_text(json.dumps({"model_type": f"tiny-{kind}", "auto_map": auto_map}))
    tokens = {
        "tokenizer_class": "TinyTokenizer",
        "auto_map": {"AutoTokenizer": ["tokenization_tiny.TinyTokenizer", None]},
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(tokens))
    (folder / "configuration_tiny.py").write_text(CONFIG.replace("{kind}", kind))
    (folder / "modeling_tiny.py").write_text(code)
    (folder / "tokenization_tiny.py").write_text(TOKENIZER)
    return folder


@pytest.fixture
def question(small_set: Path) -> Question:
    return read_data([small_set])[0].questions[0]


def _save_weights(folder: Path, auto: str) -> None:
    import transformers

    config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=True)
    getattr(transformers, auto).from_config(config, trust_remote_code=True).save_pretrained(folder)


@pytest.mark.parametrize(
    ("kind", "code", "auto", "said"),
    [
        ("qwen-audio", QWEN, "AutoModelForCausalLM", "Question 0: which genre? 1.0 s"),
        ("musilingo", MUSILINGO, "AutoModel", "6 tokens"),
    ],
)
def test_the_models_own_code_is_asked_the_way_its_authors_do(tmp_path, monkeypatch, question, kind, code, auto, said):
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    folder = _folder(tmp_path / kind.replace("-", "_"), kind, code, auto)
    _save_weights(folder, auto)
    listener = load_listener(kind, Options(model=str(folder), trust_remote_code=True, max_tokens=6)).listener
    broken = Question("b", "?", tmp_path / "none.wav", dataset="GTZAN")
    answer, failed = listener.answer([question, broken])
    assert answer.text == said
    assert isinstance(failed, InputError)


def test_code_that_does_not_run_here_is_sent_to_a_worker(tmp_path):
    folder = _folder(tmp_path / "old", "qwen-audio", "import no_such_library", "AutoModelForCausalLM")
    with pytest.raises(InputError, match="run it as a worker"):
        load_listener("qwen-audio", Options(model=str(folder), trust_remote_code=True))
