"""Tokenizers that lie beside a checkpoint's weights or on the hub; XLM-R's unless another is named."""

from collections.abc import Callable
from pathlib import Path

from cmi._util.errors import InputError
from cmi._util.hub import quiet_hub
from cmi._util.printable import printable

TOKENIZER = "FacebookAI/xlm-roberta-base"
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "sentencepiece.bpe.model")

Tokenize = Callable[[str], list[int]]  # a text's token ids, all of them, between <s> and </s>


def load_tokenizer(
    folder: Path | None, vocabulary: int, name: str = TOKENIZER, revision: str | None = None
) -> Tokenize:
    """From the checkpoint's own folder if it is there, else from the hub; for a model of that many token ids."""
    from transformers import AutoTokenizer

    own = folder / TOKENIZER_FILES[0] if folder is not None and (folder / TOKENIZER_FILES[0]).exists() else None
    try:
        with quiet_hub():
            place = {"revision": revision} if own is None else {}
            tokenizer = AutoTokenizer.from_pretrained(folder if own else name, trust_remote_code=False, **place)
    except Exception as error:  # a damaged file is whatever transformers and its tokenizers stumble over
        if own is not None:
            raise _damaged(own, error) from error
        raise InputError(
            f"the tokenizer {name} could not be loaded: put its {TOKENIZER_FILES[0]} beside the model's weights"
        ) from error

    def tokenize(text: str) -> list[int]:
        try:
            ids = list(tokenizer(text, truncation=False, verbose=False)["input_ids"])
        except Exception as error:  # some settings are looked at only now
            raise _damaged(own or name, error) from error
        if len(ids) < 2 or not 0 <= min(ids) <= max(ids) < vocabulary:
            raise InputError(
                f"{own or name}: not this model's tokenizer: expected ids below {vocabulary} between <s> and </s>"
            )
        return ids

    return tokenize


def _damaged(tokenizer: Path | str, error: Exception) -> InputError:
    reason = printable(str(error).strip().partition("\n")[0][:200])
    return InputError(f"{tokenizer}: not a tokenizer that can be used ({reason})")
