import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk import wordpunct_tokenize
from nltk.translate.bleu_score import sentence_bleu
from nltk.translate.meteor_score import single_meteor_score
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU

from cmi._util.errors import InputError
from cmi.bench.evaluation import Item, Setting
from cmi.bench.metrics.tools import Tools
from cmi.bench.tasks.captioning import character_bleu, evaluate, meteor, rouge_l, rouge_tokens

WORDS = "a the slow slower piano pianos drum drums beat beating happy glad song music plays playing Guitar , .".split()
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=25).map(" ".join)


@given(reference=SENTENCES, hypothesis=SENTENCES | st.text(max_size=40))
@settings(max_examples=200, deadline=None)
def test_character_bleu_is_that_of_nltk_on_raw_strings(reference, hypothesis):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = sentence_bleu([reference], hypothesis) if hypothesis else 0.0
    assert character_bleu(reference, hypothesis) == pytest.approx(theirs, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("protocol_is_strict", [False, True])
def test_meteor_is_that_of_nltk(wordnet, nltk_wordnet, protocol_is_strict):
    @given(reference=SENTENCES, hypothesis=SENTENCES)
    @settings(max_examples=200, deadline=None)
    def check(reference, hypothesis):
        expected, given_ = wordpunct_tokenize(reference), wordpunct_tokenize(hypothesis)
        theirs = single_meteor_score(expected, given_, wordnet=nltk_wordnet)
        ours = meteor(reference, hypothesis, wordnet, protocol_is_strict)
        if protocol_is_strict and reference.lower() == hypothesis.lower():
            assert ours == 1
        assert ours == pytest.approx(theirs, abs=1e-12) or (protocol_is_strict and ours == 1)

    check()


@given(reference=SENTENCES, hypothesis=SENTENCES)
@settings(max_examples=200, deadline=None)
def test_rouge_is_that_of_rouge_score(reference, hypothesis):
    theirs = RougeScorer(["rougeL"], use_stemmer=True).score(reference, hypothesis)["rougeL"]
    recall, f1 = rouge_l(rouge_tokens(reference), rouge_tokens(hypothesis))
    assert recall == pytest.approx(theirs.recall)
    assert f1 == pytest.approx(theirs.fmeasure)


def items_of(pairs, recordings=None):
    return [Item("", answer, truth, recordings[i] if recordings else str(i)) for i, (truth, answer) in enumerate(pairs)]


def value(items, protocol, metric, tools):
    evaluation = evaluate(items, Setting("SDD", protocol, "m", tools))
    return evaluation.values()[0, [m.name for m in evaluation.metrics].index(metric)]


@given(pairs=st.lists(st.tuples(SENTENCES, SENTENCES | st.just("")), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_strict_bleu_is_the_corpus_bleu_of_sacrebleu(pairs):
    tools = Tools()
    tools.thesaurus = InputError("not needed here")
    truths, answers = (list(side) for side in zip(*pairs, strict=True))
    theirs = BLEU().corpus_score(answers, [truths]).score
    assert value(items_of(pairs), "strict", "BL.", tools) == pytest.approx(theirs, abs=1e-6)


def test_strict_holds_an_answer_against_all_captions_of_its_track(tools):
    pairs = [("a slow piano song", "fast drums"), ("fast drums", "fast drums")]
    assert value(items_of(pairs, ["x", "x"]), "strict", "RO.", tools) == 100
    assert value(items_of(pairs, ["x", "y"]), "strict", "RO.", tools) == 50
    assert value(items_of(pairs, ["x", "x"]), "paper", "RO.", tools) == 50


def test_recall_rewards_length_and_f1_does_not(tools):
    long = items_of([("slow piano", "slow piano " + "noise " * 50)])
    assert value(long, "paper", "RO.", tools) == 100
    assert value(long, "strict", "RO.", tools) < 10


def test_what_is_not_there_is_not_computed_and_says_how_to_get_it():
    tools = Tools()
    tools.thesaurus = InputError("apt-get install wordnet-base")
    evaluation = evaluate(items_of([("a", "a")]), Setting("SDD", "paper", "m", tools))
    metrics = {metric.name: metric for metric in evaluation.metrics}
    assert "apt-get install" in metrics["ME."].not_computed
    assert "--bertscore" in metrics["BS."].not_computed
    assert metrics["RO."].not_computed == ""
