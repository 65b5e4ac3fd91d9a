from types import SimpleNamespace

from stand_in import make_noise


class DiffRhythmVAE:
    def __init__(self, device="cuda", repo_id="ASLP-lab/DiffRhythm-vae"):
        pass

    def to(self, device):
        return self

    def decode(self, latents, chunked=False, overlap=32, chunk_size=128):
        assert latents.shape == (1, 64, 5000)
        return SimpleNamespace(sample=make_noise(1, 2, 5000 * 2048))
