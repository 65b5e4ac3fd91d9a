"""Shared by all baselines: load audio, run a model on windows, and score takes by embeddings.

A call of the model has windows of one recording only, so that scores do not depend on the other takes.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor

from cmi import audio
from cmi._util.errors import InputError
from cmi.take import Audio, Prompt, Score, Take

AT_ONCE = 16  # windows in a call

Key = TypeVar("Key")
Value = TypeVar("Value")


def load_audio(sound: Audio, rate: int, seconds: float | None = None) -> Tensor:
    """Load a recording (n,) at `rate` hertz, the first `seconds` if given; InputError if it is silent."""
    if isinstance(sound, Path):
        heard = audio.load(sound, rate, seconds)
        audio.require_sound(heard, sound)
    else:
        heard = audio.resample(sound, rate)
        audio.require_sound(heard, "a waveform in memory")
    # A copy, because kernels round differently on numpy's unaligned memory.
    return torch.tensor(heard.samples if seconds is None else heard.samples[: round(seconds * rate)])


def apply_in_batches(call: Callable[[Tensor], Tensor], windows: Tensor) -> Tensor:
    """Apply `call` to the windows (N, ...) of one recording, a few at a time."""
    return torch.cat([call(part) for part in windows.split(AT_ONCE)])


def repeat_to(samples: Tensor, length: int) -> Tensor:
    """Repeat a recording until it is `length` samples long."""
    return samples.repeat(-(-length // len(samples)))[:length]


class MusicalityScorer:
    """Scores takes by their audio only; with `on_both`, alignment gets the same score."""

    def __init__(self, judge: Callable[[Audio], float], on_both: bool = False) -> None:
        self.judge = judge
        self.on_both = on_both

    @torch.inference_mode()
    def score(self, takes: Sequence[Take]) -> list[Score]:
        judged = _once([take.audio for take in takes], self.judge)
        values = [judged[take.audio] for take in takes]
        return [Score(musicality=value, alignment=value if self.on_both else 0.0) for value in values]


class AlignmentScorer:
    """Scores takes by the inner product of their embedding with that of the prompt.

    The prompt is its text or, with `whole_prompt`, all of its parts (text, lyrics, reference), whose products are
    averaged. A prompt without these parts is an InputError.
    """

    def __init__(
        self,
        embed_sound: Callable[[Audio], Tensor],
        embed_text: Callable[[str], Tensor],
        whole_prompt: bool = False,
    ) -> None:
        self.embed_sound = embed_sound
        self.embed_text = embed_text
        self.whole_prompt = whole_prompt

    @torch.inference_mode()
    def score(self, takes: Sequence[Take]) -> list[Score]:
        asked = [self._parts(take.prompt) for take in takes]
        texts = _once([text for texts, _ in asked for text in texts], self.embed_text)
        sounds = [take.audio for take in takes] + [sound for _, sounds in asked for sound in sounds]
        heard = _once(sounds, self.embed_sound)
        scores = []
        for take, (own_texts, own_sounds) in zip(takes, asked, strict=True):
            wanted = [texts[text] for text in own_texts] + [heard[sound] for sound in own_sounds]
            near = [float(heard[take.audio] @ vector) for vector in wanted]
            scores.append(Score(musicality=0.0, alignment=sum(near) / len(near)))
        return scores

    def _parts(self, prompt: Prompt) -> tuple[list[str], list[Audio]]:
        texts = [prompt.text, prompt.lyrics] if self.whole_prompt else [prompt.text]
        sounds = [prompt.reference] if self.whole_prompt and prompt.reference is not None else []
        written = [text for text in texts if text.strip()]
        if not written and not sounds:
            raise InputError("the prompt has no text to compare the take with")
        return written, sounds


def _once(keys: Sequence[Key], compute: Callable[[Key], Value]) -> dict[Key, Value]:
    """Compute a value for each item, once for equal items."""
    return {key: compute(key) for key in dict.fromkeys(keys)}
