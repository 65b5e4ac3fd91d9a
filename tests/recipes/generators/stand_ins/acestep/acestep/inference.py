from dataclasses import dataclass, field
from pathlib import Path

import soundfile
from stand_in import make_noise, record


@dataclass
class GenerationParams:
    task_type: object = None
    instruction: object = None
    reference_audio: object = None
    src_audio: object = None
    audio_codes: object = None
    caption: object = None
    lyrics: object = None
    instrumental: object = None
    vocal_language: object = None
    bpm: object = None
    keyscale: object = None
    timesignature: object = None
    duration: object = None
    inference_steps: object = None
    seed: object = None
    guidance_scale: object = None
    use_adg: object = None
    cfg_interval_start: object = None
    cfg_interval_end: object = None
    shift: object = None
    infer_method: object = None
    timesteps: object = None
    repainting_start: object = None
    repainting_end: object = None
    audio_cover_strength: object = None
    thinking: object = None
    lm_temperature: object = None
    lm_cfg_scale: object = None
    lm_top_k: object = None
    lm_top_p: object = None
    lm_negative_prompt: object = None
    use_cot_metas: object = None
    use_cot_caption: object = None
    use_cot_lyrics: object = None
    use_cot_language: object = None
    use_constrained_decoding: object = None
    cot_bpm: object = None
    cot_keyscale: object = None
    cot_timesignature: object = None
    cot_duration: object = None
    cot_vocal_language: object = None
    cot_caption: object = None
    cot_lyrics: object = None


@dataclass
class GenerationConfig:
    batch_size: object = None
    allow_lm_batch: object = None
    use_random_seed: object = None
    seeds: object = None
    lm_batch_chunk_size: object = None
    constrained_decoding_debug: object = None
    audio_format: object = None


@dataclass
class GenerationResult:
    audios: list = field(default_factory=list)
    status_message: str = ""
    success: bool = True
    error: object = None


def generate_music(dit_handler, llm_handler, params, config, save_dir=None, progress=None):
    record("generate_music", params=vars(params), config=vars(config))
    if params.caption == "forbidden":
        return GenerationResult(success=False, error="not this")
    if params.caption == "hush":
        return GenerationResult([{"path": ""}])
    path = Path(save_dir) / "a.flac"
    seconds = 20 if params.duration < 0 else params.duration
    soundfile.write(path, make_noise(int(seconds * 48_000), 2).numpy(), 48_000)
    return GenerationResult([{"path": str(path)}])
