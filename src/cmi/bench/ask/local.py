"""Audio language models in this process, by transformers: Qwen2-Audio, Qwen2.5-Omni, Qwen3-Omni, Audio Flamingo 3,
Music Flamingo. Batched, in bfloat16 on a GPU and in float32 elsewhere, greedy unless a temperature is given.

The Omni models are loaded as their thinker, which is all that writes text. Their own processor wants torchvision for
images nobody shows them; tokens for sound are put in here instead, by the lengths that the model's own encoder gives.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from cmi._util.errors import InputError
from cmi._util.hub import find_model, quiet_transformers
from cmi._util.pretrained import SAFE, load_pretrained
from cmi.audio import Waveform
from cmi.bench.ask import Answer, Question
from cmi.bench.ask.clips import clip
from cmi.bench.ask.registry import Options

RATE = 16_000
BATCH = 8
SYSTEM = "You are a helpful assistant."


@dataclass(frozen=True)
class Family:
    """A kind of model: where it is, which class it is, how many seconds it hears, and how it is prompted."""

    hub_id: str
    model_class: str
    seconds: float
    prompt: type["Prompt"]


class Prompt(ABC):
    """Turns clips and questions into a model's inputs, padded on the left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @abstractmethod
    def inputs(self, clips: Sequence[Waveform], texts: Sequence[str]) -> Mapping[str, Any]: ...

    @abstractmethod
    def read(self, tokens: Any) -> list[str]: ...


