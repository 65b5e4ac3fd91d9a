"""Statistics for benchmark tables: intervals, paired tests and correlation, on numpy alone."""

from cmi.stats.correlation import kendall_tau_b, pearson, spearman
from cmi.stats.intervals import Interval, bootstrap, cluster_weights, percentile_interval, standard_error, wilson
from cmi.stats.paired import Comparison, holm, mcnemar_exact, minimum_detectable_difference, paired_bootstrap

__all__ = [
    "Comparison",
    "Interval",
    "bootstrap",
    "cluster_weights",
    "holm",
    "kendall_tau_b",
    "mcnemar_exact",
    "minimum_detectable_difference",
    "paired_bootstrap",
    "pearson",
    "percentile_interval",
    "spearman",
    "standard_error",
    "wilson",
]
