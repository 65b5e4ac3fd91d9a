"""From takes to numbers: what all baselines share.

The windows of one recording share a call and those of different recordings never do, so that a score can't depend on
the company in which it was asked for.
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


def hear(sound: Audio, rate: int, seconds: float | None = None) -> Tensor:
    """The samples (n,) of a recording at `rate` hertz, the first `seconds` if given. Silence is an InputError."""
    if isinstance(sound, Path):
        heard = audio.load(sound, rate, seconds)
        audio.require_sound(heard, sound)
    else:
        heard = audio.resample(sound, rate)
        audio.require_sound(heard, "a waveform in memory")
    # A copy: kernels round differently on numpy's memory, which may lie anywhere.
    return torch.tensor(heard.samples if seconds is None else heard.samples[: round(seconds * rate)])


def in_calls(call: Callable[[Tensor], Tensor], windows: Tensor) -> Tensor:
    """Rows of `call` on windows (N, ...) of one recording, a few at a time."""
    return torch.cat([call(part) for part in windows.split(AT_ONCE)])


def repeated(samples: Tensor, length: int) -> Tensor:
    """A recording said again from its start until it is `length` samples long."""
    return samples.repeat(-(-length // len(samples)))[:length]


class MusicalityScorer:
    """Takes judged by their sound alone; `on_both` gives the same number to alignment."""

    def __init__(self, judge: Callable[[Audio], float], on_both: bool = False) -> None:
        self.judge = judge
        self.on_both = on_both

    @torch.inference_mode()
    def score(self, takes: Sequence[Take]) -> list[Score]:
        judged = _once([take.audio for take in takes], self.judge)
        values = [judged[take.audio] for take in takes]
        return [Score(musicality=value, alignment=value if self.on_both else 0.0) for value in values]


class AlignmentScorer:
    """Takes judged by how near they lie to their prompts in a space of both: the inner product of two embeddings.

    A prompt is its text. With `whole_prompt` it is all of its parts, text, lyrics and reference: the mean of their
    products. A prompt without any such part is an InputError.
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
            raise InputError("a prompt without text: there is nothing to compare a take with")
        return written, sounds


def _once(keys: Sequence[Key], compute: Callable[[Key], Value]) -> dict[Key, Value]:
    """What is computed for each, once for those that come again."""
    return {key: compute(key) for key in dict.fromkeys(keys)}
