"""BERTScore: how well two texts match, token by token (Zhang et al., ICLR 2020).

Method
    Both texts pass through an encoder. Each token's vector in one hidden layer is matched with the nearest token of the
    other text by cosine. Precision is the mean over the candidate's tokens, recall over the reference's, F1 their
    harmonic mean. No idf weights, no baseline rescaling: the plain scores of the bert-score package.

Conventions
    Texts are stripped. The start and end tokens can be matched but are not averaged over, as in bert-score.
    A text without any other token scores 0. Of several references the one with the best F1 counts, with its own
    precision and recall (bert-score takes the best of each, which may come from different references).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi._util.hub import find_model, require_packages
from cmi.bench.metrics.encoder import TextEncoder, clean, load_encoder, token_batches

DEFAULT_MODEL = "roberta-large"
DEFAULT_LAYER = 17  # of 24; the bert-score package found it best on WMT16
DEFAULT_REVISION = "722cf37b1afa9454edce342e7895e588b6ff1d59"
MAX_TOKENS = 512
PAIRS_PER_BATCH = 64  # at most 270 MB of token vectors with roberta-large


class TokenVectors(NamedTuple):
    """The token vectors of a text."""

    unit: NDArray[np.float32]  # (tokens, dimension)
    counted: NDArray[np.bool_]  # (tokens,)  not the start and end tokens


def load_bert_scorer(name: str = DEFAULT_MODEL, layer: int = DEFAULT_LAYER) -> "BertScorer":
    """Load BERTScore with layer `layer` of the encoder `name`, a model folder or a hub id."""
    require_packages("BERTScore", "bertscore", "torch", "transformers")
    folder, full_name = find_model(name, DEFAULT_REVISION if name == DEFAULT_MODEL else None, "the BERTScore model")
    return BertScorer(f"{full_name} layer {layer}", load_encoder(folder, layers=layer))


@dataclass(frozen=True)
class BertScorer:
    """BERTScore with one encoder. `name` holds model, revision and layer."""

    name: str
    encoder: TextEncoder

    def score(self, candidates: Sequence[str], references: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """Compute precision, recall and F1 of each candidate against its references: (n, 3)."""
        pairs = [
            (item, candidate.strip(), reference.strip())
            for item, (candidate, own) in enumerate(zip(candidates, references, strict=True))
            for reference in own
        ]
        scores = np.full((len(candidates), 3), -np.inf)
        for start in range(0, len(pairs), PAIRS_PER_BATCH):
            batch = pairs[start : start + PAIRS_PER_BATCH]
            vectors = self._token_vectors({text for _, *texts in batch for text in texts})
            for item, candidate, reference in batch:
                found = greedy_match(vectors[candidate], vectors[reference])
                if found[2] > scores[item, 2]:
                    scores[item] = found
        if np.isinf(scores).any():
            raise InputError(f"item {int(np.isinf(scores[:, 2]).argmax())} has no reference to compare its text with")
        return scores

    def _token_vectors(self, texts: set[str]) -> dict[str, TokenVectors]:
        order = sorted(texts)
        max_tokens = min(MAX_TOKENS, self.encoder.max_tokens)
        ids = self.encoder.tokenize([self._readable(text) for text in order], max_tokens)
        tokenizer = self.encoder.tokenizer
        found: dict[str, TokenVectors] = {}
        for batch in token_batches([len(tokens) for tokens in ids]):
            states, _ = self.encoder.token_vectors([ids[i] for i in batch])  # (B, T, D)
            for i, tokens in zip(batch, states.cpu().numpy(), strict=True):
                vectors = tokens[: len(ids[i])]
                unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
                special = np.isin(ids[i], (tokenizer.cls_token_id, tokenizer.sep_token_id))
                found[order[i]] = TokenVectors(unit, ~special & bool(order[i]))
        return found

    def _readable(self, text: str) -> str:
        """Prepare a text for the tokenizer: byte-level ones recognise the first word only after a space."""
        from transformers import GPT2Tokenizer, RobertaTokenizer

        spaced = isinstance(self.encoder.tokenizer, (GPT2Tokenizer, RobertaTokenizer))
        return clean(f" {text}" if spaced and text else text)


def greedy_match(candidate: TokenVectors, reference: TokenVectors) -> tuple[float, float, float]:
    """Compute precision, recall and F1 of two texts; all 0 if either has no token that counts."""
    if not candidate.counted.any() or not reference.counted.any():
        return 0.0, 0.0, 0.0
    cosines = candidate.unit @ reference.unit.T  # (candidate tokens, reference tokens)
    precision = float(cosines.max(axis=1)[candidate.counted].mean())
    recall = float(cosines.max(axis=0)[reference.counted].mean())
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total else 0.0
