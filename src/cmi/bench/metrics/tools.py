"""The heavy helpers that some tasks need. Each is loaded when it is first asked for, and asked for once.

A helper that is not installed here is an `InputError` in its place, so that a task can say in its table how to get it.
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
    bertscore_name: str = ""  # BERTScore's model is 1.4 GB, so that it is run only when it is named
    cache: Path | None = None  # the folder where embeddings are kept; None: nowhere
    on_embedded: Callable[[int], None] | None = None  # told how many more texts are embedded

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
