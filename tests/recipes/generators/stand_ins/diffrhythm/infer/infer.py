from stand_in import make_noise, record


def inference(
    cfm_model,
    vae_model,
    cond,
    text,
    duration,
    style_prompt,
    negative_style_prompt,
    start_time,
    pred_frames,
    batch_infer_num,
    song_duration,
    chunked=False,
):
    record("inference", duration=duration, batch_infer_num=batch_infer_num, negative=negative_style_prompt.strip())
    return [(make_noise(2, duration * 2048) * 32_767).short()]
