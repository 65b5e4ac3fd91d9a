"""Audio language models in this process, with transformers: Qwen2-Audio, Qwen2.5-Omni, Qwen3-Omni, Audio Flamingo 3,
Music Flamingo. They run in batches, in bfloat16 on a GPU and float32 elsewhere, greedy unless a temperature is given.

Of the Omni models only the thinker is loaded, which writes the text. Audio tokens are inserted here, not by the models'
processors: those of the Omni models need torchvision, and those of the Flamingos refuse several recordings.
"""

import json
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cmi._util.device import choose_device
from cmi._util.errors import InputError, reason_of
from cmi._util.hub import find_model, quiet_transformers, require_packages
from cmi._util.pretrained import SAFE, load_pretrained
from cmi.llm.message import (
    UNFINISHED,
    Accept,
    Answer,
    Failure,
    LoadedAudio,
    Message,
    Request,
    Result,
    Text,
    checked,
    load_sound,
    separate_reasoning,
)

if TYPE_CHECKING:
    import torch

RATE = 16_000
BATCH = 8
MAX_TOKENS = 512
SYSTEM = "You are a helpful assistant."


def _whisper_tokens(frames: int) -> int:
    """Tokens per sound: a convolution halves the frames, a pooling layer halves them again."""
    return ((frames - 1) // 2 + 1 - 2) // 2 + 1


def _omni3_tokens(frames: int) -> int:
    """13 tokens per 100 frames; three convolutions halve the remainder."""
    left = frames % 100
    for _ in range(3):
        left = (left - 1) // 2 + 1
    return left + frames // 100 * 13


@dataclass(frozen=True)
class Family:
    """A model architecture.

    model_type     prefix of the model type in config.json
    seconds        longest recording that it accepts; the rest is cut off
    placeholder    the audio token, repeated between `begin` and `end`
    mask           name of the input that masks padding
    is_windowed    its encoder takes windows of 30 s, each padded to full length
    """

    hub_id: str
    model_class: str
    model_type: str
    seconds: float
    placeholder: str
    begin: str = ""
    end: str = ""
    mask: str = "feature_attention_mask"
    is_windowed: bool = False
    has_template: bool = True
    tokens: Callable[[int], int] = _whisper_tokens


FAMILIES = {
    "qwen2-audio": Family(
        "Qwen/Qwen2-Audio-7B-Instruct", "Qwen2AudioForConditionalGeneration", "qwen2_audio", 30.0, "<|AUDIO|>",
        is_windowed=True,
    ),
    "qwen2.5-omni": Family(
        "Qwen/Qwen2.5-Omni-7B", "Qwen2_5OmniThinkerForConditionalGeneration", "qwen2_5_omni", 300.0, "<|AUDIO|>",
        "<|audio_bos|>", "<|audio_eos|>", has_template=False,
    ),
    "qwen3-omni": Family(
        "Qwen/Qwen3-Omni-30B-A3B-Instruct", "Qwen3OmniMoeThinkerForConditionalGeneration", "qwen3_omni_moe", 600.0,
        "<|audio_pad|>", "<|audio_start|>", "<|audio_end|>", has_template=False, tokens=_omni3_tokens,
    ),
    "audio-flamingo-3": Family(
        "nvidia/audio-flamingo-3-hf", "AudioFlamingo3ForConditionalGeneration", "audioflamingo3", 600.0, "<sound>",
        mask="input_features_mask", is_windowed=True,
    ),
    "music-flamingo": Family(
        "nvidia/music-flamingo-2601-hf", "MusicFlamingoForConditionalGeneration", "musicflamingo", 1200.0, "<sound>",
        "<|sound_bos|>", "<|sound_eos|>", mask="input_features_mask", is_windowed=True,
    ),
}  # fmt: skip


def load_model(
    name: str,
    family: str = "",
    revision: str | None = None,
    device: str = "auto",
    max_tokens: int = MAX_TOKENS,
    temperature: float = 0.0,
    seconds: float | None = None,
    batch: int = BATCH,
) -> "LocalModel":
    """Load a model by folder, hub id or family name. Code from the model's repository is never run.

    `seconds` limits how much of a recording the model gets.
    """
    require_packages("a language model in this process", "reward", "torch", "transformers")
    import torch
    import transformers

    place = FAMILIES[name].hub_id if name in FAMILIES else name
    folder, full_name = find_model(place, revision, "language model")
    kind = family or _family_of(folder, full_name)
    found = FAMILIES[kind]
    if not hasattr(transformers, found.model_class):
        raise InputError(f"{kind} needs a newer transformers than {transformers.__version__}")
    where = choose_device(device)
    dtype = torch.bfloat16 if where.type == "cuda" else torch.float32
    try:
        model = load_pretrained(getattr(transformers, found.model_class), folder, dtype=dtype)
        with quiet_transformers():
            encoder = PromptEncoder(found, folder)
    except (OSError, ValueError, KeyError, ImportError, InputError) as error:
        raise InputError(f"{full_name}: cannot be loaded as {kind} ({reason_of(error)})") from error
    loaded = LocalModel(full_name, model.to(where).eval(), encoder, max_tokens, temperature)
    loaded.batch, loaded.seconds = batch, min(found.seconds, seconds or found.seconds)
    return loaded


def _family_of(folder: Path, full_name: str) -> str:
    try:
        model_type = str(json.loads((folder / "config.json").read_text(encoding="utf-8"))["model_type"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{full_name}: no config.json that says which model it is") from error
    for kind, family in FAMILIES.items():
        if model_type.startswith(family.model_type):
            return kind
    raise InputError(f"{full_name}: a model of type {model_type!r}, expected one of {', '.join(FAMILIES)}")


class InProcessModel(ABC):
    """Any model in this process, asked in batches. If a request fails, the others are still answered."""

    rate = RATE
    seconds: float
    batch = 1

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def generate(self, requests: Sequence[Request], sounds: Sequence[Sequence[LoadedAudio]]) -> list[str]:
        """Return a text for each request."""

    def ask_all(self, requests: Iterable[Request], accept: Accept | None = None) -> Generator[Result, None, None]:
        listed = list(requests)
        for start in range(0, len(listed), self.batch):
            loaded = []
            for request in listed[start : start + self.batch]:
                try:
                    sounds = [load_sound(sound, self.rate, self.seconds) for sound in request.sounds]
                    loaded.append((request, sounds))
                except InputError as error:
                    yield request.key, Failure(str(error))
            for (request, sounds), text in zip(loaded, self._texts(loaded), strict=True):
                yield request.key, text if isinstance(text, Failure) else checked(_answer(text, sounds), accept)

    def _texts(self, loaded: Sequence[tuple[Request, list[LoadedAudio]]]) -> Sequence[str | Failure]:
        """Generate; if a batch fails, for example out of memory, ask each request alone."""
        try:
            return self.generate(*zip(*loaded, strict=True)) if loaded else []
        except InputError as error:
            failure = Failure(str(error))
        except Exception as error:  # a model may fail in any way
            failure = Failure(f"{type(error).__name__}: {reason_of(error)}")
        return [failure] if len(loaded) == 1 else [text for one in loaded for text in self._texts([one])]


def _answer(text: str, sounds: Sequence[LoadedAudio]) -> Answer:
    answer, reasoning = separate_reasoning(text.strip())
    why = UNFINISHED if reasoning and not answer else ""
    return Answer(answer, why, reasoning=reasoning, heard=tuple(sound.sent for sound in sounds))


class LocalModel(InProcessModel):
    """An audio language model of a known family, loaded with transformers; made by `load_model`."""

    def __init__(self, name: str, model: Any, encoder: "PromptEncoder", max_tokens: int, temperature: float) -> None:
        super().__init__(name)
        self._model, self._encoder = model, encoder
        self._max_tokens, self._temperature = max_tokens, temperature

    @property
    def full_name(self) -> str:
        """The name with all settings that answers depend on."""
        dtype = str(self._model.dtype).removeprefix("torch.")
        how = f"temperature {self._temperature:g}" if self._temperature else "greedy"
        return f"{self.name} {dtype} {how}, at most {self._max_tokens} tokens"

    def generate(self, requests: Sequence[Request], sounds: Sequence[Sequence[LoadedAudio]]) -> list[str]:
        import torch

        encoded = self._encoder.encode(requests, sounds)
        inputs = {name: self._moved(value) for name, value in encoded.items()}
        how: dict[str, Any] = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        if self._temperature:
            torch.manual_seed(zlib.crc32(requests[0].key.encode()))
            how = {"do_sample": True, "temperature": self._temperature}
        with torch.inference_mode():
            tokens = self._model.generate(**inputs, max_new_tokens=self._max_tokens, **how)
        return self._encoder.decode(tokens[:, inputs["input_ids"].shape[1] :])

    def _moved(self, value: "torch.Tensor") -> "torch.Tensor":
        dtype = self._model.dtype if value.is_floating_point() else value.dtype
        return value.to(self._model.device, dtype)


class PromptEncoder:
    """Turns requests into a model's inputs, padded on the left, and its tokens into text."""

    def __init__(self, family: Family, folder: Path) -> None:
        from transformers import AutoProcessor, AutoTokenizer, WhisperFeatureExtractor

        self._family = family
        if family.has_template:
            self._processor = AutoProcessor.from_pretrained(folder, **SAFE)
            self._tokenizer, self._extractor = self._processor.tokenizer, self._processor.feature_extractor
        else:
            self._tokenizer = AutoTokenizer.from_pretrained(folder, **SAFE)
            self._extractor = WhisperFeatureExtractor.from_pretrained(folder, **SAFE)
        self._tokenizer.padding_side = "left"

    def encode(self, requests: Sequence[Request], sounds: Sequence[Sequence[LoadedAudio]]) -> "dict[str, torch.Tensor]":
        features, counts = self._extract_features([sound for some in sounds for sound in some])
        texts = [
            self._insert_tokens(self.write(request.messages), counts, len(s))
            for request, s in zip(requests, sounds, strict=True)
        ]
        words = self._tokenizer(texts, padding=True, return_tensors="pt")
        return {**words, **features}

    def decode(self, tokens: "torch.Tensor") -> list[str]:
        return list(self._tokenizer.batch_decode(tokens, skip_special_tokens=True))

    def write(self, messages: Sequence[Message]) -> str:
        """Apply the chat template, with one placeholder per sound."""
        contents = [[self._plain(part) for part in message.parts] for message in messages]
        if self._family.has_template:
            turns = [{"role": m.role, "content": content} for m, content in zip(messages, contents, strict=True)]
            return str(self._processor.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))
        texts = ["".join(part.get("text", self._family.placeholder) for part in content) for content in contents]
        chat = [(message.role, text) for message, text in zip(messages, texts, strict=True)]
        if messages[0].role != "system":
            chat.insert(0, ("system", SYSTEM))
        written = (f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in chat)
        return "".join(written) + "<|im_start|>assistant\n"

    def _plain(self, part: Any) -> dict[str, str]:
        """Convert a message part; text cannot contain the model's control tokens, such as <|im_end|>."""
        if not isinstance(part, Text):
            return {"type": "audio", "audio": "clip.wav"}
        clean = part.text.replace("<|", "< |").replace("|>", "| >").replace("<sound>", "< sound>")
        return {"type": "text", "text": clean}

    def _insert_tokens(self, text: str, counts: list[int], sounds: int) -> str:
        """Repeat each placeholder by the token count of its sound, popped off `counts`."""
        family = self._family
        pieces = text.split(family.placeholder)
        if len(pieces) != sounds + 1:
            raise InputError(f"the model's chat template has {len(pieces) - 1} places for {sounds} recordings")
        filled = [f"{family.begin}{family.placeholder * counts.pop(0)}{family.end}" for _ in range(sounds)]
        return "".join(part for pair in zip(pieces, [*filled, ""], strict=True) for part in pair)

    def _extract_features(self, sounds: Sequence[LoadedAudio]) -> "tuple[dict[str, torch.Tensor], list[int]]":
        """Return the features of all sounds, and each one's number of tokens."""
        if not sounds:
            return {}, []
        size = self._extractor.n_samples if self._family.is_windowed else None
        windows = [_windows(sound.waveform.samples, size) for sound in sounds]
        heard = self._extractor(
            [window for some in windows for window in some],
            sampling_rate=RATE,
            padding="max_length" if size else "longest",
            truncation=bool(size),
            return_attention_mask=True,
            return_tensors="pt",
        )
        frames = iter(heard["attention_mask"].sum(-1).tolist())
        counts = [self._family.tokens(sum(next(frames) for _ in some)) for some in windows]
        return {"input_features": heard["input_features"], self._family.mask: heard["attention_mask"]}, counts


def _windows(samples: Any, size: int | None) -> list[Any]:
    if size is None:
        return [samples]
    return [samples[start : start + size] for start in range(0, len(samples), size)]
