"""A worker for ACE-Step 1.5 (ace-step/ACE-Step-1.5): songs and instrumental music of 10 s to 10 min, 48 kHz stereo.

    python recipes/generators/acestep/worker.py --clone ACE-Step-1.5 [--lm acestep-5Hz-lm-1.7B]

Without --lm the diffusion model gets the text as it is. With it a language model plans the music, and may rewrite the
text. Weights are downloaded to the clone's folder `checkpoints`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path += list(map(str, Path(__file__).resolve().parents))[1:3]
import worker_common as common
from lyric_formats import read_sections, write_sections

COMMIT = "f30aee4c186c33b7b8a6ea59a4b7fc36f795b49f"
SHORTEST, LONGEST = 10.0, 600.0  # seconds
STEPS = {"turbo": 8, "other": 50}


def load(options: argparse.Namespace) -> Any:
    common.enter_clone(options.clone, ".")
    from acestep.handler import AceStepHandler
    from acestep.llm_inference import LLMHandler

    dit = AceStepHandler()
    require_started(dit.initialize_service(project_root=str(options.clone), config_path=options.model, device="auto"))
    llm = LLMHandler()
    if options.lm:
        checkpoints = str(options.clone / "checkpoints")
        require_started(llm.initialize(checkpoint_dir=checkpoints, lm_model_path=options.lm, backend="pt"))
    return SimpleNamespace(dit=dit, llm=llm, plans=bool(options.lm), steps=count_steps(options.model))


def generate(model: Any, request: dict[str, Any]) -> None:
    from acestep.inference import GenerationConfig, GenerationParams, generate_music

    if not request["lyrics"]:
        common.require_parts(request, "text")
    common.require_length(request["seconds"] or SHORTEST, SHORTEST, LONGEST)
    common.set_seeds(request["seed"])
    params = GenerationParams(
        caption=request["text"] or "",
        lyrics=write_sections(read_sections(request["lyrics"])) if request["lyrics"] else "[Instrumental]",
        instrumental=not request["lyrics"],
        duration=request["seconds"] or -1.0,  # -1: the model's choice
        reference_audio=request["reference"],
        inference_steps=model.steps,
        seed=request["seed"],
        thinking=model.plans,
        use_cot_metas=model.plans,
        use_cot_caption=model.plans,
        use_cot_language=model.plans,
    )
    config = GenerationConfig(batch_size=1, use_random_seed=False, seeds=[request["seed"]], audio_format="flac")
    with tempfile.TemporaryDirectory() as folder:
        result = generate_music(model.dit, model.llm, params, config, save_dir=folder)
        if not result.success:
            raise common.TakeRefused("ACE-Step failed", str(result.error or result.status_message))
        if not result.audios[0]["path"]:  # the model's code writes no file in this case
            raise common.TakeRefused("silent", "ACE-Step found its own output to be silent, or could not write it")
        common.write_take(request, *common.read_audio(result.audios[0]["path"]))


def count_steps(model: str) -> int:
    return STEPS["turbo" if "turbo" in model else "other"]


def require_started(answer: tuple[str, bool]) -> None:
    message, is_ready = answer
    if not is_ready:
        raise SystemExit(message)


def main() -> None:
    parser = common.make_parser(__doc__ or "")
    parser.add_argument("--model", default="acestep-v15-turbo", help="a folder of the clone's checkpoints")
    parser.add_argument("--lm", help="such as acestep-5Hz-lm-1.7B, also there")
    options = parser.parse_args()
    about = {
        "name": "ace-step-1.5-lm" if options.lm else "ace-step-1.5",
        "version": f"{options.model} with {options.lm}" if options.lm else options.model,
        "accepts": ["text", "lyrics", "reference"],
        "licence": "MIT (the repository; see the model's page for the weights)",
        "settings": {"steps": count_steps(options.model)},
    }
    common.run_generator(about, options, COMMIT, load, generate)


if __name__ == "__main__":
    main()
