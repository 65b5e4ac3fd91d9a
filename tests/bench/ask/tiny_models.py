"""Tiny audio language models with random weights, of their real classes, saved as their authors' checkpoints are."""

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    AudioFlamingo3Config,
    AudioFlamingo3ForConditionalGeneration,
    AudioFlamingo3Processor,
    MusicFlamingoConfig,
    MusicFlamingoForConditionalGeneration,
    MusicFlamingoProcessor,
    PreTrainedTokenizerFast,
    Qwen2_5OmniThinkerConfig,
    Qwen2_5OmniThinkerForConditionalGeneration,
    Qwen2AudioConfig,
    Qwen2AudioForConditionalGeneration,
    Qwen2AudioProcessor,
    Qwen3OmniMoeThinkerConfig,
    Qwen3OmniMoeThinkerForConditionalGeneration,
    WhisperFeatureExtractor,
)

SPECIAL = (
    "<|endoftext|> <|im_start|> <|im_end|> <|AUDIO|> <|audio_bos|> <|audio_eos|> <|IMAGE|> <|VIDEO|> <|vision_bos|>"
    " <|vision_eos|> <|audio_start|> <|audio_end|> <|audio_pad|> <|image_pad|> <|video_pad|> <|vision_start|>"
    " <|vision_end|> <sound> <|sound_bos|> <|sound_eos|>".split()
)
FLAMINGO_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% for c in m.content %}"
    "{% if c.type == 'audio' %}<sound>{% else %}{{ c.text }}{% endif %}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tokenizer() -> Any:
    """Bytes and special tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    made.add_special_tokens({"additional_special_tokens": SPECIAL})
    return made


def features(chunk: int = 30, bands: int = 80) -> Any:
    return WhisperFeatureExtractor(feature_size=bands, sampling_rate=16_000, chunk_length=chunk)


TEXT = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 8192, "head_dim": 8,
}  # fmt: skip
WHISPER = {
    "num_mel_bins": 80, "d_model": 32, "encoder_layers": 1, "encoder_attention_heads": 4, "encoder_ffn_dim": 64,
    "max_source_positions": 1500,
}  # fmt: skip


def save(kind: str, folder: Path) -> Path:
    """The checkpoint folder of a tiny model of that kind."""
    torch.manual_seed(0)
    words = tokenizer()
    {
        "qwen2-audio": _qwen2_audio,
        "qwen2.5-omni": _omni,
        "qwen3-omni": _omni3,
        "audio-flamingo-3": _audio_flamingo,
        "music-flamingo": _music_flamingo,
    }[kind](words, folder)
    return folder


def _ids(words: Any, **tokens: str) -> dict[str, int]:
    return {name: words.convert_tokens_to_ids(token) for name, token in tokens.items()}


def _text(words: Any, **more: Any) -> dict[str, Any]:
    return {**TEXT, "vocab_size": len(words), "bos_token_id": None, "eos_token_id": None, "pad_token_id": None, **more}


def _write(model: Any, folder: Path, *others: Any) -> None:
    with torch.no_grad():  # wide logits, so that no two tokens are equally likely
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.15)
    model.save_pretrained(folder)
    for other in others:
        other.save_pretrained(folder)


def _qwen2_audio(words: Any, folder: Path) -> None:
    config = Qwen2AudioConfig(
        audio_config={**WHISPER, "model_type": "qwen2_audio_encoder"},
        text_config=_text(words, model_type="qwen2"),
        **_ids(words, audio_token_index="<|AUDIO|>"),
    )
    processor = Qwen2AudioProcessor(features(), words)
    _write(Qwen2AudioForConditionalGeneration(config), folder, processor)


VISION = {"depth": 1, "hidden_size": 16, "num_heads": 2, "intermediate_size": 32, "out_hidden_size": 32}


def _omni(words: Any, folder: Path) -> None:
    rope = {"rope_type": "default", "mrope_section": [2, 1, 1], "rope_theta": 10000.0}
    config = Qwen2_5OmniThinkerConfig(
        audio_config={**WHISPER, "output_dim": 32},
        vision_config=VISION,
        text_config=_text(words, rope_parameters=rope),
        **_ids(
            words,
            audio_token_index="<|AUDIO|>",
            image_token_index="<|IMAGE|>",
            video_token_index="<|VIDEO|>",
            audio_start_token_id="<|audio_bos|>",
            audio_end_token_id="<|audio_eos|>",
            vision_start_token_id="<|vision_bos|>",
            vision_end_token_id="<|vision_eos|>",
        ),
    )
    _write(Qwen2_5OmniThinkerForConditionalGeneration(config), folder, words, features(300))


def _omni3(words: Any, folder: Path) -> None:
    rope = {"rope_type": "default", "mrope_section": [2, 1, 1], "mrope_interleaved": True, "rope_theta": 10000.0}
    experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "decoder_sparse_step": 1}
    config = Qwen3OmniMoeThinkerConfig(
        audio_config={**WHISPER, "output_dim": 32, "downsample_hidden_size": 16},
        vision_config={**VISION, "deepstack_visual_indexes": []},
        text_config=_text(words, rope_parameters=rope, **experts),
        **_ids(
            words,
            audio_token_id="<|audio_pad|>",
            image_token_id="<|image_pad|>",
            video_token_id="<|video_pad|>",
            audio_start_token_id="<|audio_start|>",
            vision_start_token_id="<|vision_start|>",
            vision_end_token_id="<|vision_end|>",
        ),
    )
    _write(Qwen3OmniMoeThinkerForConditionalGeneration(config), folder, words, features(300))


FLAMINGO_EAR = {
    "num_mel_bins": 80, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 64,
    "max_source_positions": 1500, "model_type": "audioflamingo3_encoder",
}  # fmt: skip


def _audio_flamingo(words: Any, folder: Path) -> None:
    config = AudioFlamingo3Config(
        audio_config=FLAMINGO_EAR,
        text_config=_text(words, model_type="qwen2"),
        **_ids(words, audio_token_id="<sound>"),
    )
    processor = AudioFlamingo3Processor(features(), words, chat_template=FLAMINGO_TEMPLATE)
    _write(AudioFlamingo3ForConditionalGeneration(config), folder, processor)


def _music_flamingo(words: Any, folder: Path) -> None:
    config = MusicFlamingoConfig(
        audio_config=FLAMINGO_EAR,
        text_config=_text(words, model_type="qwen2"),
        **_ids(
            words,
            audio_token_id="<sound>",
            audio_bos_token_id="<|sound_bos|>",
            audio_eos_token_id="<|sound_eos|>",
        ),
    )
    processor = MusicFlamingoProcessor(features(), words, chat_template=FLAMINGO_TEMPLATE)
    _write(MusicFlamingoForConditionalGeneration(config), folder, processor)
