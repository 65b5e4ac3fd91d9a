"""Reward functions for RL trainers such as TRL, which call `f(prompts, completions, **columns) -> list of numbers`.

A reward function has an attribute `validated_on`: one sentence on what the model was validated on, '' for a model that
does not come with cmi. The first function of a process logs it. Notes of the model on a take, such as that it is not
music, become warnings.
"""

import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from cmi._util.errors import InputError
from cmi.audio import Waveform
from cmi.reward.model.validation import validated_on
from cmi.reward.scoring.score_log import take_key
from cmi.reward.scoring.scorer import RewardScorer
from cmi.reward.scoring.scorers import ScoredTake, described
from cmi.take import Audio, Prompt, Score, Take

Reward = Callable[..., list[float | None]]


class _LastBatch:
    """Scores takes and caches the last batch, so that several rewards of a batch need one scoring."""

    def __init__(self, scorer: RewardScorer, sampling_rate: int | None) -> None:
        self._scorer = scorer
        self._rate = sampling_rate
        self._keys: list[str] = []
        self._scores: list[Score | None] = []

    def score(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any] | None = None,
        audio: Sequence[Any] | None = None,
        lyrics: Sequence[str | None] | None = None,
        reference: Sequence[Any] | None = None,
        **columns: object,
    ) -> list[Score | None]:
        sounds = audio if completions is None else completions
        if sounds is None:
            raise TypeError("pass the recordings as 'completions' or 'audio'")
        count, rate = len(prompts), self._rate
        rows = zip(prompts, sounds, lyrics or [""] * count, reference or [None] * count, strict=True)
        takes = [
            Take(
                Prompt(_text(prompt), words or "", _audio(like, rate) if like is not None else None),
                _audio(sound, rate),
            )
            for prompt, sound, words, like in rows
        ]
        keys = [take_key(take) for take in takes]
        if keys != self._keys:
            judged = self._scorer.judge(takes)
            self._scores = [_score(take, one) for take, one in zip(takes, judged, strict=True)]
            self._keys = keys
        return self._scores


def _score(take: Take, judged: ScoredTake | InputError) -> Score | None:
    if isinstance(judged, InputError):
        warnings.warn(f"no reward: {judged}", stacklevel=5)
        return None
    for note in judged.notes:
        warnings.warn(f"{described(take.audio)}: {note}", stacklevel=5)
    return judged.score


def reward_function(
    scorer: RewardScorer, musicality: float = 0.5, alignment: float = 0.5, sampling_rate: int | None = None
) -> Reward:
    """Return a reward function: a weighted sum of the two scores, by default their mean, as for best-of-N in the paper.

    The function takes TRL's keywords. `prompts` are texts, or conversations whose last user message is the text;
    `completions` (or `audio`) are paths, waveforms, arrays at `sampling_rate`, or dictionaries with `array` and
    `sampling_rate`. The columns `lyrics` and `reference` of the data set are used if present; others are ignored. A
    completion that cannot be scored gets the reward None, which TRL leaves out, and a warning says why.
    """
    batch = _LastBatch(scorer, sampling_rate)

    def cmi_reward(*rows: Any, **columns: Any) -> list[float | None]:
        return [
            None if score is None else musicality * score.musicality + alignment * score.alignment
            for score in batch.score(*rows, **columns)
        ]

    return _stating(scorer, cmi_reward)


def axis_rewards(scorer: RewardScorer, sampling_rate: int | None = None) -> tuple[Reward, Reward]:
    """Return musicality and alignment as two reward functions, for trainers that normalise and weight each one.

    Both are called like that of `reward_function`; a batch is scored once for both. TRL shows them under their names,
    `musicality` and `alignment`.
    """
    batch = _LastBatch(scorer, sampling_rate)

    def musicality(*rows: Any, **columns: Any) -> list[float | None]:
        return [None if score is None else score.musicality for score in batch.score(*rows, **columns)]

    def alignment(*rows: Any, **columns: Any) -> list[float | None]:
        return [None if score is None else score.alignment for score in batch.score(*rows, **columns)]

    return _stating(scorer, musicality), _stating(scorer, alignment)


def _stating(scorer: RewardScorer, reward: Reward) -> Reward:
    """Set the attribute `validated_on` of a reward function."""
    sentence = validated_on(scorer.model.full_name)
    reward.validated_on = sentence  # type: ignore[attr-defined]
    if sentence:
        _log_once(sentence)
    return reward


@cache
def _log_once(sentence: str) -> None:
    logging.getLogger("cmi.reward").warning(sentence)


def _text(prompt: Any) -> str:
    """Return a text, or the last user message of a conversation."""
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
        raise TypeError("an array has no sampling rate: pass sampling_rate to reward_function")
    samples = np.asarray(sound.detach().cpu() if hasattr(sound, "detach") else sound, dtype=np.float32)
    # Channels come first in generators' outputs, last in audio files: there are fewer of them than of samples.
    mono = samples if samples.ndim == 1 else samples.mean(axis=int(np.argmin(samples.shape)), dtype=np.float32)
    return Waveform(np.ascontiguousarray(mono), rate)
