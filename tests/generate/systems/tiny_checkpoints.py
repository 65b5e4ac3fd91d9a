"""Tiny random models of the published classes, saved in the layout of the published checkpoints."""

from pathlib import Path

import diffusers
import transformers
from diffusers.pipelines.ace_step import AceStepConditionEncoder
from diffusers.pipelines.audioldm2 import AudioLDM2ProjectionModel, AudioLDM2UNet2DConditionModel
from diffusers.pipelines.stable_audio import StableAudioProjectionModel
from tokenizers import Tokenizer, models, pre_tokenizers, processors

RATE = 8000
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<|endoftext|>"]
SCHEDULE = {
    "beta_start": 0.00085,
    "beta_end": 0.012,
    "beta_schedule": "scaled_linear",
    "clip_sample": False,
    "set_alpha_to_one": False,
}


def tokenizer(kind: type = transformers.PreTrainedTokenizerFast, longest: int = 32):
    """A tokenizer of letters, of a given class: T5's has a unigram model, the others byte pairs."""
    pieces = [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    if kind is transformers.T5TokenizerFast:
        made = Tokenizer(models.Unigram([(piece, -1.0) for piece in pieces], unk_id=3))
    else:
        made = Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, [], unk_token="<unk>"))
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 2)])
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>", "bos_token": "<s>"}
    return kind(tokenizer_object=made, model_max_length=longest, **names)


WORDS = len(tokenizer())


def t5_config() -> transformers.T5Config:
    return transformers.T5Config(
        vocab_size=WORDS, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, pad_token_id=1, eos_token_id=2
    )


def save_musicgen(folder: Path, melody: bool = False, channels: int = 1) -> Path:
    """At 8 kHz and 50 frames a second, as many as the published ones have."""
    codec = transformers.EncodecConfig(
        target_bandwidths=[0.8],
        sampling_rate=RATE,
        hidden_size=8,
        num_filters=4,
        upsampling_ratios=[8, 5, 4],
        codebook_size=16,
        num_lstm_layers=1,
    )
    family = "MusicgenMelody" if melody else "Musicgen"
    decoder = getattr(transformers, f"{family}DecoderConfig")(
        vocab_size=16,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        ffn_dim=16,
        num_codebooks=4 * channels,
        audio_channels=channels,
        pad_token_id=16,
        bos_token_id=16,
        initializer_factor=0.5,  # so that prompts matter
    )
    config = getattr(transformers, f"{family}Config")(text_encoder=t5_config(), audio_encoder=codec, decoder=decoder)
    if melody:
        config.num_chroma, config.chroma_length = 12, 20
    model = getattr(transformers, f"{family}ForConditionalGeneration")(config)
    for layer in model.audio_encoder.quantizer.layers:
        layer.codebook.embed.normal_()  # zeros in a new model
    starts = {"decoder_start_token_id": 16, "pad_token_id": 16, "bos_token_id": 16}
    model.generation_config.update(**starts)
    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    if melody:
        chroma = (
            f'{{"sampling_rate": {RATE}, "n_fft": 1024, "hop_length": 512, "chunk_length": 30, "feature_size": 12}}'
        )
        (folder / "preprocessor_config.json").write_text(chroma)
    return folder


def oobleck(latents: int, ratios: tuple[int, ...] = (8, 10)) -> diffusers.AutoencoderOobleck:
    return diffusers.AutoencoderOobleck(
        encoder_hidden_size=2 * latents,
        downsampling_ratios=list(ratios),
        channel_multiples=[1, 2],
        decoder_channels=4,
        decoder_input_channels=latents,
        audio_channels=2,
        sampling_rate=RATE,
    )


def save_stable_audio(folder: Path, scheduler: str = "EDMDPMSolverMultistepScheduler") -> Path:
    """Up to 3 s."""
    diffusers.StableAudioPipeline(
        vae=oobleck(4),
        text_encoder=transformers.T5EncoderModel(t5_config()),
        projection_model=StableAudioProjectionModel(
            text_encoder_dim=16, conditioning_dim=16, min_value=0, max_value=512
        ),
        tokenizer=tokenizer(transformers.T5TokenizerFast),
        transformer=diffusers.StableAudioDiTModel(
            sample_size=300,
            in_channels=4,
            out_channels=4,
            num_layers=1,
            attention_head_dim=8,
            num_attention_heads=2,
            num_key_value_attention_heads=1,
            cross_attention_dim=16,
            cross_attention_input_dim=16,
            time_proj_dim=8,
            global_states_input_dim=32,
        ),
        scheduler=getattr(diffusers, scheduler)(solver_order=2, prediction_type="v_prediction"),
    ).save_pretrained(folder)
    return folder


