from types import SimpleNamespace

import torch
from stand_in import record


class GenerationMixin:
    def generate(
        self,
        inputs=None,
        audio_input=None,
        generation_config=None,
        logits_processor=None,
        stopping_criteria=None,
        prefix_allowed_tokens_fn=None,
        synced_gpus=None,
        **kwargs,
    ):
        heard = [list(audio_input.shape), round(audio_input.float().mean().item(), 3)]
        record("generate", heard=heard, dtype=str(audio_input.dtype), settings=generation_config.given)
        if "broken" in "".join(map(chr, kwargs["input_ids"][0])):
            raise RuntimeError("CUDA out of memory")
        answer = torch.tensor([ord(letter) for letter in f"Blues {torch.randint(1000, ()).item()}</s>"])
        return SimpleNamespace(sequences=torch.cat([kwargs["input_ids"], answer[None]], dim=1))
