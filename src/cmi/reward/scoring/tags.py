"""`tags`: an untrained scorer of alignment, the baseline that a trained one has to beat.

    z     = (musicnn's log-odds of 100 tags - their mean in a bank of music) / their deviation in it
    w     = cosine of MiniLM's vectors of the text and of each tag's name, centred over tags, cubed with its sign
    score = z . w, standardised by its mean and deviation over the bank for the same text

Without the last step, a text close to many common tags would score high for any music. For a reference, w is its own z
at unit length; with both text and reference, the score is the mean. Lyrics are not used. Musicality, which this scorer
does not measure, is 0 for every take.

The bank (models/tags) holds the tags of about 200 tracks of free music (`recipes/tags/make_bank.py`).
"""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from cmi.audio import Waveform, content_hash, load, require_sound, resample
from cmi.reward.engine.token_cache import CachedTokens, TokenCache
from cmi.reward.model.encoders import musicnn
from cmi.reward.model.encoders.nano import TAGS, TEXT_TOKENS, levelled, load_minilm, load_tokenizer
from cmi.reward.model.head import masked_mean
from cmi.reward.model.tokenizer import Tokenize
from cmi.reward.scoring.scorers import TAGS as NAME
from cmi.take import Audio, Prompt, Score, Take

BANK = Path(__file__).parent.parent / "model" / "weights" / NAME / "bank.npy"
SECONDS = 120.0  # that are heard of a take
HEARD_AS = "musicnn's tags, 1"  # changes with what `Tagger.hear` gives
POWER = 3

Array = NDArray[np.float64]


class Tagger:
    """musicnn's two networks, and MiniLM, which is loaded when the first text is embedded."""

    def __init__(self) -> None:
        self.nets = [musicnn.load_musicnn("MTT_musicnn"), musicnn.load_musicnn("MSD_musicnn")]

    @cached_property
    def minilm(self) -> Any:
        return load_minilm()

    @cached_property
    def tokenize(self) -> Tokenize:
        return load_tokenizer()

    @torch.inference_mode()
    def hear(self, sound: Waveform) -> Array:
        """Return the log-odds of each of TAGS, with the sound at one level: (100,)."""
        samples = levelled(torch.from_numpy(resample(sound, musicnn.RATE).samples)[None])
        padded = functional.pad(samples, (0, max(0, musicnn.SHORTEST - samples.shape[1])))
        mel = musicnn.mel(padded)
        odds = torch.cat([net.odds(net.frames(mel)) for net in self.nets], dim=-1)[0]
        return cast(Array, odds.double().numpy())

    @torch.inference_mode()
    def read(self, text: str) -> Tensor:
        """Return MiniLM's vector of a text at unit length: (384,)."""
        ids = torch.tensor([self.tokenize(text)[:TEXT_TOKENS]])
        tokens = self.minilm(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
        return functional.normalize(masked_mean(tokens, torch.ones_like(ids, dtype=torch.bool)), dim=-1)[0]


class TagScorer:
    """Alignment by tags, standardised over a bank (N, 100) of log-odds."""

    def __init__(self, tagger: Tagger, bank: Array, cache: TokenCache | None = None) -> None:
        self.tagger = tagger
        self.cache = cache
        self.mean, self.spread = bank.mean(axis=0), bank.std(axis=0)
        self.bank = (bank - self.mean) / self.spread  # (N, 100)
        self._heard: dict[Audio, Array] = {}
        self._read: dict[str, Array] = {}

    @cached_property
    def names(self) -> NDArray[np.float32]:
        """(100, 384)."""
        return np.stack([self.tagger.read(name).numpy() for name in TAGS])

    def score(self, takes: Sequence[Take]) -> list[Score]:
        return [Score(musicality=0.0, alignment=self._align(take)) for take in takes]

    def _align(self, take: Take) -> float:
        """Return the alignment; 0 for an empty prompt."""
        heard = self._standardised_tags(take.audio)
        parts = [standardised(heard, weights, self.bank) for weights in self._weights(take.prompt)]
        return sum(parts) / len(parts) if parts else 0.0

    def _weights(self, prompt: Prompt) -> list[Array]:
        text = [self._of_text(prompt.text)] if prompt.text.strip() else []
        if prompt.reference is None:
            return text
        heard = self._standardised_tags(prompt.reference)
        return [*text, heard / np.linalg.norm(heard)]

    def _of_text(self, text: str) -> Array:
        if text not in self._read:
            self._read[text] = tag_weights(self.names @ self.tagger.read(text).numpy())
        return self._read[text]

    def _standardised_tags(self, audio: Audio) -> Array:
        """Return the standardised tags z of a recording: (100,)."""
        if audio not in self._heard:
            self._heard[audio] = (self.odds(audio) - self.mean) / self.spread
        return self._heard[audio]

    def odds(self, audio: Audio) -> Array:
        """Return the log-odds of a recording's tags: (100,); those of a file are cached by its content."""
        if not isinstance(audio, Path):
            require_sound(audio)
            return self.tagger.hear(audio)
        key = hashlib.sha256(f"{HEARD_AS}\n{content_hash(audio)}\n{SECONDS}".encode()).hexdigest()
        known = None if self.cache is None else self.cache.get(key)
        if known is not None:
            return cast(Array, known.tokens[0].numpy())
        sound = load(audio, musicnn.RATE, SECONDS)
        require_sound(sound, audio)
        odds = self.tagger.hear(sound)
        if self.cache is not None:
            self.cache.put(key, CachedTokens(torch.from_numpy(odds)[None], len(sound.samples), silent=False))
        return odds


def tag_weights(cosines: Array) -> Array:
    """Return the weight of each tag for a text, from the cosines with the tags' names: (100,) -> (100,)."""
    centred = cosines - cosines.mean()
    return cast(Array, np.sign(centred) * np.abs(centred) ** POWER)


def standardised(heard: Array, weights: Array, bank: Array) -> float:
    """Return heard . weights, in standard deviations from its mean over the bank (N, 100)."""
    usual = bank @ weights
    return float((heard @ weights - usual.mean()) / usual.std())


def read_bank(bank: Path = BANK) -> Array:
    """(N, 100): log-odds of TAGS in a bank of music."""
    return cast(Array, np.load(bank, allow_pickle=False).astype(np.float64))


def load_tags(bank: Path = BANK) -> tuple[str, TagScorer]:
    """The scorer with its name, which changes with the bank."""
    odds = read_bank(bank)
    return f"{NAME}@{hashlib.sha256(bank.read_bytes()).hexdigest()[:12]}", TagScorer(Tagger(), odds, TokenCache())
