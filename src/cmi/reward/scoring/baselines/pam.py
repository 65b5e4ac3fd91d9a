"""PAM (Deshmukh et al., 2024): how much closer a recording is to 'clear and clean' than to 'noisy', from 0 to 1.

    7 s, 44.1 kHz -> HTS-AT -> projection --+-> cosines with two sentences -> softmax -> the first's probability
    two fixed sentences -> GPT-2 -> projection

The model is Microsoft's CLAP of 2023, with HTS-AT and GPT-2 from transformers. Windows are 7 s; shorter recordings are
repeated, and a remainder is covered by a window of the last 7 s. The score is the mean over the windows. (The
publishers' script processes the channels of a stereo file one after the other; here they are averaged.)

The mel filters are those of the checkpoint, which were made for 32 kHz and are applied at 44.1 kHz, as published.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import ClapAudioConfig, ClapAudioModel, GPT2Config, GPT2Model

from cmi._util.device import choose_device
from cmi._util.weights import Shapes
from cmi.reward.model.checkpoint import depth, shape
from cmi.reward.model.tokenizer import Tokenize, load_tokenizer
from cmi.reward.scoring.baselines import MUSICALITY, BaselineVariant, hts_at, sources
from cmi.reward.scoring.baselines.listening import MusicalityScorer, apply_in_batches, load_audio, repeat_to
from cmi.reward.scoring.scorers import NamedScorer
from cmi.take import Audio

SOURCE = sources.PublishedCheckpoint(
    "microsoft/msclap", "5e1d53af259bb39d380680e69ca580960b2c66b1", ("CLAP_weights_2023.pth",)
)
SOURCES = (SOURCE,)
VARIANTS = {"pam": BaselineVariant(MUSICALITY)}
TOKENIZER = "openai-community/gpt2", "607a30d783dfa663caf39e06633721c8d4cfcd7e"
SENTENCES = ("the sound is clear and clean.", "the sound is noisy and with artifacts.")
END = " <|endoftext|>"  # whose vector is a sentence's
RATE = 44_100
WINDOW = 7 * RATE
N_FFT, HOP = 1024, 320

NAMES = {
    r"^audio_encoder\.base\.htsat\.logmel_extractor\.melW$": "mel",
    r"^audio_encoder\.base\.htsat\.": "sound.audio_encoder.",
    r"^audio_encoder\.projection\.": "sound_projection.",
    r"^caption_encoder\.base\.": "text.",
    r"^caption_encoder\.projection\.": "text_projection.",
}
NEVER_READ = rf"{hts_at.NEVER_READ}|text\.h\.\d+\.attn\.(masked_)?bias$"


class Projection(nn.Module):
    """Into the joint space. Module names are those of the published checkpoint."""

    def __init__(self, inside: int, outside: int) -> None:
        super().__init__()
        self.linear1 = nn.Linear(inside, outside, bias=False)
        self.linear2 = nn.Linear(outside, outside, bias=False)
        self.layer_norm = nn.LayerNorm(outside)

    def forward(self, x: Tensor) -> Tensor:
        x = self.linear1(x)
        return functional.normalize(self.layer_norm(x + self.linear2(functional.gelu(x))), dim=-1)


class MicrosoftClap(nn.Module):
    def __init__(self, sound: ClapAudioConfig, text: GPT2Config, dim: int) -> None:
        super().__init__()
        self.mel = nn.Parameter(torch.zeros(N_FFT // 2 + 1, sound.num_mel_bins))
        self.sound = ClapAudioModel(sound)
        self.text = GPT2Model(text)
        self.sound_projection = Projection(sound.hidden_size, dim)
        self.text_projection = Projection(text.n_embd, dim)
        self.logit_scale = nn.Parameter(torch.tensor(0.0))

    def embed_sound(self, windows: Tensor) -> Tensor:
        """(B, n) -> (B, dim), of unit length."""
        hann = torch.hann_window(N_FFT, device=windows.device)
        spectrum = torch.stft(windows, N_FFT, HOP, window=hann, pad_mode="reflect", return_complex=True)
        power = spectrum.abs().square().transpose(1, 2)  # (B, T, 513)
        decibels = 10 * (power @ self.mel).clamp(min=1e-10).log10()
        return self.sound_projection(self.sound(input_features=decibels[:, None]).pooler_output)

    def embed_text(self, ids: Tensor) -> Tensor:
        return self.text_projection(self.text(input_ids=ids).last_hidden_state[:, -1])


def windows_of(samples: Tensor) -> Tensor:
    """Windows (N, n): all whole ones, and the last 7 s where something is left over."""
    if len(samples) <= WINDOW:
        return repeat_to(samples, WINDOW)[None]
    whole = samples[: len(samples) // WINDOW * WINDOW].view(-1, WINDOW)
    return whole if whole.numel() == len(samples) else torch.cat([whole, samples[None, -WINDOW:]])


class Pam:
    def __init__(self, model: MicrosoftClap, tokenize: Tokenize, device: torch.device) -> None:
        self.model = model.to(device)
        with torch.inference_mode():
            ids = [torch.tensor([tokenize(sentence + END)], device=device) for sentence in SENTENCES]
            self.sentences = torch.cat([self.model.embed_text(each) for each in ids])  # (2, dim)

    def judge(self, sound: Audio) -> float:
        windows = windows_of(load_audio(sound, RATE)).to(self.sentences.device)
        vectors = apply_in_batches(self.model.embed_sound, windows)  # (N, dim)
        nearness = self.model.logit_scale.exp() * vectors @ self.sentences.T
        return float(nearness.softmax(dim=1)[:, 0].mean())


def load(places: Sequence[str], device: str) -> NamedScorer:
    found, model = sources.build(SOURCE, places, _model)
    tokenize = load_tokenizer(found.folder, model.text.config.vocab_size, *TOKENIZER)
    return NamedScorer(found.name, MusicalityScorer(Pam(model, tokenize, choose_device(device)).judge))


def _model(state: sources.State, _: object) -> MicrosoftClap:
    state = hts_at.with_our_names(state, NAMES)
    shapes = sources.shapes_of(state)
    dim = shape(shapes, "sound_projection.linear1.weight", 2)[0]
    sound = hts_at.audio_config(shapes, "sound.audio_encoder", shape(shapes, "mel", 2)[1])
    model = MicrosoftClap(sound, _text_config(shapes), dim)
    sources.fill(model, state, NEVER_READ)
    return model


def _text_config(shapes: Shapes) -> GPT2Config:
    vocabulary, dim = shape(shapes, "text.wte.weight", 2)
    return GPT2Config(
        vocab_size=vocabulary,
        n_embd=dim,
        n_layer=depth(shapes, "text.h"),
        n_head=dim // 64,
        n_positions=shape(shapes, "text.wpe.weight", 2)[0],
        bos_token_id=None,
        eos_token_id=None,
    )
