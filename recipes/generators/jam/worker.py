"""A worker for JAM-0.5 (declare-lab/jamify): English songs of up to 3 min 50 s, 44.1 kHz stereo.

    python recipes/generators/jam/worker.py --clone jamify [--style reference]

The style is either a text (its first 300 characters) or a recording (its first 30 s), never both: --style says which.
JAM sings each word at a given time; lyrics get times at a steady pace, which the authors' own songs do not have.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path += list(map(str, Path(__file__).resolve().parents))[1:3]
import worker_common as common
from lyric_formats import read_sections, time_words

COMMIT = "be6c0d2b099bae62ea5c936af1aaf15a8e339172"
RATE = 44_100
USUAL, LONGEST = 180.0, 230.0  # seconds
WEIGHTS = "declare-lab/jam-0.5"
CONDITIONS = ("lrc", "prompt", "start_time", "duration_abs", "duration_rel")


def load(options: argparse.Namespace) -> Any:
    common.enter_clone(options.clone, "src", "externals/DeepPhonemizer")
    from huggingface_hub import snapshot_download
    from jam.dataset import DiffusionWebDataset, enhance_webdataset_config
    from jam.infer import load_model
    from jam.model.vae import DiffRhythmVAE
    from muq import MuQMuLan
    from omegaconf import OmegaConf

    device = common.find_device()
    checkpoint = options.checkpoint or str(Path(snapshot_download(repo_id=WEIGHTS)) / "jam-0_5.safetensors")
    config = OmegaConf.load("configs/jam_infer.yaml")
    OmegaConf.resolve(config)
    settings = OmegaConf.merge(config.data.train_dataset, config.evaluation.dataset)
    enhance_webdataset_config(settings)
    settings.multiple_styles = False
    return SimpleNamespace(
        config=config.evaluation,
        cfm=load_model(config.model, checkpoint, device),
        vae=DiffRhythmVAE(device=device).to(device),
        muq=MuQMuLan.from_pretrained("OpenMuQ/MuQ-MuLan-large").to(device).eval(),
        encoder=DiffusionWebDataset(**settings),
        device=device,
        style=options.style,
    )


def generate(model: Any, request: dict[str, Any]) -> None:
    from jam.infer import generate_latent, normalize_audio

    common.require_parts(request, model.style, "lyrics")
    seconds = request["seconds"] or USUAL
    common.require_length(seconds, 1, LONGEST)
    try:
        words = time_words(read_sections(request["lyrics"]), seconds)
    except ValueError as error:
        raise common.TakeRefused("lyrics too long", str(error)) from error
    common.set_seeds(request["seed"])
    batch = encode_prompt(model, words, seconds, request)
    latents = generate_latent(
        model.cfm, batch, model.config.sample_kwargs, model.config.negative_style_prompt, ignore_style=False
    )
    latent = latents[0][0].transpose(0, 1).unsqueeze(0)
    samples = normalize_audio(model.vae.decode(latent, chunked=True).sample.squeeze(0).detach().cpu())
    # what JAM makes is always of its longest length
    common.write_take({**request, "seconds": seconds}, samples.numpy(), RATE)


def encode_prompt(model: Any, words: list[dict[str, object]], seconds: float, request: dict[str, Any]) -> Any:
    """Return a batch of one prompt, by way of the files that JAM's data set reads."""
    from jam.infer import FilteredTestSetDataset, custom_collate_fn_with_metadata

    with tempfile.TemporaryDirectory() as folder:
        lyrics, prompt, songs = (Path(folder) / name for name in ("lyrics.json", "prompt.txt", "songs.json"))
        lyrics.write_text(json.dumps(words), encoding="utf-8")
        prompt.write_text(request["text"] or "", encoding="utf-8")
        song = {
            "id": "take",
            "audio_path": request["reference"] or "",
            "lrc_path": str(lyrics),
            "duration": seconds,
            "prompt_path": str(prompt),
        }
        songs.write_text(json.dumps([song]), encoding="utf-8")
        encoded = FilteredTestSetDataset(
            test_set_path=str(songs),
            diffusion_dataset=model.encoder,
            muq_model=model.muq,
            num_style_secs=model.config.num_style_secs,
            use_prompt_style=model.style == "text",
        )[0]
    batch = custom_collate_fn_with_metadata([encoded], model.encoder.custom_collate_fn)
    if batch is None:
        raise common.TakeRefused(
            "prompt", "JAM could not read the lyrics or the style; its own message is on standard error"
        )
    return {name: batch[name].to(model.device) for name in CONDITIONS}


def main() -> None:
    parser = common.make_parser(__doc__ or "")
    parser.add_argument("--checkpoint", help=f"a .safetensors file; by default that of {WEIGHTS} on the hub")
    parser.add_argument("--style", choices=["text", "reference"], default="text", help="what gives the style")
    options = parser.parse_args()
    options.checkpoint = options.checkpoint and str(Path(options.checkpoint).resolve())
    about = {
        "name": "jam",
        "version": Path(options.checkpoint).name if options.checkpoint else WEIGHTS,
        "accepts": [options.style, "lyrics"],
        "licence": "Project Jamify License and Stability AI Community License; no commercial use of outputs",
        "settings": {"style": options.style},
    }
    common.run_generator(about, options, COMMIT, load, generate)


if __name__ == "__main__":
    main()
