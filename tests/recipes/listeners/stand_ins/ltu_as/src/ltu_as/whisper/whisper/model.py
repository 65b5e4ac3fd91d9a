from dataclasses import dataclass

from stand_in import record


@dataclass
class ModelDimensions:
    n_mels: int
    n_audio_ctx: int
    n_audio_state: int
    n_audio_head: int
    n_audio_layer: int
    n_vocab: int
    n_text_ctx: int
    n_text_state: int
    n_text_head: int
    n_text_layer: int


class Whisper:
    def __init__(self, dims, label_dim=1):
        record("Whisper", mels=dims.n_mels)

    def load_state_dict(self, weights, strict):
        assert not strict

    def to(self, device):
        return self
