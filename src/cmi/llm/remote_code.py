"""Models that run code from their repository: Qwen-Audio, MusiLingo. They take one recording at a time.

That code runs with your permissions, so it needs both --trust-remote-code and --revision with the full hash of the
commit that you have read (a local folder needs no revision). If a model needs an older transformers, run it as a
worker in its own environment (docs/bench-run.md).
"""

import re
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

from cmi._util.device import choose_device
from cmi._util.errors import InputError, reason_of
from cmi._util.hub import quiet_transformers, require_packages
from cmi.audio import Waveform, write_wav
from cmi.llm.local import InProcessModel
from cmi.llm.message import LoadedAudio, Request

_COMMIT = re.compile(r"[0-9a-f]{40}")


class RemoteCodeModel(InProcessModel):
    hub_id: ClassVar[str]
    auto_class: ClassVar[str]
    seconds = 30.0

    def __init__(self, source: str, revision: str | None, device: str, max_tokens: int) -> None:
        import transformers

        super().__init__(f"{source}@{revision or 'folder'}, at most {max_tokens} tokens")
        self.max_tokens = max_tokens
        self.allowed = {"trust_remote_code": True, "revision": revision}
        self.model = getattr(transformers, self.auto_class).from_pretrained(source, **self.allowed).eval()
        self.model = self.model.to(choose_device(device))

    def generate(self, requests: Sequence[Request], sounds: Sequence[Sequence[LoadedAudio]]) -> list[str]:
        import torch

        texts = []
        for request, some in zip(requests, sounds, strict=True):
            if len(some) != 1:
                raise InputError(f"{self.name} hears one recording at a time, not {len(some)}")
            with torch.inference_mode():
                texts.append(self.answer("\n\n".join(request.texts), some[0].waveform))
        return texts

    @abstractmethod
    def answer(self, question: str, sound: Waveform) -> str: ...


class QwenAudio(RemoteCodeModel):
    """Calls the repository's `chat`, which reads the clip from a file."""

    hub_id, auto_class = "Qwen/Qwen-Audio-Chat", "AutoModelForCausalLM"

    def __init__(self, source: str, revision: str | None, device: str, max_tokens: int) -> None:
        super().__init__(source, revision, device, max_tokens)
        from transformers import AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(source, **self.allowed)

    def answer(self, question: str, sound: Waveform) -> str:
        with TemporaryDirectory(prefix="cmi-clip-") as folder:
            path = Path(folder) / "clip.wav"
            write_wav(sound, path)
            query = self.tokenizer.from_list_format([{"audio": str(path)}, {"text": question}])
            response, _history = self.model.chat(self.tokenizer, query=query, history=None)
        return str(response)


class MusiLingo(RemoteCodeModel):
    """Embeds sound and instruction with the repository's methods; its Llama then decodes greedily."""

    hub_id, auto_class = "m-a-p/MusiLingo-long-v1", "AutoModel"
    rate = 24_000

    def answer(self, question: str, sound: Waveform) -> str:
        import torch

        model, words = self.model, self.model.llama_tokenizer
        device = next(model.parameters()).device
        samples = torch.from_numpy(sound.samples)
        samples = (samples - samples.mean()) / (samples.var(correction=0) + 1e-7).sqrt()  # as MERT was trained
        embedded, mask = model.encode_audio(samples[None].to(device))
        prompt = model.prompt_template.format(f"<Audio><AudioHere></Audio> {question}")
        embedded, _mask = model.instruction_prompt_wrap(embedded, mask, [prompt])
        first = torch.full((1, 1), words.bos_token_id, dtype=torch.long, device=device)
        embedded = torch.cat([model.llama_model.get_input_embeddings()(first), embedded], dim=1)
        tokens = model.llama_model.generate(
            inputs_embeds=embedded, max_new_tokens=self.max_tokens, do_sample=False, num_beams=1
        )
        text = str(words.decode(tokens[0], skip_special_tokens=True))
        return text.split("###")[0].rpartition("Assistant:")[2].strip()


REMOTE_CODE: dict[str, type[RemoteCodeModel]] = {"qwen-audio": QwenAudio, "musilingo": MusiLingo}


def load_remote_code(
    kind: str, source: str, revision: str | None, is_trusted: bool, device: str = "auto", max_tokens: int = 512
) -> RemoteCodeModel:
    """Load a model from a folder or hub id ('' is its authors'); InputError unless trusted and pinned."""
    require_packages(f"listener {kind}", "reward", "torch", "transformers")
    source = source or REMOTE_CODE[kind].hub_id
    if not is_trusted:
        raise InputError(f"{kind} runs code from {source}: read it, then allow it with --trust-remote-code")
    if not Path(source).is_dir() and not _COMMIT.fullmatch(revision or ""):
        raise InputError(f"{kind}: pin the code you read with --revision and the 40 digits of its commit")
    try:
        with quiet_transformers():
            return REMOTE_CODE[kind](source, revision, device, max_tokens)
    except Exception as error:  # foreign code may raise anything
        raise InputError(
            f"{source}: its code does not run here ({type(error).__name__}: {reason_of(error)}); run it as a worker "
            "in the environment it was written for (docs/bench-run.md)"
        ) from error
