"""What the abbreviations of Table 3 stand for: its rows are data sets, its columns metrics."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from cmi.bench.catalog import DATASETS
from cmi.report.tables import Table

METRICS = {
    "GES": "MIREX weighted key score",
    "aR2": "R² of arousal",
    "vR2": "R² of valence",
    "ar": "correlation of arousal",
    "vr": "correlation of valence",
    "ar^2": "squared correlation of arousal",
    "vr^2": "squared correlation of valence",
    "ROC": "area under the ROC curve",
    "PR": "average precision",
    "Acc.": "accuracy",
    "RPA": "raw pitch accuracy",
    "BL.": "BLEU-4",
    "ME.": "METEOR",
    "RO.": "ROUGE-L",
    "BS.": "BERTScore",
    "WE.": "word error rate",
    "CE.": "character error rate",
    "WE.cap": "word error rate, at most 100 for each item",
    "CE.cap": "character error rate, at most 100 for each item",
    "WE.med": "median word error rate",
    "CE.med": "median character error rate",
    "FM.": "F-measure",
    "FM@20ms": "F-measure within 20 ms",
    "FM@70ms": "F-measure within 70 ms",
    "maF1": "macro F1",
    "miF1": "micro F1",
}

# For tables in a terminal, where full titles do not fit.
SHORT_METRICS = {
    "GES": "key score",
    "aR2": "R² arousal",
    "vR2": "R² valence",
    "ar": "r arousal",
    "vr": "r valence",
    "ar^2": "r² arousal",
    "vr^2": "r² valence",
    "ROC": "ROC AUC",
    "PR": "avg. prec.",
    "Acc.": "accuracy",
    "RPA": "raw pitch",
    "BL.": "BLEU-4",
    "ME.": "METEOR",
    "RO.": "ROUGE-L",
    "BS.": "BERTScore",
    "WE.": "WER",
    "CE.": "CER",
    "WE.cap": "WER, capped",
    "CE.cap": "CER, capped",
    "WE.med": "WER, median",
    "CE.med": "CER, median",
    "FM.": "F-measure",
    "FM@20ms": "F at 20 ms",
    "FM@70ms": "F at 70 ms",
    "maF1": "macro F1",
    "miF1": "micro F1",
}
SHORT_ROWS = {
    "GS-K": "GiantSteps key",
    "EMO": "Emotion in Music",
    "MTT": "MagnaTagATune tags",
    "M-G": "Jamendo genre",
    "M-E": "Jamendo emotion",
    "M-I": "Jamendo instrument",
    "M-50": "Jamendo top 50",
    "GTZ.": "GTZAN genre",
    "VS-T": "VocalSet technique",
    "NI": "NSynth instrument",
    "NP": "NSynth pitch",
    "SDD": "Song Describer",
    "MC": "MusicCaps",
    "DS": "DSing lyrics",
    "G-B": "GTZAN beats",
    "G-D": "GTZAN downbeats",
    "BR-B": "Ballroom beats",
    "BR-D": "Ballroom downbeats",
    "MDB": "MedleyDB melody",
    "GZ": "Guzheng technique",
}


def task_title(row: str) -> str:
    """Name the task of a row: 'singing technique'."""
    return next(one.task for one in DATASETS.values() if one.row == row).replace("_", " ")


@cache
def row_titles() -> dict[str, str]:
    """Name the data set and the task of each row: {'VS-T': 'VocalSet, singing technique', ...}."""
    corpora = {one.row: corpus.title for corpus in DATASETS.corpora.values() for one in corpus.datasets}
    return {row: f"{corpora[row].partition(' (')[0]}, {task_title(row)}" for row in DATASETS.rows}


def in_words(table: Table) -> Table:
    """Return a table whose first two columns are rows and metrics with short names in place of their codes."""
    rows = []
    for row, metric, *others in table.rows:
        name, _, arrow = metric.partition(" ")
        rows.append([SHORT_ROWS.get(row, row), f"{SHORT_METRICS.get(name, name)} {arrow}".rstrip(), *others])
    return replace(table, rows=rows)


def spell_out(places: Iterable[tuple[str, str]]) -> list[str]:
    """Return two notes that spell out rows and metrics, each once and in the order of (row, metric)."""
    shown = list(places)
    rows = [f"{row} = {row_titles()[row]}" for row in dict.fromkeys(row for row, _ in shown)]
    metrics = [f"{name} = {METRICS[name]}" for name in dict.fromkeys(metric for _, metric in shown) if name in METRICS]
    return [f"Rows: {'; '.join(rows)}."] * bool(rows) + [f"Metrics: {'; '.join(metrics)}."] * bool(metrics)
