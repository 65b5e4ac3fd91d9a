"""Music captioning: describe a clip in a sentence or two. Data sets: Song Describer (SDD), MusicCaps.

Metrics, times 100
    BL.     strict: corpus BLEU-4 on words, sacrebleu's 13a tokens and exponential smoothing.
            paper: mean sentence BLEU-4 on characters, no smoothing.
    ME.     METEOR as in NLTK (alpha 0.9, beta 3, gamma 0.5; exact, stem, WordNet synonym) on word-punctuation tokens.
            strict leaves out the fragmentation penalty of a sentence that is matched whole in one piece, as Meteor 1.5
            does: equal sentences score 1.
    RO.     ROUGE-L with stems: F1 under strict, recall under paper, which rewards length.
    BS.     BERTScore: F1 under strict, recall under paper.

Protocols
    strict  All captions of a recording are its references: the best one counts (BLEU uses them jointly).
    paper   Each caption stands alone.
"""

import math
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise, repeat
from typing import TYPE_CHECKING

import numpy as np
from nltk.tokenize import wordpunct_tokenize
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq
from sacrebleu.metrics import BLEU

from cmi._util.errors import InputError
from cmi.bench.evaluation import Array, Evaluation, Item, Measured, Metric, Setting, Tally, of_sums, percent_mean
from cmi.bench.metrics.wordnet import Thesaurus, stem
from cmi.bench.tasks import Null, Reader, most_frequent

if TYPE_CHECKING:
    from cmi.bench.metrics.bertscore import BertScorer

ORDERS = 4
AS_IT_STANDS = "(compared as it stands)"
REMEMBERED_TEXTS = 8192  # tokenised captions, shared by a model and its nulls
Codes = NDArray[np.int64]

_NOT_ROUGE = re.compile(r"[^a-z0-9]+")


def character_bleu(reference: str, hypothesis: str) -> float:
    """Sentence BLEU-4 whose tokens are characters; an order without a match counts as the smallest positive double."""
    if not hypothesis:
        return 0.0
    code_points = np.frombuffer((reference + hypothesis).encode("utf-32-le", "surrogatepass"), np.uint32)
    _, characters = np.unique(code_points, return_inverse=True)
    sides = [characters[: len(reference)], characters[len(reference) :]]
    grams, log_precisions = sides, 0.0
    for order in range(1, ORDERS + 1):
        if order > 1:
            grams = _longer_grams(grams, [side[order - 1 :] for side in sides])
        most = max(int(side.max(initial=0)) for side in grams) + 1
        matches = np.minimum(*(np.bincount(side, minlength=most) for side in grams)).sum()
        if order == 1 and not matches:
            return 0.0
        precision = float(matches) / max(1, len(grams[1])) or sys.float_info.min
        log_precisions += math.log(precision) / ORDERS
    return math.exp(min(0.0, 1 - len(reference) / len(hypothesis)) + log_precisions)


def _longer_grams(grams: list[Codes], following: list[Codes]) -> list[Codes]:
    """Number the grams that are one character longer; equal grams get equal numbers on both sides."""
    characters = max(int(side.max(initial=0)) for side in following) + 1
    joined = [gram[: len(next_)] * characters + next_ for gram, next_ in zip(grams, following, strict=True)]
    _, numbers = np.unique(np.concatenate(joined), return_inverse=True)
    return [numbers[: len(joined[0])], numbers[len(joined[0]) :]]


def meteor(reference: str, hypothesis: str, thesaurus: Thesaurus, whole_is_perfect: bool = False) -> float:
    """METEOR of one sentence, aligned as NLTK does: from the end, exact words first, then stems, then synonyms."""
    expected, given = _meteor_tokens(reference), _meteor_tokens(hypothesis)
    pairs = _align(expected, given, thesaurus) if given else []
    if not pairs:
        return 0.0
    matches = len(pairs)
    chunks = 1 + sum(after != (before[0] + 1, before[1] + 1) for before, after in pairwise(pairs))
    precision, recall = matches / len(given), matches / len(expected)
    mean = precision * recall / (0.9 * precision + 0.1 * recall)
    if whole_is_perfect and chunks == 1 and matches == len(expected) == len(given):
        return 1.0
    return mean * (1 - 0.5 * (chunks / matches) ** 3)


@lru_cache(maxsize=REMEMBERED_TEXTS)
def _meteor_tokens(text: str) -> list[str]:
    return [word.lower() for word in wordpunct_tokenize(text)]


def _align(expected: Sequence[str], given: Sequence[str], thesaurus: Thesaurus) -> list[tuple[int, int]]:
    """Matched (given, expected) positions, in order of the given words."""
    pairs: list[tuple[int, int]] = []
    left = _match_equal(list(enumerate(given)), list(enumerate(expected)), pairs)
    # NLTK carries the stems, not the words, on to the synonym stage.
    stems_given, stems_expected = ([(at, stem(word)) for at, word in side] for side in left)
    still_left = _match_equal(stems_given, stems_expected, pairs)
    _match_synonyms(*still_left, pairs, thesaurus)
    return sorted(pairs)


Words = list[tuple[int, str]]


