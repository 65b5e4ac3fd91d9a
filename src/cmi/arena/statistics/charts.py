"""The rows behind each chart of the dashboard, for download."""

from typing import Any

Rows = list[dict[str, Any]]


def charts(report: dict[str, Any]) -> dict[str, Rows]:
    """Flat rows by name; within a name all rows have the same columns. `reasons` are joined by semicolons."""
    axes = report["axes"]
    shares = [{"preference": name, "votes": axes[name], "of": axes["votes"]} for name in ("same", "different")]
    screening = [{**row, "reasons": "; ".join(row["reasons"])} for row in report["screening"]["people"]]
    return {
        "progress_modalities": report["progress"]["modalities"],
        "progress_people": report["progress"]["people"],
        "progress_days": report["progress"]["days"],
        "time_people": report["time"]["people"],
        "time_modalities": report["time"]["modalities"],
        "agreement": report["agreement"],
        "confidence": report["confidence"]["levels"],
        "axes": shares,
        "axes_confidence": axes["confidence"],
        "screening": screening,
        "win_rates": report["win_rates"]["matrix"],
        "win_rates_systems": report["win_rates"]["systems"],
        "ranking": report["ranking"]["systems"],
        "covariates": report["covariates"]["effects"],
        "ranking_adjusted": report["covariates"]["systems"],
    }
