"""Models whose repository brings the code that runs them: Qwen-Audio, MusiLingo.

That code runs here with your rights. So it takes two words of yours: --trust-remote-code, and --revision with the full
hash of the commit that you have read (a folder of yours is a revision of its own). Where a model wants an older
transformers than this one, run it as a worker in an environment of its own (docs/bench-run.md).
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from cmi._util.errors import InputError
from cmi._util.hub import quiet_transformers
from cmi.audio import Waveform
from cmi.bench.ask import Answer, Question
from cmi.bench.ask.ask import failure
from cmi.bench.ask.clips import clip, write_wav
from cmi.bench.ask.registry import Options

_COMMIT = re.compile(r"[0-9a-f]{40}")


class Voice(ABC):
    """How a kind of model is loaded and asked."""

    hub_id: str
    rate: int
    seconds: float
    auto_class: str

    def __init__(self, source: str, max_tokens: int, allowed: dict[str, Any]) -> None:
        import transformers

        self.max_tokens = max_tokens
        self.model = getattr(transformers, self.auto_class).from_pretrained(source, **allowed).eval()
        if torch.cuda.is_available():
            self.model = self.model.to("cuda")

    @abstractmethod
    def ask(self, question: str, heard: Waveform) -> str: ...


class QwenAudio(Voice):
    """By the repository's own `chat`, which reads the clip from a file."""

    hub_id, rate, seconds, auto_class = "Qwen/Qwen-Audio-Chat", 16_000, 30.0, "AutoModelForCausalLM"

    def __init__(self, source: str, max_tokens: int, allowed: dict[str, Any]) -> None:
        super().__init__(source, max_tokens, allowed)
        from transformers import AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(source, **allowed)

    def ask(self, question: str, heard: Waveform) -> str:
        with TemporaryDirectory(prefix="cmi-clip-") as folder:
            path = Path(folder) / "clip.wav"
            write_wav(heard, path)
            query = self.tokenizer.from_list_format([{"audio": str(path)}, {"text": question}])
            response, _history = self.model.chat(self.tokenizer, query=query, history=None)
        return str(response)


class MusiLingo(Voice):
    """Sound and instruction are embedded by the repository's methods, its Llama writes on; greedily here."""

    hub_id, rate, seconds, auto_class = "m-a-p/MusiLingo-long-v1", 24_000, 30.0, "AutoModel"

    def ask(self, question: str, heard: Waveform) -> str:
        model, words = self.model, self.model.llama_tokenizer
        device = next(model.parameters()).device
        samples = torch.from_numpy(heard.samples)
        samples = (samples - samples.mean()) / (samples.var(correction=0) + 1e-7).sqrt()  # as MERT was trained
        sound, mask = model.encode_audio(samples[None].to(device))
        prompt = model.prompt_template.format(f"<Audio><AudioHere></Audio> {question}")
        sound, _mask = model.instruction_prompt_wrap(sound, mask, [prompt])
        first = torch.full((1, 1), words.bos_token_id, dtype=torch.long, device=device)
        embedded = torch.cat([model.llama_model.get_input_embeddings()(first), sound], dim=1)
        tokens = model.llama_model.generate(
            inputs_embeds=embedded, max_new_tokens=self.max_tokens, do_sample=False, num_beams=1
        )
        text = str(words.decode(tokens[0], skip_special_tokens=True))
        return text.split("###")[0].rpartition("Assistant:")[2].strip()


VOICES: dict[str, type[Voice]] = {"qwen-audio": QwenAudio, "musilingo": MusiLingo}


def load_remote_code(kind: str, options: Options) -> "RemoteCodeListener":
    """InputError unless both words were said."""
    source = options.model or VOICES[kind].hub_id
    if not options.trust_remote_code:
        raise InputError(f"{kind} runs code out of {source}: read it, then allow it with --trust-remote-code")
    if not Path(source).is_dir() and not _COMMIT.fullmatch(options.revision or ""):
        raise InputError(f"{kind}: pin the code you read with --revision and the 40 digits of its commit")
    allowed: dict[str, Any] = {"trust_remote_code": True, "revision": options.revision}
    try:
        with quiet_transformers():
            voice = VOICES[kind](source, options.max_tokens, allowed)
    except Exception as error:  # it is somebody's code
        reason = " ".join(str(error).split())[:300]
        raise InputError(
            f"{source}: its code does not run here ({type(error).__name__}: {reason}); run it as a worker in the "
            "environment it was written for (docs/bench-run.md)"
        ) from error
    return RemoteCodeListener(voice, f"{source}@{options.revision or 'folder'}, at most {options.max_tokens} tokens")


class RemoteCodeListener:
    batch = 1

    def __init__(self, voice: Voice, name: str) -> None:
        self.name = name
        self._voice = voice

    @torch.inference_mode()
    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        return [self._answer_one(question) for question in questions]

    def _answer_one(self, question: Question) -> Answer:
        try:
            return self._voice.ask(question.text, clip(question, self._voice.rate, self._voice.seconds))
        except Exception as error:  # it is somebody's code
            return failure(error)
