"""Opens a file of the clone by a relative path, as the model's code does; keeps all lines of lyrics but the last."""

from pathlib import Path

from stand_in import record


def prepare_model(max_frames, device, repo_id="ASLP-lab/DiffRhythm-1_2"):
    record("prepare_model", max_frames=max_frames)
    return "cfm", "tokenizer", "muq", "vae"


def get_reference_latent(device, max_frames, edit, pred_segments, ref_song, vae_model):
    assert not edit
    return "latent", [(0, max_frames)]


def get_negative_style_prompt(device):
    return Path("infer/example/vocal.npy").read_text()


def get_style_prompt(model, wav_path=None, prompt=None):
    record("style", prompt=prompt, wav_path=wav_path)
    return "style"


def get_lrc_token(max_frames, text, tokenizer, max_secs, device):
    record("lyrics", lines=text.splitlines(), max_frames=max_frames, max_secs=max_secs)
    return text, 0.0, max_frames, 1.0
