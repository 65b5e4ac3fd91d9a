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
from cmi.reward.checkpoint import WEIGHTS
from cmi.reward.encoders.muq_mulan import CHUNK, RATE, SHORTEST, TEXT_TOKENS
from cmi.reward.model import PromptTokens
from cmi.reward.reward_model import RewardModel
from cmi.take import Prompt, Score, Take

HEARD_SECONDS = 120.0  # as the published model was trained
TOKENIZER = "FacebookAI/xlm-roberta-base"
GROUP = 32  # takes in memory at a time

Sound = Path | Waveform
Tokenizer = Callable[[str], list[int]]  # a text's token ids with its start and end tokens, cut to what the model takes


class Judged(NamedTuple):
    """A take's score and how many of its seconds were heard."""

    score: Score
    seconds: float


def load_tokenizer(folder: Path | None) -> Tokenizer:
    """XLM-R's tokenizer: from the checkpoint's own folder if it is there, else from the hub."""
    from transformers import AutoTokenizer

    own = folder is not None and (folder / "tokenizer.json").exists()
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder if own else TOKENIZER, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"the tokenizer {TOKENIZER} could not be had: put its tokenizer.json beside {WEIGHTS}"
        ) from error
    return lambda text: list(tokenizer(text, truncation=True, max_length=TEXT_TOKENS)["input_ids"])


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
        """Scores in the takes' order. InputError for the first take that can't be heard."""
        scores = []
        for judged in self.judge(takes):
            if isinstance(judged, InputError):
                raise judged
            scores.append(judged.score)
        return scores

    @torch.inference_mode()
    def judge(self, takes: Iterable[Take]) -> Iterator[Judged | InputError]:
        """Each take's score in turn, or why it can't be heard: one broken file spoils no other."""
        rest = iter(takes)
        while group := list(islice(rest, GROUP)):
            yield from self._judge_group(group)

    def _judge_group(self, takes: list[Take]) -> list[Judged | InputError]:
        sounds = {_name(sound): sound for take in takes for sound in (take.audio, take.prompt.reference) if sound}
        loaded = {name: self._load(sound) for name, sound in sounds.items()}
        waveforms = {name: samples for name, samples in loaded.items() if isinstance(samples, Tensor)}
        broken = {name: error for name, error in loaded.items() if isinstance(error, InputError)}
        heard = self._hear(waveforms)
        audible = [take for take in takes if not (_sounds(take) & broken.keys())]
        distinct = {text for take in audible for text in (take.prompt.text, take.prompt.lyrics)}
        texts = {text: self._read(text) for text in distinct}
        prompts = {key: self._encode(prompt, texts, heard) for key, prompt in _distinct_prompts(audible).items()}
        judged: list[Judged | InputError] = []
        for take in takes:
            failed = next((broken[name] for name in _sounds(take) if name in broken), None)
            if failed is not None:
                judged.append(failed)
                continue
            name = _name(take.audio)
            alignment, musicality = self.model.head.judge(prompts[_prompt_key(take.prompt)], heard[name])[0].tolist()
            judged.append(Judged(Score(musicality=musicality, alignment=alignment), len(waveforms[name]) / RATE))
        return judged

    def _load(self, sound: Sound) -> Tensor | InputError:
        """At most the seconds that are heard, at the model's rate: (n,). Or why there are none."""
        try:
            waveform = sound if isinstance(sound, Waveform) else audio.load(sound, RATE, self.seconds)
        except InputError as error:
            return error
        if waveform.rate != RATE:
            return InputError(f"a waveform at {waveform.rate} Hz; the model hears {RATE} Hz")
        if len(waveform.samples) < SHORTEST:
            return InputError(f"a waveform of {len(waveform.samples)} samples; {SHORTEST} are the fewest to be heard")
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
        return {name: torch.cat([parts[i] for i in sorted(parts)])[None] for name, parts in tokens.items()}

    def _read(self, text: str) -> Tensor:
        return self.model.encoder.encode_ids(torch.tensor([self.tokenizer(text)]))

    def _encode(self, prompt: Prompt, texts: dict[str, Tensor], heard: dict[Hashable, Tensor]) -> Tensor:
        reference = heard[_name(prompt.reference)] if prompt.reference else None
        return self.model.head.encode_prompt(PromptTokens(texts[prompt.text], texts[prompt.lyrics], reference))


def _name(sound: Sound) -> Hashable:
    return sound if isinstance(sound, Path) else id(sound)


def _sounds(take: Take) -> set[Hashable]:
    return {_name(sound) for sound in (take.audio, take.prompt.reference) if sound}


def _prompt_key(prompt: Prompt) -> Hashable:
    return prompt.text, prompt.lyrics, _name(prompt.reference) if prompt.reference else None


def _distinct_prompts(takes: list[Take]) -> dict[Hashable, Prompt]:
    return {_prompt_key(take.prompt): take.prompt for take in takes}
