"""The paper protocol of CMI-Bench, written straight with the libraries that the field uses: the baseline of scoring.py.

One function per kind of task: items in, the published metrics out, every item measured afresh. Parsers of answers and
the normal form of lyrics are cmi's own on both sides, so that the comparison is one of metrics. Emotion regression,
Guzheng techniques and melody are left out: the first two are a few lines with or without a library, and no answers to
the third were released.
"""

import io
import warnings
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

import jiwer
import mir_eval.beat
import mir_eval.key
import nltk
import numpy as np
from nltk.corpus.reader import WordNetCorpusReader
from nltk.tokenize import wordpunct_tokenize
from nltk.translate.bleu_score import sentence_bleu
from nltk.translate.meteor_score import single_meteor_score
from rouge_score.rouge_scorer import RougeScorer  # type: ignore[import-untyped]

from cmi.bench.evaluation import Item
from cmi.bench.metrics.wordnet import DEBIAN
from cmi.bench.tasks import beat, key, lyrics

Values = dict[str, float]  # by metric


class DebianWordNet(WordNetCorpusReader):  # type: ignore[misc]
    """NLTK's reader on Debian's files, which lack the names of WordNet's source files and a second version's map."""

    def open(self, file: str) -> Any:
        return (
            io.StringIO("".join(f"{i:02d}\tfile\t1\n" for i in range(45))) if file == "lexnames" else super().open(file)
        )

    def map_wn(self, version: str = "wordnet") -> None: ...


def nltk_wordnet() -> Any:
    try:
        nltk.data.find("corpora/wordnet.zip")
    except LookupError:
        nltk.data.path.append(str(DEBIAN))
        return DebianWordNet(str(DEBIAN), None)
    return nltk.corpus.wordnet


WORDNET = nltk_wordnet()


def score_key(items: Sequence[Item]) -> Values:
    scores = []
    for item in items:
        estimated = key.parse_paper(item.answer)
        scores.append(mir_eval.key.weighted_score(item.truth, str(estimated)) if estimated else 0.0)
    return {"GES": 100 * fmean(scores)}


def score_labels(items: Sequence[Item]) -> Values:
    classes = {_normal(item.truth) for item in items}
    right = 0
    for item in items:
        answer = _normal(item.answer)
        named = [name for name in classes if name in answer]
        right += named == [_normal(item.truth)]
    return {"Acc.": 100 * right / len(items)}


def _normal(text: str) -> str:
    for character in "_-'. ":
        text = text.replace(character, "")
    return text.replace("#", "♯").lower()


def score_captions(items: Sequence[Item]) -> Values:
    rouge = RougeScorer(["rougeL"], use_stemmer=True)
    bleus, meteors, recalls = [], [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NLTK remarks on every caption without a common 4-gram
        for item in items:
            bleus.append(sentence_bleu([item.truth], item.answer))  # raw strings: BLEU on characters
            tokens = wordpunct_tokenize(item.truth), wordpunct_tokenize(item.answer)
            meteors.append(single_meteor_score(*tokens, wordnet=WORDNET))
            recalls.append(rouge.score(item.truth, item.answer)["rougeL"].recall)
    return {"BL.": 100 * fmean(bleus), "ME.": 100 * fmean(meteors), "RO.": 100 * fmean(recalls)}


def score_lyrics(items: Sequence[Item]) -> Values:
    word_rates, character_rates = [], []
    for item in items:
        expected = " ".join(lyrics.words(item.truth))
        given = " ".join(lyrics.words(lyrics.transcription(item.answer)))
        word_rates.append(jiwer.wer(expected, given))
        character_rates.append(jiwer.cer(expected, given))
    return {"WE.": 100 * fmean(word_rates), "CE.": 100 * fmean(character_rates)}


def score_times(items: Sequence[Item]) -> Values:
    scores = []
    for item in items:
        reference, estimated = beat.parse_paper(item.truth), beat.parse_paper(item.answer)
        read = reference is not None and estimated is not None
        scores.append(mir_eval.beat.f_measure(np.array(reference), np.array(estimated)) if read else 0.0)
    return {"FM.": 100 * fmean(scores)}


SCORERS: dict[str, Callable[[Sequence[Item]], Values]] = {  # by data set
    "GS_key": score_key,
    "GTZAN": score_labels,
    "VocalSet_tech": score_labels,
    "Nsynth_instrument": score_labels,
    "Nsynth_pitch": score_labels,
    "SDD": score_captions,
    "MusicCaps": score_captions,
    "DSing": score_lyrics,
    "gtzan_beat": score_times,
    "gtzan_downbeat": score_times,
    "ballroom_beat": score_times,
    "ballroom_downbeat": score_times,
}