class ProcessorPrompt(Prompt):
    """By the model's own processor and chat template."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        from transformers import AutoProcessor

        self._processor = AutoProcessor.from_pretrained(folder, **SAFE)
        self._processor.tokenizer.padding_side = "left"

    def inputs(self, clips: Sequence[Waveform], texts: Sequence[str]) -> Mapping[str, Any]:
        said = [self._processor.apply_chat_template(_conversation(text), **_AS_TEXT) for text in texts]
        sounds = [sound.samples for sound in clips]
        how = {"text_kwargs": {"padding": True}, "audio_kwargs": {"sampling_rate": RATE}}  # sound has a fixed length
        return _plain(self._processor(text=said, audio=sounds, return_tensors="pt", **how))

    def read(self, tokens: Any) -> list[str]:
        return list(self._processor.tokenizer.batch_decode(tokens, skip_special_tokens=True))


_AS_TEXT: Mapping[str, Any] = {"tokenize": False, "add_generation_prompt": True}


def _conversation(text: str) -> list[dict[str, Any]]:
    content = [{"type": "audio", "audio": "clip.wav"}, {"type": "text", "text": text}]
    return [{"role": "user", "content": content}]


class OmniPrompt(Prompt):
    """Qwen2.5-Omni's: its tokenizer and feature extractor, without what is for images."""

    begin, pad, end = "<|audio_bos|>", "<|AUDIO|>", "<|audio_eos|>"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        from transformers import AutoTokenizer, WhisperFeatureExtractor

        self._tokenizer = AutoTokenizer.from_pretrained(folder, **SAFE, padding_side="left")
        self._features = WhisperFeatureExtractor.from_pretrained(folder, **SAFE)

    def inputs(self, clips: Sequence[Waveform], texts: Sequence[str]) -> Mapping[str, Any]:
        heard = self._features(
            [sound.samples for sound in clips],
            sampling_rate=RATE,
            padding="longest",
            truncation=False,
            return_attention_mask=True,
            return_tensors="pt",
        )
        mask = heard["attention_mask"]
        counts = self.tokens_of(mask.sum(-1)).tolist()
        said = [self._said(text, count) for text, count in zip(texts, counts, strict=True)]
        words = self._tokenizer(said, padding=True, return_tensors="pt")
        return {**_plain(words), "input_features": heard["input_features"], "feature_attention_mask": mask}

    def _said(self, text: str, sound_tokens: int) -> str:
        sound = f"{self.begin}{self.pad * sound_tokens}{self.end}"
        turns = (f"system\n{SYSTEM}<|im_end|>\n", f"user\n{sound}{text}<|im_end|>\n", "assistant\n")
        return "".join(f"<|im_start|>{turn}" for turn in turns)

    def tokens_of(self, frames: torch.Tensor) -> torch.Tensor:
        """How many tokens stand for so many frames: a convolution halves them, a pool does again."""
        return ((frames - 1) // 2 + 1 - 2) // 2 + 1

    def read(self, tokens: Any) -> list[str]:
        return list(self._tokenizer.batch_decode(tokens, skip_special_tokens=True))


class Omni3Prompt(OmniPrompt):
    begin, pad, end = "<|audio_start|>", "<|audio_pad|>", "<|audio_end|>"

    def tokens_of(self, frames: torch.Tensor) -> torch.Tensor:
        """13 for each 100 frames; three convolutions halve what is left."""
        left = frames % 100
        for _ in range(3):
            left = (left - 1) // 2 + 1
        return left + frames // 100 * 13


FAMILIES = {
    "qwen2-audio": Family("Qwen/Qwen2-Audio-7B-Instruct", "Qwen2AudioForConditionalGeneration", 30.0, ProcessorPrompt),
    "qwen2.5-omni": Family("Qwen/Qwen2.5-Omni-7B", "Qwen2_5OmniThinkerForConditionalGeneration", 300.0, OmniPrompt),
    "qwen3-omni": Family(
        "Qwen/Qwen3-Omni-30B-A3B-Instruct",
        "Qwen3OmniMoeThinkerForConditionalGeneration",
        600.0,
        Omni3Prompt,
    ),
    "audio-flamingo-3": Family(
        "nvidia/audio-flamingo-3-hf", "AudioFlamingo3ForConditionalGeneration", 600.0, ProcessorPrompt
    ),
    "music-flamingo": Family(
        "nvidia/music-flamingo-2601-hf", "MusicFlamingoForConditionalGeneration", 1200.0, ProcessorPrompt
    ),
}


def load_local(kind: str, options: Options) -> "LocalListener":
    """The model of that kind, from --model (a folder or a hub id) or from its authors' place on the hub."""
    family = FAMILIES[kind]
    folder, full_name = find_model(options.model or family.hub_id, options.revision, f"listener {kind}")
    device = _device(options.device)
    kind_of_number = torch.bfloat16 if device.type == "cuda" else torch.float32
    import transformers

    if not hasattr(transformers, family.model_class):
        raise InputError(f"{kind} needs a newer transformers than {transformers.__version__}")
    try:
        model = load_pretrained(getattr(transformers, family.model_class), folder, dtype=kind_of_number)
        with quiet_transformers():
            prompt = family.prompt(folder)
    except (OSError, ValueError, KeyError, ImportError, InputError) as error:
        raise InputError(f"{full_name}: can't be loaded as {kind} ({' '.join(str(error).split())[:300]})") from error
    name = f"{full_name} {str(kind_of_number).removeprefix('torch.')} {_decoding(options)}"
    return LocalListener(model.to(device).eval(), prompt, min(family.seconds, options.seconds or 1e9), options, name)


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.device(name)
    except RuntimeError as error:
        raise InputError(f"--device {name!r} is no device: auto, cpu, cuda or cuda:1") from error


def _decoding(options: Options) -> str:
    how = f"temperature {options.temperature:g}" if options.temperature else "greedy"
    return f"{how}, at most {options.max_tokens} tokens"


class LocalListener:
    def __init__(self, model: Any, prompt: Prompt, seconds: float, options: Options, name: str) -> None:
        self.name = name
        self.batch = options.batch or BATCH
        self._model, self._prompt, self._seconds, self._options = model, prompt, seconds, options

    @torch.inference_mode()
    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        heard: list[Waveform | InputError] = [self._clip(question) for question in questions]
        sounds = [sound for sound in heard if isinstance(sound, Waveform)]
        texts = [q.text for q, sound in zip(questions, heard, strict=True) if isinstance(sound, Waveform)]
        answers = iter(self._generate(sounds, texts, questions[0].trial) if sounds else [])
        return [next(answers) if isinstance(sound, Waveform) else sound for sound in heard]

    def _clip(self, question: Question) -> Waveform | InputError:
        try:
            return clip(question, RATE, self._seconds)
        except InputError as error:
            return error

    def _generate(self, sounds: list[Waveform], texts: list[str], trial: int) -> list[str]:
        inputs = {name: self._moved(value) for name, value in self._prompt.inputs(sounds, texts).items()}
        how: dict[str, Any] = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        if self._options.temperature:
            torch.manual_seed(trial)
            how = {"do_sample": True, "temperature": self._options.temperature}
        tokens = self._model.generate(**inputs, max_new_tokens=self._options.max_tokens, **how)
        return [text.strip() for text in self._prompt.read(tokens[:, inputs["input_ids"].shape[1] :])]

    def _moved(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        kind = self._model.dtype if value.is_floating_point() else value.dtype
        return value.to(self._model.device, kind)


def _plain(inputs: Any) -> dict[str, Any]:
    """A batch without what processors count for themselves."""
    return {name: value for name, value in inputs.items() if name != "num_audio_tokens"}
