"""Scores for takes: the same file gets the same score, alone, in any batch and in any order.

Recordings are heard in chunks of equal length batched together, each text and each prompt is encoded once, and nothing
is padded next to a longer neighbour. Takes are worked through in groups, so that memory does not grow with them.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from cmi import audio
from cmi.audio import Waveform
from cmi.errors import InputError
from cmi.reward.encoders.muq_mulan import CHUNK, RATE, SHORTEST
from cmi.reward.model import PromptTokens
from cmi.reward.reward_model import RewardModel
from cmi.take import Prompt, Score, Take

HEARD_SECONDS = 120.0  # as the published model was trained
GROUP = 32  # takes in memory at a time

Sound = Path | Waveform
Tokenizer = Callable[[str], list[int]]  # a text's token ids with its start and end tokens, cut to what the model takes


class Judged(NamedTuple):
    """A take's score and how many of its seconds were heard."""

    score: Score
    seconds: float


class RewardScorer:
    """A reward model behind `Scorer.score`."""

    def __init__(
        self, model: RewardModel, tokenizer: Tokenizer, batch: int = 8, seconds: float = HEARD_SECONDS
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.batch = batch
        self.seconds = seconds

    def score(self, takes: Sequence[Take]) -> list[Score]:
        return [judged.score for judged in self.judge(takes)]

    @torch.inference_mode()
    def judge(self, takes: Iterable[Take]) -> Iterator[Judged]:
        """Each take's score in turn. InputError for a take that can't be heard."""
        rest = iter(takes)
        while group := list(islice(rest, GROUP)):
            yield from self._judge_group(group)

    def _judge_group(self, takes: list[Take]) -> list[Judged]:
        sounds = {_name(sound): sound for take in takes for sound in (take.audio, take.prompt.reference) if sound}
        waveforms = {name: self._load(sound) for name, sound in sounds.items()}
        heard = self._hear(waveforms)
        distinct = {text for take in takes for text in (take.prompt.text, take.prompt.lyrics)}
        texts = {text: self._read(text) for text in distinct}
        prompts = {key: self._encode(prompt, texts, heard) for key, prompt in _distinct_prompts(takes).items()}
        judged = []
        for take in takes:
            name = _name(take.audio)
            alignment, musicality = self.model.head.judge(prompts[_prompt_key(take.prompt)], heard[name])[0].tolist()
            judged.append(Judged(Score(musicality=musicality, alignment=alignment), len(waveforms[name]) / RATE))
        return judged

    def _load(self, sound: Sound) -> Tensor:
        """At most the seconds that are heard, at the model's rate: (n,)."""
        waveform = sound if isinstance(sound, Waveform) else audio.load(sound, RATE, self.seconds)
        if waveform.rate != RATE:
            raise InputError(f"a waveform at {waveform.rate} Hz; the model hears {RATE} Hz")
        return torch.from_numpy(waveform.samples[: int(self.seconds * RATE)].copy())

    def _hear(self, waveforms: dict[Hashable, Tensor]) -> dict[Hashable, Tensor]:
        """Tokens of each recording; chunks of one length share a batch, whichever recording they come from."""
        by_length: defaultdict[int, list[tuple[Hashable, int, Tensor]]] = defaultdict(list)
        for name, samples in waveforms.items():
            for i, chunk in enumerate(torch.split(samples, CHUNK)):
                if len(chunk) >= SHORTEST:  # a shorter rest is left out, as in RewardModel.hear
                    by_length[len(chunk)].append((name, i, chunk))
        tokens: dict[Hashable, dict[int, Tensor]] = {name: {} for name in waveforms}
        for chunks in by_length.values():
            for start in range(0, len(chunks), self.batch):
                part = chunks[start : start + self.batch]
                encoded = self.model.encoder.encode_chunks(torch.stack([chunk for _, _, chunk in part]))
                for (name, i, _), token in zip(part, encoded, strict=True):
                    tokens[name][i] = token
        for name, parts in tokens.items():
            if not parts:
                raise InputError(f"{name}: {len(waveforms[name])} samples are too short to be heard")
        return {name: torch.cat([parts[i] for i in sorted(parts)])[None] for name, parts in tokens.items()}

    def _read(self, text: str) -> Tensor:
        return self.model.encoder.encode_ids(torch.tensor([self.tokenizer(text)]))

    def _encode(self, prompt: Prompt, texts: dict[str, Tensor], heard: dict[Hashable, Tensor]) -> Tensor:
        reference = heard[_name(prompt.reference)] if prompt.reference else None
        return self.model.head.encode_prompt(PromptTokens(texts[prompt.text], texts[prompt.lyrics], reference))


def _name(sound: Sound) -> Hashable:
    return sound if isinstance(sound, Path) else id(sound)


def _prompt_key(prompt: Prompt) -> Hashable:
    return prompt.text, prompt.lyrics, _name(prompt.reference) if prompt.reference else None


def _distinct_prompts(takes: list[Take]) -> dict[Hashable, Prompt]:
    return {_prompt_key(take.prompt): take.prompt for take in takes}
