"""Statistics for benchmark tables: intervals, paired tests, correlation, agreement and calibration, on numpy alone."""

from cmi.stats.agreement import Agreement, krippendorff_alpha, rater_agreement
from cmi.stats.calibration import Bin, brier, expected_calibration_error, folded, logistic, reliability
from cmi.stats.correlation import kendall_tau_b, pearson, spearman
from cmi.stats.intervals import (
    FEWEST_CLUSTERS,
    Interval,
    bootstrap,
    bootstrap_interval,
    cluster_weights,
    percentile_interval,
    share_interval,
    standard_error,
    wilson,
)
from cmi.stats.paired import Comparison, holm, mcnemar_exact, minimum_detectable_difference, paired_bootstrap
from cmi.stats.weighted import weighted_kendall, weighted_pearson, weighted_spearman

__all__ = [
    "FEWEST_CLUSTERS",
    "Agreement",
    "Bin",
    "Comparison",
    "Interval",
    "bootstrap",
    "bootstrap_interval",
    "brier",
    "cluster_weights",
    "expected_calibration_error",
    "folded",
    "holm",
    "kendall_tau_b",
    "krippendorff_alpha",
    "logistic",
    "mcnemar_exact",
    "minimum_detectable_difference",
    "paired_bootstrap",
    "pearson",
    "percentile_interval",
    "rater_agreement",
    "reliability",
    "share_interval",
    "spearman",
    "standard_error",
    "weighted_kendall",
    "weighted_pearson",
    "weighted_spearman",
    "wilson",
]
