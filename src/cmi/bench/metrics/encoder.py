"""Frozen text encoders from a folder or the hub: safetensors only, no remote code, the same vectors in any batch."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cmi._util.device import choose_device
from cmi._util.errors import InputError
from cmi._util.hub import quiet_transformers
from cmi._util.pretrained import SAFE, load_pretrained, read_model_config

if TYPE_CHECKING:
    from torch import Tensor

MAX_CHARACTERS = 20_000  # far more than 512 tokens; protects the tokenizer from huge answers
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
UNSTATED_MAX_TOKENS = 512
TOKENS_PER_BATCH = 2048  # larger batches exceed the processor cache and are slower


@dataclass(frozen=True)
class TextEncoder:
    """A frozen transformers encoder with its tokenizer."""

    model: Any
    tokenizer: Any
    max_tokens: int  # of its tokenizer and its position embeddings

    @property
    def _pad(self) -> int:
        return self.tokenizer.pad_token_id or 0

    def tokenize(self, texts: Sequence[str], max_tokens: int) -> list[list[int]]:
        """Return the token ids of each text with special tokens, truncated to `max_tokens`."""
        ids = self.tokenizer(list(texts), truncation=True, max_length=max_tokens)["input_ids"]
        return [text or [self._pad] for text in ids]  # a tokenizer without special tokens gives none for an empty text

    def token_vectors(self, ids: Sequence[Sequence[int]]) -> tuple["Tensor", "Tensor"]:
        """Return the last layer's vectors (texts, tokens, dimension) and the mask (texts, tokens)."""
        import torch

        # Padded on the right: padding on the left would shift positions.
        longest = max(map(len, ids))
        padded = torch.tensor([[*text, *[self._pad] * (longest - len(text))] for text in ids], device=self.model.device)
        lengths = torch.tensor([len(text) for text in ids], device=self.model.device)
        mask = torch.arange(longest, device=self.model.device) < lengths[:, None]
        with torch.inference_mode():
            return self.model(input_ids=padded, attention_mask=mask.long()).last_hidden_state, mask


def load_encoder(folder: Path, layers: int | None = None) -> TextEncoder:
    """Load the encoder in `folder`, up to layer `layers` (all if None), in float32, on the GPU if there is one."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    from cmi._util.weights import in_own_memory

    try:
        with quiet_transformers():
            config = read_model_config(AutoModel, folder)
            if layers is not None:
                if not 1 <= layers <= config.num_hidden_layers:
                    raise InputError(
                        f"{folder} has layers 1 to {config.num_hidden_layers}, but layer {layers} was requested"
                    )
                config.num_hidden_layers = layers
            # The pooler is not used and may be missing.
            model = load_pretrained(AutoModel, folder, ["pooler."], config, dtype=torch.float32)
            tokenizer = AutoTokenizer.from_pretrained(folder, **SAFE)
    except (OSError, ValueError, RuntimeError, LookupError, ImportError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"{folder} has no text encoder that can be loaded: {reason}") from error
    if len(tokenizer) <= len(tokenizer.all_special_ids):  # a folder without a vocabulary
        raise InputError(f"{folder} lacks the vocabulary of its tokenizer: expected tokenizer.json or vocab.txt")
    if config.is_encoder_decoder:
        raise InputError(f"{folder} holds an encoder-decoder ({config.model_type}), expected a plain encoder")
    in_own_memory(model)
    model.to(choose_device())
    return TextEncoder(model, tokenizer, min(_position_limit(model), tokenizer.model_max_length))


def clean(text: str) -> str:
    """Truncate a text to 20,000 characters and replace lone surrogates by U+FFFD."""
    return LONE_SURROGATE.sub("\ufffd", text[:MAX_CHARACTERS])


def token_batches(lengths: Sequence[int], budget: int = TOKENS_PER_BATCH) -> Iterator[list[int]]:
    """Yield batches of positions in `lengths`, longest first, of at most `budget` tokens with padding."""
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lambda i: lengths[i], reverse=True):
        if batch and (len(batch) + 1) * lengths[batch[0]] > budget:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def _position_limit(model: Any) -> int:
    """Return the number of usable position embeddings; RoBERTa leaves the first padding_idx + 1 unused."""
    limit = getattr(model.config, "max_position_embeddings", None) or UNSTATED_MAX_TOKENS
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            limit = min(limit, module.num_embeddings - module.padding_idx - 1)
    return int(limit)
