"""Statistics for benchmarks and votes, on numpy alone.

intervals      Wilson's interval and the cluster bootstrap
comparison     the comparison engine of both benchmarks: metrics, cells, draws, nulls, p values
ranking        systems ranked from votes: Bradley-Terry, Davidson, win rates
agreement      rater agreement: rates and Krippendorff's alpha
correlation    Pearson, Spearman, Kendall, also with weights
predictions    probabilistic predictions: Brier score, calibration, ROC-AUC

>>> low, high = wilson(45, 60)
>>> f"{low:.2f} to {high:.2f}"
'0.63 to 0.84'
"""

from cmi.stats.agreement import Agreement, krippendorff_alpha, rater_agreement
from cmi.stats.comparison import Cell, Comparison, Metric, compare, holm, mcnemar_exact, paired_bootstrap
from cmi.stats.correlation import (
    kendall_tau_b,
    pearson,
    spearman,
    weighted_kendall,
    weighted_pearson,
    weighted_spearman,
)
from cmi.stats.intervals import (
    FEWEST_CLUSTERS,
    Interval,
    Share,
    bootstrap,
    bootstrap_interval,
    cluster_weights,
    percentile_interval,
    share_interval,
    standard_error,
    wilson,
)
from cmi.stats.predictions import Bin, brier, expected_calibration_error, folded, logistic, reliability
from cmi.stats.ranking import bradley_terry, davidson
from cmi.stats.systems import RankedSystem, rank, win_rates

__all__ = [
    "FEWEST_CLUSTERS",
    "Agreement",
    "Bin",
    "Cell",
    "Comparison",
    "Interval",
    "Metric",
    "RankedSystem",
    "Share",
    "bootstrap",
    "bootstrap_interval",
    "bradley_terry",
    "brier",
    "cluster_weights",
    "compare",
    "davidson",
    "expected_calibration_error",
    "folded",
    "holm",
    "kendall_tau_b",
    "krippendorff_alpha",
    "logistic",
    "mcnemar_exact",
    "paired_bootstrap",
    "pearson",
    "percentile_interval",
    "rank",
    "rater_agreement",
    "reliability",
    "share_interval",
    "spearman",
    "standard_error",
    "weighted_kendall",
    "weighted_pearson",
    "weighted_spearman",
    "wilson",
    "win_rates",
]


def __dir__() -> list[str]:
    return __all__
