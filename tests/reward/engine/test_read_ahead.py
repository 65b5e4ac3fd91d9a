import pytest
import torch

from cmi._util.errors import InputError
from cmi.reward.model.encoders.muq_mulan import CHUNK, SHORTEST, Conformer, MuQMuLanConfig, mel_filters


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
    together = tiny.encoder.encode_sound(chunks)
    for i, chunk in enumerate(chunks):
        assert torch.allclose(tiny.encoder.encode_sound(chunk[None])[0], together[i], atol=1e-5)


def test_mel_filters_are_triangles_without_gaps():
    filters = mel_filters()
    assert filters.shape == (1025, 128)
    assert filters.min() == 0
    assert filters.max() <= 1
    assert (filters[2:-2].sum(dim=1) > 0).all()


@torch.inference_mode()
def test_a_short_chunk_beside_a_long_one_is_heard_as_alone(tiny):
    """Every length of the last frame, window and stride, padded to 3 s."""
    lengths = [SHORTEST, 1200, 2399, 2400, 12_000, 24_001, 47_999, 72_000]
    chunks = torch.zeros(len(lengths), 72_000)
    for i, length in enumerate(lengths):
        chunks[i, :length] = torch.randn(length)
        chunks[i, length:] = 7.0  # what is beyond the end must not be heard
    together = tiny.encoder.encode_sound(chunks, torch.tensor(lengths))
    for i, length in enumerate(lengths):
        alone = tiny.encoder.encode_sound(chunks[i : i + 1, :length])[0]
        assert len(alone) == tiny.encoder.count(length)
        assert torch.allclose(alone, together[i, : len(alone)], atol=1e-5)


@torch.inference_mode()
def test_a_short_text_beside_a_long_one_is_read_as_alone(tiny):
    ids = torch.tensor([[0, 9, 8, 7, 2], [0, 5, 2, 1, 1]])
    together = tiny.encoder.encode_text(ids, ids != 1)
    assert torch.allclose(together[0], tiny.encoder.encode_text(ids[:1])[0], atol=1e-5)
    assert torch.allclose(together[1, :3], tiny.encoder.encode_text(ids[1:, :3])[0], atol=1e-5)


@torch.inference_mode()
def test_the_conformer_is_the_one_of_transformers():
    from transformers import Wav2Vec2ConformerConfig
    from transformers.models.wav2vec2_conformer.modeling_wav2vec2_conformer import Wav2Vec2ConformerEncoder

    config = Wav2Vec2ConformerConfig(
        hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, hidden_act="swish",
        position_embeddings_type="rotary", conv_depthwise_kernel_size=31, attn_implementation="eager",
    )  # fmt: skip
    torch.manual_seed(0)
    theirs = Wav2Vec2ConformerEncoder(config).eval()
    for module in theirs.modules():
        if isinstance(module, torch.nn.BatchNorm1d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
    ours = Conformer(MuQMuLanConfig(conformer_dim=48, conformer_depth=2, conformer_heads=4, conformer_ff=96)).eval()
    missing = ours.load_state_dict(theirs.state_dict(), strict=False)
    assert not missing.missing_keys
    assert all(key.startswith("pos_conv_embed") for key in missing.unexpected_keys)
    x = torch.randn(2, 60, 48)
    assert torch.allclose(ours(x), theirs(x).last_hidden_state, atol=1e-5)