def _match_equal(given: Words, expected: Words, pairs: list[tuple[int, int]]) -> tuple[Words, Words]:
    """Pair equal words, last with last; return what is left of both sides."""
    positions: defaultdict[str, list[int]] = defaultdict(list)
    for at, word in expected:
        positions[word].append(at)
    left = []
    for at, word in reversed(given):
        if positions.get(word):
            pairs.append((at, positions[word].pop()))
        else:
            left.append((at, word))
    free = {at for places in positions.values() for at in places}
    return left[::-1], [(at, word) for at, word in expected if at in free]


def _match_synonyms(given: Words, expected: Words, pairs: list[tuple[int, int]], thesaurus: Thesaurus) -> None:
    """Pair each given word, last first, with the last expected word that is a synonym of it."""
    positions: defaultdict[str, list[int]] = defaultdict(list)
    for at, word in expected:
        positions[word].append(at)
    for at, word in reversed(given):
        synonyms = thesaurus.synonyms(word) & positions.keys()
        last = max((word for word in synonyms if positions[word]), key=lambda word: positions[word][-1], default=None)
        if last is not None:
            pairs.append((at, positions[last].pop()))


@lru_cache(maxsize=REMEMBERED_TEXTS)
def rouge_tokens(text: str) -> list[str]:
    """Lower-case runs of ASCII letters and digits, those of more than three characters stemmed."""
    return [stem(word) if len(word) > 3 else word for word in _NOT_ROUGE.sub(" ", text.lower()).split()]


def rouge_l(reference: Sequence[str], hypothesis: Sequence[str]) -> tuple[float, float]:
    """Recall and F1 of the longest common subsequence of tokens."""
    common = LCSseq.similarity(reference, hypothesis)
    if not common:
        return 0.0, 0.0
    return common / len(reference), 2 * common / (len(reference) + len(hypothesis))


def corpus_bleu(sums: Array) -> Array:
    """BLEU-4 from summed counts (b, 10): matches 1-4, totals 1-4, hypothesis length, reference length."""
    matches, totals, lengths = np.split(sums, [ORDERS, 2 * ORDERS], axis=1)
    # Exponential smoothing: the k-th order in a row of those without a match is given 1 / 2^k of one.
    unmatched = np.cumsum((matches == 0) & (totals > 0), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        precisions = np.where(matches > 0, matches, 0.5**unmatched) / totals
        brevity = np.where(lengths[:, 0] < lengths[:, 1], 1 - lengths[:, 1] / lengths[:, 0], 0.0)
        score = np.exp(brevity + np.mean(np.log(precisions), axis=1))
    possible = (totals.min(axis=1) > 0) & (matches.max(axis=1) > 0)
    return np.where(possible, 100 * score, 0.0)


References = Callable[[Item], list[str]]  # the captions that an item is compared with


def evaluate(items: Iterable[Item], setting: Setting) -> Evaluation:
    strict = setting.protocol == "strict"
    references = _all_of_recording(items) if strict else lambda item: [item.truth]
    thesaurus, bert = setting.tools.thesaurus, setting.tools.bert_scorer
    sacrebleu = BLEU(effective_order=True)

    def measure(item: Item, bert_score: float) -> Measured:
        expected = references(item)
        given = rouge_tokens(item.answer)
        rouge = max(rouge_l(rouge_tokens(caption), given)[strict] for caption in expected)
        aligned = 0.0
        if not isinstance(thesaurus, InputError):
            aligned = max(meteor(caption, item.answer, thesaurus, strict) for caption in expected)
        bleu = _bleu_counts(sacrebleu, item.answer, expected) if strict else [character_bleu(item.truth, item.answer)]
        return Measured(bool(item.answer.strip()), [aligned, rouge, bert_score, *bleu])

    tally = Tally()
    for item, score in zip(items, _bert_scores(bert, items, references, strict), strict=False):
        tally.add(item, measure(item, score))
    return tally.evaluation(
        [
            of_sums("BL.", corpus_bleu, columns=slice(3, None)) if strict else percent_mean("BL.", 3),
            _unless(thesaurus, percent_mean("ME.", 0)),
            percent_mean("RO.", 1),
            _unless(bert, percent_mean("BS.", 2)),
        ]
    )


def _all_of_recording(items: Iterable[Item]) -> References:
    captions: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for item in items:
        captions[item.recording][item.truth] = None
    return lambda item: list(captions[item.recording])


def _bleu_counts(sacrebleu: BLEU, hypothesis: str, references: list[str]) -> list[float]:
    score = sacrebleu.sentence_score(hypothesis, references)
    return [*score.counts, *score.totals, score.sys_len, score.ref_len]


def _bert_scores(
    scorer: "BertScorer | InputError", items: Iterable[Item], references: References, strict: bool
) -> Iterable[float]:
    if isinstance(scorer, InputError):
        return repeat(0.0)  # as many as there are items
    scores = scorer.score([item.answer for item in items], [references(item) for item in items])
    return map(float, scores[:, 2 if strict else 1])  # of precision, recall and F1


def _unless(tool: object, metric: Metric) -> Metric:
    return Metric(metric.name, not_computed=str(tool)) if isinstance(tool, InputError) else metric


def nulls(items: Iterable[Item]) -> list[Null]:
    return [most_frequent(items, "most frequent caption")]


def reader(setting: Setting, truths: Iterable[str]) -> Reader:
    return lambda answer: AS_IT_STANDS if answer.strip() else None
