"""A reward for trainers that call `f(prompts, completions, **columns) -> list of numbers`, as TRL's do."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cmi._util.errors import InputError
from cmi.audio import Waveform
from cmi.reward.scoring.scorer import RewardScorer
from cmi.take import Audio, Prompt, Take

Reward = Callable[..., list[float | None]]


def reward_function(
    scorer: RewardScorer, musicality: float = 0.5, alignment: float = 0.5, sampling_rate: int | None = None
) -> Reward:
    """A weighted sum of the two scores; the mean by default, as best-of-N in the paper.

    The function takes TRL's keywords. `prompts` are texts, or conversations whose last user message is the text;
    `completions` (or `audio`) are paths, waveforms, arrays at `sampling_rate`, or dictionaries with `array` and
    `sampling_rate`. Columns `lyrics` and `reference` of the data set are used where they are there, others are ignored.
    A completion that can't be heard is rewarded with None, which TRL leaves out, and a warning says why.
    """

    def cmi_reward(
        prompts: Sequence[Any],
        completions: Sequence[Any] | None = None,
        audio: Sequence[Any] | None = None,
        lyrics: Sequence[str | None] | None = None,
        reference: Sequence[Any] | None = None,
        **columns: object,
    ) -> list[float | None]:
        sounds = audio if completions is None else completions
        if sounds is None:
            raise TypeError("pass the recordings as 'completions' or 'audio'")
        count = len(prompts)
        rows = zip(prompts, sounds, lyrics or [""] * count, reference or [None] * count, strict=True)
        takes = [
            Take(
                Prompt(_text(prompt), words or "", _audio(like, sampling_rate) if like is not None else None),
                _audio(sound, sampling_rate),
            )
            for prompt, sound, words, like in rows
        ]
        rewards: list[float | None] = []
        for judged in scorer.judge(takes):
            if isinstance(judged, InputError):
                warnings.warn(f"no reward: {judged}", stacklevel=2)
                rewards.append(None)
            else:
                rewards.append(musicality * judged.score.musicality + alignment * judged.score.alignment)
        return rewards

    return cmi_reward


def _text(prompt: Any) -> str:
    """A text, or what the user said last in a conversation."""
    if isinstance(prompt, str):
        return prompt
    content = next(message["content"] for message in reversed(prompt) if message["role"] == "user")
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text")


def _audio(sound: Any, rate: int | None) -> Audio:
    if isinstance(sound, Path | Waveform):
        return sound
    if isinstance(sound, str):
        return Path(sound)
    if isinstance(sound, Mapping):
        sound, rate = sound["array"], sound["sampling_rate"]
    if rate is None:
        raise TypeError("an array does not tell its rate: pass sampling_rate to reward_function")
    samples = np.asarray(sound.detach().cpu() if hasattr(sound, "detach") else sound, dtype=np.float32)
    # Channels come first in generators' outputs, last in audio files: there are fewer of them than of samples.
    mono = samples if samples.ndim == 1 else samples.mean(axis=int(np.argmin(samples.shape)), dtype=np.float32)
    return Waveform(np.ascontiguousarray(mono), rate)
