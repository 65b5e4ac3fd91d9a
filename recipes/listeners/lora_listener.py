"""What LTU, LTU-AS and GAMA share: a LLaMA with an audio encoder in the authors' changed transformers and peft.

All settings are those of the models' own inference scripts, except that weights are float32, as CMI-Bench's authors
loaded them. `transformers` and `peft` have to be those of the model's repository.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import worker_common as common

FRAMES = 1024  # of 10 ms: what is longer than 10.24 s is not heard
MEAN, DEVIATION = -5.081, 4.4849  # of the filter bank, as in training


def add_options(parser: argparse.ArgumentParser, base: str, checkpoint: str) -> None:
    existing = common.existing_path
    parser.add_argument("--base", required=True, type=existing, help=f"folder of the language model, {base}")
    parser.add_argument("--checkpoint", required=True, type=existing, help=checkpoint)


def enter_repository(folder: Path, transformers: str) -> None:
    """Import the repository's own transformers and peft; templates are opened relative to `folder`."""
    common.enter_clone(folder, ".", f"{transformers}/src", "peft-main/src")


def load_llama(base: str, checkpoint: str, dropout: float, device: str) -> SimpleNamespace:
    """Load the language model, its adapters and the prompt template."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import LlamaForCausalLM, LlamaTokenizer
    from utils.prompter import Prompter

    tokenizer = LlamaTokenizer.from_pretrained(base)
    llama = LlamaForCausalLM.from_pretrained(base, torch_dtype=torch.float32)
    adapters = LoraConfig(
        r=8,
        lora_alpha=16,
        target_modules=["q_proj", "v_proj"],
        lora_dropout=dropout,
        bias="none",
        task_type="CAUSAL_LM",
    )
    model = get_peft_model(llama, adapters)
    # the authors' files are pickles: a checkpoint has to come from them
    model.load_state_dict(torch.load(checkpoint, map_location="cpu"), strict=False)
    model.config.pad_token_id = tokenizer.pad_token_id = 0
    model.config.bos_token_id = 1
    model.config.eos_token_id = 2
    model.eval()
    model.to(device)
    return SimpleNamespace(model=model, tokenizer=tokenizer, prompter=Prompter("alpaca_short"), device=device)


def read_filter_bank(audio: str) -> Any:
    """Return the filter bank of the first 10.24 s of a mono file of 16 kHz, of shape (1, 1024, 128)."""
    import torch
    import torchaudio

    waveform, rate = torchaudio.load(audio)
    bank = torchaudio.compliance.kaldi.fbank(
        waveform - waveform.mean(),
        htk_compat=True,
        sample_frequency=rate,
        use_energy=False,
        window_type="hanning",
        num_mel_bins=128,
        dither=0.0,
        frame_shift=10,
    )
    padded = torch.nn.functional.pad(bank, (0, 0, 0, max(0, FRAMES - len(bank))))[:FRAMES]
    return ((padded - MEAN) / DEVIATION).unsqueeze(0)


def generate(llama: SimpleNamespace, prompt: str, audio_input: Any, max_new_tokens: int, **sampling: Any) -> str:
    """Return what the tokenizer makes of prompt and answer, special tokens included."""
    import torch
    from transformers import GenerationConfig

    tokenizer, model = llama.tokenizer, llama.model
    settings = GenerationConfig(
        do_sample=True,
        temperature=0.1,
        top_p=0.95,
        max_new_tokens=max_new_tokens,
        bos_token_id=model.config.bos_token_id,
        eos_token_id=model.config.eos_token_id,
        pad_token_id=model.config.pad_token_id,
        num_return_sequences=1,
        **sampling,
    )
    with torch.no_grad():
        made = model.generate(
            input_ids=tokenizer(prompt, return_tensors="pt")["input_ids"].to(llama.device),
            audio_input=audio_input,
            generation_config=settings,
            return_dict_in_generate=True,
            output_scores=True,
            max_new_tokens=max_new_tokens,
        )
    return str(tokenizer.decode(made.sequences[0]))


def answer_by_filter_bank(llama: SimpleNamespace, question: str, audio: str) -> str:
    """Ask LTU or GAMA about a file; the answer is cut out of the text by length, as their scripts do it."""
    prompt = llama.prompter.generate_prompt(question, None)
    text = generate(llama, prompt, read_filter_bank(audio).to(llama.device), 400)
    return text[len(prompt) + 6 : -4]  # <s> and </s>