def clap() -> transformers.ClapModel:
    text = {
        "vocab_size": WORDS, "hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2,
        "num_hidden_layers": 1, "projection_dim": 16, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2,
        "max_position_embeddings": 40,
    }  # fmt: skip
    audio = {
        "spec_size": 8, "window_size": 4, "num_mel_bins": 8, "depths": [1, 1], "num_attention_heads": [1, 1],
        "num_hidden_layers": 1, "hidden_size": 16, "projection_dim": 16, "patch_size": 2, "patch_stride": 2,
        "patch_embed_input_channels": 4, "patch_embeds_hidden_size": 8,
    }  # fmt: skip
    return transformers.ClapModel(transformers.ClapConfig(text_config=text, audio_config=audio, projection_dim=16))


def mel_vae() -> diffusers.AutoencoderKL:
    return diffusers.AutoencoderKL(
        block_out_channels=[8, 8],
        in_channels=1,
        out_channels=1,
        norm_num_groups=8,
        down_block_types=["DownEncoderBlock2D"] * 2,
        up_block_types=["UpDecoderBlock2D"] * 2,
        latent_channels=4,
        layers_per_block=1,
    )


def vocoder() -> transformers.SpeechT5HifiGan:
    """100 frames a second, as the published ones have; loud enough to be heard."""
    made = transformers.SpeechT5HifiGan(
        transformers.SpeechT5HifiGanConfig(
            model_in_dim=8,
            sampling_rate=RATE,
            upsample_initial_channel=16,
            upsample_rates=[8, 10],
            upsample_kernel_sizes=[16, 20],
            resblock_kernel_sizes=[3],
            resblock_dilation_sizes=[[1, 3]],
            normalize_before=False,
        )
    )
    made.conv_post.weight.data.mul_(1e4)
    return made


UNET = {
    "block_out_channels": (8, 16),
    "layers_per_block": 1,
    "norm_num_groups": 8,
    "sample_size": 128,
    "in_channels": 4,
    "out_channels": 4,
    "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
    "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D"),
}


def save_audioldm2(folder: Path) -> Path:
    """With the language model's class that the published checkpoints name."""
    gpt2 = transformers.GPT2Config(
        n_embd=16, n_head=2, n_layer=1, vocab_size=50, n_positions=64, bos_token_id=0, eos_token_id=1
    )
    gpt2.max_new_tokens = 8
    diffusers.AudioLDM2Pipeline(
        vae=mel_vae(),
        text_encoder=clap(),
        text_encoder_2=transformers.T5EncoderModel(t5_config()),
        projection_model=AudioLDM2ProjectionModel(text_encoder_dim=16, text_encoder_1_dim=16, langauge_model_dim=16),
        language_model=transformers.GPT2Model(gpt2),
        tokenizer=tokenizer(transformers.RobertaTokenizerFast),
        tokenizer_2=tokenizer(transformers.T5TokenizerFast),
        feature_extractor=transformers.ClapFeatureExtractor(feature_size=8, sampling_rate=48_000),
        unet=AudioLDM2UNet2DConditionModel(**UNET, cross_attention_dim=(16, 16)),
        scheduler=diffusers.DDIMScheduler(**SCHEDULE),
        vocoder=vocoder(),
    ).save_pretrained(folder)
    return folder


def save_musicldm(folder: Path) -> Path:
    diffusers.MusicLDMPipeline(
        vae=mel_vae(),
        text_encoder=clap(),
        tokenizer=tokenizer(transformers.RobertaTokenizerFast),
        feature_extractor=transformers.ClapFeatureExtractor(feature_size=8, sampling_rate=48_000),
        unet=diffusers.UNet2DConditionModel(
            **UNET,
            cross_attention_dim=(8, 16),
            class_embed_type="simple_projection",
            projection_class_embeddings_input_dim=16,
            class_embeddings_concat=True,
        ),
        scheduler=diffusers.DDIMScheduler(**SCHEDULE),
        vocoder=vocoder(),
    ).save_pretrained(folder)
    return folder


def save_ace_step(folder: Path, is_turbo: bool = True) -> Path:
    """25 latent frames a second, as the published ones have."""
    size = {
        "hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8,
        "sliding_window": 16,
    }  # fmt: skip
    qwen = transformers.Qwen3Config(
        vocab_size=WORDS,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
    )
    conditions = AceStepConditionEncoder(
        **size,
        text_hidden_dim=16,
        timbre_hidden_dim=4,
        num_lyric_encoder_hidden_layers=1,
        num_timbre_encoder_hidden_layers=1,
    )
    conditions.silence_latent.normal_()
    diffusers.AceStepPipeline(
        vae=oobleck(4, (16, 20)),
        text_encoder=transformers.Qwen3Model(qwen),
        tokenizer=tokenizer(longest=2048),
        transformer=diffusers.AceStepTransformer1DModel(
            **size, num_hidden_layers=2, in_channels=12, audio_acoustic_hidden_dim=4, is_turbo=is_turbo
        ),
        condition_encoder=conditions,
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(num_train_timesteps=1, shift=1.0),
    ).save_pretrained(folder)
    return folder
