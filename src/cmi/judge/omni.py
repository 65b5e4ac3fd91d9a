"""A transformers model that hears, in this process, as a judge: Qwen2-Audio, Qwen2.5-Omni, Qwen3-Omni and their like.

It gets the same messages as a chat model, decodes greedily, and one pair at a time, so a verdict depends on no other.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError, MissingExtra
from cmi._util.hub import find_model
from cmi._util.pretrained import SAFE, load_pretrained
from cmi.audio import Waveform, load, resample
from cmi.judge.messages import request_for
from cmi.judge.parse import parse
from cmi.judge.prompt_file import Role
from cmi.judge.verdict import Verdict
from cmi.llm.message import Message, Sound, Text
from cmi.take import Audio, Pair

SECONDS = 30.0  # of each recording: what the encoders of these models take at once
ANSWER_TOKENS = 400


def load_omni(name: str, role: Role, device: str = "auto") -> "OmniJudge":
    """The model of a folder or a hub id; its own code is not run."""
    try:
        import torch
        from transformers import AutoModelForMultimodalLM, AutoProcessor
    except ModuleNotFoundError as error:
        raise MissingExtra("a transformers model as a judge", "reward") from error
    folder, full_name = find_model(name, None, "a transformers model that hears")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    model = load_pretrained(AutoModelForMultimodalLM, folder, dtype=dtype)
    try:
        processor = AutoProcessor.from_pretrained(folder, **SAFE)
    except (OSError, ValueError, LookupError, ImportError) as error:
        raise InputError(f"{name}: its processor cannot be loaded ({' '.join(str(error).split())[:300]})") from error
    return OmniJudge(full_name, model.to(device), processor, role)


class OmniJudge:
    """A model and its processor, in a role."""

    def __init__(self, name: str, model: Any, processor: Any, role: Role, answer_tokens: int = ANSWER_TOKENS) -> None:
        self.name = name
        self.role = role
        self._model = getattr(model, "thinker", model).eval()  # an omni model's talker would speak the verdict aloud
        self._processor = processor
        self._answer_tokens = answer_tokens

    def judge(self, pairs: Sequence[Pair]) -> list[Verdict]:
        return [parse(self.answer(pair), self.role) for pair in pairs]

    def answer(self, pair: Pair) -> str:
        """What the model says of a pair."""
        import torch

        messages = request_for("", pair, self.role).messages
        sounds = [part.audio for message in messages for part in message.parts if isinstance(part, Sound)]
        rate = self._processor.feature_extractor.sampling_rate
        text = self.words(messages)
        heard = [_samples(sound, rate) for sound in sounds]
        inputs = self._processor(text=text, audio=heard, sampling_rate=rate, return_tensors="pt").to(self._model.device)
        inputs = {
            key: value.to(self._model.dtype) if torch.is_floating_point(value) else value
            for key, value in inputs.items()
        }
        with torch.inference_mode():
            tokens = self._model.generate(**inputs, do_sample=False, max_new_tokens=self._answer_tokens)
        said = tokens[:, inputs["input_ids"].shape[1] :]
        return str(self._processor.batch_decode(said, skip_special_tokens=True)[0])

    def words(self, messages: Sequence[Message]) -> str:
        """The messages as the model's own template writes them; of sounds it has the places."""
        plain = [_plain(message) for message in messages]
        return str(self._processor.apply_chat_template(plain, add_generation_prompt=True, tokenize=False))


def _plain(message: Message) -> dict[str, Any]:
    content = [
        {"type": "text", "text": _without_controls(part.text)} if isinstance(part, Text) else {"type": "audio"}
        for part in message.parts
    ]
    alone = len(content) == 1 and content[0]["type"] == "text"
    return {"role": message.role, "content": content[0]["text"] if alone else content}


def _without_controls(text: str) -> str:
    """A text that can't pass for the model's control tokens, such as <|im_end|>."""
    return text.replace("<|", "< |").replace("|>", "| >")


def _samples(audio: Audio, rate: int) -> Any:
    sound = load(audio, rate, SECONDS) if isinstance(audio, Path) else resample(audio, rate)
    return Waveform(sound.samples[: round(SECONDS * rate)], rate).samples
