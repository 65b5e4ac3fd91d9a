"""Is it musicality or alignment that makes people prefer a take overall? Table 15 of the paper.

People's overall choice is predicted from the differences of both scores: by the sign of one difference or of their
mean, and by models fitted in five folds (logistic regression; support vector machines, linear and RBF, with Platt's
probabilities). No prompt is in two folds. The metrics are accuracy, ROC-AUC, and the mean squared error of the
probability, which for a single difference is its logistic function.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import require_extra
from cmi.report.numbers import number, percent
from cmi.report.tables import Table
from cmi.rewardbench.items import RatedItem
from cmi.rewardbench.tasks import Array, Scores, Task, answers, ask
from cmi.stats import logistic
from cmi.stats.predictions import detection

FOLDS = 5
SEED = 0
FEWEST = 50  # pairs; too few otherwise for five folds
OVERALL = tuple(Task("overall", True, ("overall",), answer) for answer in ("musicality", "alignment", "mean"))


PUBLISHED = (
    ("sign of musicality", "73.4", "0.8001", "0.1884"),
    ("sign of alignment", "69.7", "0.7714", "0.2031"),
    ("sign of mean of both", "72.6", "0.7962", "0.1851"),
    ("logistic regression", "73.1", "0.7991", "0.1845"),
    ("SVM, linear", "72.5", "0.7990", "0.1846"),
    ("SVM, RBF", "72.6", "0.7798", "0.1875"),
)


class Predictor(NamedTuple):
    model: str
    dataset: str
    method: str
    n: int
    accuracy: float
    auc: float
    mse: float


def predictors(items: Sequence[RatedItem], model: str, scores: Scores) -> list[Predictor]:
    """Evaluate all methods on all data sets with enough decided overall votes."""
    found = []
    for dataset, differences, truth, clusters in _decided(items, scores):
        said = {
            f"sign of {name}": logistic(values)
            for name, values in zip(("musicality", "alignment", "mean of both"), differences, strict=True)
        }
        both = differences[:2].T
        said |= {method: _in_folds(both, truth, clusters, fit) for method, fit in _fitters().items()}
        found += [_measured((model, dataset), method, values, truth) for method, values in said.items()]
    return found


def weights(items: Sequence[RatedItem], scores: Scores) -> dict[str, tuple[float, float, float]]:
    """Fit logistic regression per data set; return the weights of musicality and alignment, and the bias."""
    found = {}
    for dataset, differences, truth, _ in _decided(items, scores):
        fitted = _fitters()["logistic regression"]().fit(differences[:2].T, truth)
        musicality, alignment = fitted.coef_[0]
        found[dataset] = (float(musicality), float(alignment), float(fitted.intercept_[0]))
    return found


def _decided(items: Sequence[RatedItem], scores: Scores) -> Iterator[tuple[str, Array, Array, NDArray[np.int64]]]:
    """Yield each data set with enough decided pairs, the differences (3, n) by OVERALL, the truth and the clusters."""
    for by_task in zip(*(ask(items, [task]) for task in OVERALL), strict=True):
        differences, asked = np.stack([answers(asked, scores) for asked in by_task]), by_task[0]
        counted = ~np.isnan(differences).any(axis=0) & (asked.truth != 0.5)
        if counted.sum() >= FEWEST and len(np.unique(asked.truth[counted])) == 2:
            yield asked.dataset, differences[:, counted], asked.truth[counted], asked.clusters[counted]


def _fitters() -> dict[str, Callable[[], Any]]:
    with require_extra("fitting predictors of the overall preference", "rewardbench"):
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import SVC
    return {
        "logistic regression": LogisticRegression,
        "SVM, linear": lambda: CalibratedClassifierCV(SVC(kernel="linear"), ensemble=False),
        "SVM, RBF": lambda: CalibratedClassifierCV(SVC(kernel="rbf"), ensemble=False),
    }


def _in_folds(both: Array, truth: Array, clusters: NDArray[np.int64], fit: Callable[[], Any]) -> Array:
    """Predict each pair's probability by a model that was fitted without its prompt."""
    from sklearn.model_selection import StratifiedGroupKFold

    said = np.empty(len(truth))
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=SEED)
    for train, test in folds.split(both, truth, clusters):
        said[test] = fit().fit(both[train], truth[train]).predict_proba(both[test])[:, 1]
    return said


def _measured(about: tuple[str, str], method: str, said: Array, truth: Array) -> Predictor:
    right = np.where(said == 0.5, 0.5, (said > 0.5) == (truth == 1))
    auc = detection(said, truth == 1, np.ones((1, len(truth)))).roc_auc[0]
    return Predictor(*about, method, len(truth), float(right.mean()), float(auc), float(np.mean((said - truth) ** 2)))


def predictors_table(found: Sequence[Predictor], fitted: dict[str, dict[str, tuple[float, float, float]]]) -> Table:
    rows = [
        [
            *(one.model, one.dataset, one.method),
            *(percent(one.accuracy), number(one.auc, 4), number(one.mse, 4), str(one.n)),
        ]
        for one in found
    ]
    rows += [["(paper, Table 15)", "music-arena", *numbers, "1340"] for numbers in PUBLISHED]
    notes = [
        f"{model}, {dataset}: logistic regression weighs musicality {number(m)}, alignment {number(a)}, "
        f"bias {number(b)}."
        for model, by_dataset in fitted.items()
        for dataset, (m, a, b) in by_dataset.items()
    ]
    headers = ["model", "data set", "method", "ACC", "AUC", "MSE", "n"]
    return Table("Predicting the overall preference (Table 15)", headers, rows, labels=3, notes=notes)
