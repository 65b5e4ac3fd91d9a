"""Statistics for benchmarks and votes, on numpy alone.

intervals      Wilson's interval and the cluster bootstrap
comparison     the comparison engine of both benchmarks: metrics, cells, draws, nulls, p values
ranking        systems ranked from votes: Bradley-Terry, Davidson, win rates
agreement      rater agreement: rates and Krippendorff's alpha
correlation    Pearson, Spearman, Kendall, also with weights
listening      MUSHRA's post-screening, and scores compared in pairs
predictions    probabilistic predictions: Brier score, calibration, ROC-AUC

>>> from cmi.stats import wilson
>>> low, high = wilson(45, 60)
>>> f"{low:.2f} to {high:.2f}"
'0.63 to 0.84'
"""

from cmi._util.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
