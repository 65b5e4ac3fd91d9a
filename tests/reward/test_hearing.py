import pytest
import torch

from cmi.errors import InputError
from cmi.reward.encoders.muq_mulan import CHUNK, SHORTEST, mel_filters


@torch.inference_mode()
def test_there_are_25_tokens_a_second(tiny):
    for samples, tokens in ((SHORTEST, 1), (24_000, 25), (CHUNK, 750), (CHUNK + 24_000, 775)):
        assert tiny.hear(torch.randn(samples)).shape == (1, tokens, 32)


@torch.inference_mode()
def test_a_last_chunk_too_short_to_hear_is_left_out_and_a_whole_clip_is_refused(tiny):
    samples = torch.randn(CHUNK + SHORTEST - 1)
    assert torch.equal(tiny.hear(samples), tiny.hear(samples[:CHUNK]))
    assert tiny.hear(torch.randn(CHUNK + SHORTEST)).shape[1] == 751
    for length in (0, 1, SHORTEST - 1):
        with pytest.raises(InputError, match="too short"):
            tiny.hear(torch.randn(length))


@torch.inference_mode()
def test_silence_and_full_scale_are_finite(tiny):
    for samples in (torch.zeros(24_000), torch.ones(24_000), torch.ones(24_000) * 1e-30):
        assert tiny.hear(samples).isfinite().all()


@torch.inference_mode()
def test_chunks_are_heard_alike_alone_and_together(tiny):
    chunks = torch.randn(5, 48_000)
    together = tiny.encoder.encode_chunks(chunks)
    for i, chunk in enumerate(chunks):
        assert torch.allclose(tiny.encoder.encode_chunks(chunk[None])[0], together[i], atol=1e-6)


def test_mel_filters_are_triangles_without_gaps():
    filters = mel_filters()
    assert filters.shape == (1025, 128)
    assert filters.min() == 0
    assert filters.max() <= 1
    assert (filters[2:-2].sum(dim=1) > 0).all()
