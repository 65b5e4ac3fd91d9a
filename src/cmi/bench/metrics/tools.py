"""Models and data that some tasks need, each loaded once, on first use.

If loading fails, the attribute is the `InputError`, which the task reports in its table.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from cmi._util.errors import InputError

if TYPE_CHECKING:
    from cmi.bench.metrics.bertscore import BertScorer
    from cmi.bench.metrics.embed import TextEmbedder
    from cmi.bench.metrics.wordnet import Thesaurus

T = TypeVar("T")


@dataclass
class Tools:
    embedder_name: str = "minilm"
    bertscore_name: str = ""  # empty: no BERTScore, because its model has 1.4 GB
    cache: Path | None = None  # the folder of cached embeddings; None: no cache
    on_embedded: Callable[[int], None] | None = None  # gets the number of newly embedded texts

    @cached_property
    def embedder(self) -> "TextEmbedder | InputError":
        from cmi._util.cache import VectorCache
        from cmi.bench.metrics.embed import load_embedder

        return _attempt(lambda: load_embedder(self.embedder_name, VectorCache(self.cache) if self.cache else None))

    @cached_property
    def bert_scorer(self) -> "BertScorer | InputError":
        if not self.bertscore_name:
            return InputError("name its model: --bertscore roberta-large (1.4 GB from the hub, or a folder)")
        from cmi.bench.metrics.bertscore import load_bert_scorer

        return _attempt(lambda: load_bert_scorer(self.bertscore_name))

    @cached_property
    def thesaurus(self) -> "Thesaurus | InputError":
        from cmi.bench.metrics.wordnet import load_thesaurus

        return _attempt(load_thesaurus)


def _attempt(load: Callable[[], T]) -> T | InputError:
    try:
        return load()
    except InputError as error:
        return error
