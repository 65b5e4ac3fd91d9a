"""XLM-R's tokenizer."""

from collections.abc import Callable
from pathlib import Path

from cmi.errors import InputError
from cmi.hub import quiet_hub

TOKENIZER = "FacebookAI/xlm-roberta-base"
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "sentencepiece.bpe.model")

Tokenize = Callable[[str], list[int]]  # a text's token ids, all of them, between <s> and </s>


def load_tokenizer(folder: Path | None) -> Tokenize:
    """From the checkpoint's own folder if it is there, else from the hub."""
    from transformers import AutoTokenizer

    own = folder is not None and (folder / TOKENIZER_FILES[0]).exists()
    try:
        with quiet_hub():
            tokenizer = AutoTokenizer.from_pretrained(folder if own else TOKENIZER, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"the tokenizer {TOKENIZER} could not be had: put its {TOKENIZER_FILES[0]} beside the model's weights"
        ) from error
    return lambda text: list(tokenizer(text, truncation=False, verbose=False)["input_ids"])
