import copy
import time

import numpy as np
import pytest
import soundfile
import torch

from cmi._util.errors import InputError
from cmi.audio import content_hash
from cmi.reward.engine import read_ahead as reading
from cmi.reward.engine.read_ahead import DecodedAudio, Loader, read_ahead
from cmi.reward.engine.token_cache import CachedTokens, TokenCache
from cmi.reward.engine.windows import AudioSpan, Job
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


def _jobs(folder, count):
    """Recordings, one of them broken and one too short."""
    for i in range(count):
        samples = np.random.default_rng(i).standard_normal(2400 + 100 * i).astype(np.float32) / 10
        soundfile.write(folder / f"{i}.wav", samples, 24_000, subtype="FLOAT")
    (folder / "2.wav").write_bytes(b"RIFF")
    soundfile.write(folder / "5.wav", np.zeros(300, np.float32), 24_000, subtype="FLOAT")
    return [Job(folder / f"{i}.wav", AudioSpan(0, 120, 120, 30)) for i in range(count)]


@pytest.mark.parametrize("processes", [False, True])
def test_threads_and_processes_give_in_order_what_reading_one_by_one_gives(tmp_path, processes):
    jobs = _jobs(tmp_path, 12)
    loader = Loader(24_000, SHORTEST, "encoder", TokenCache(tmp_path / "cache"))
    keep(loader, jobs[3], 3)
    keep(loader, jobs[11], 11)
    expected = [loader[job] for job in jobs]
    found = [
        copy.deepcopy(result) if isinstance(result, DecodedAudio) else result
        for result in read_ahead(jobs, loader, 2, 3, 1, processes)  # slots are used again after five
    ]
    assert [isinstance(result, InputError) for result in found] == [i in (2, 5) for i in range(12)]
    for result, known in zip(found, expected, strict=True):
        if isinstance(known, InputError):
            assert str(result) == str(known)
        elif known.entry is not None:
            assert torch.equal(result.entry.tokens, known.entry.tokens)
            assert result.samples is None
        else:
            assert torch.equal(result.samples, known.samples)
            assert result._replace(samples=None) == known._replace(samples=None)


def keep(loader, job, seed):
    key = loader.look_up(job).key
    loader.cache.put(key, CachedTokens(torch.full((4, 8), float(seed)), 2400, silent=False))


def test_a_file_that_changes_is_hashed_again_however_soon(tmp_path):
    loader = Loader(24_000, SHORTEST, "encoder", TokenCache(tmp_path / "cache"))
    (job,) = _jobs(tmp_path, 6)[:1]
    before = loader.look_up(job).key
    content = bytearray(job.sound.read_bytes())
    content[-1] ^= 1
    job.sound.write_bytes(content)  # as long as before
    assert loader.look_up(job).key != before


def test_a_file_that_stays_is_hashed_once_and_read_again_after_a_change(tmp_path, monkeypatch):
    (job,) = _jobs(tmp_path, 6)[:1]
    loader = Loader(24_000, SHORTEST, "encoder", TokenCache(tmp_path / "cache"))
    hashed = []
    monkeypatch.setattr(reading, "content_hash", lambda path: hashed.append(path) or content_hash(path))
    monkeypatch.setattr(reading, "SETTLED_AFTER", -1)  # as if written long ago
    keys = {loader.look_up(job).key for _ in range(3)}
    assert len(keys) == len(hashed) == 1
    time.sleep(0.05)  # longer than the clock of the file system ticks
    with job.sound.open("ab") as file:
        file.write(b"more")
    assert loader.look_up(job).key not in keys
