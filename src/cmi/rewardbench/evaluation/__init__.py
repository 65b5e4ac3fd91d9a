"""From scores to cells: metrics, intervals, nulls, ceilings and tables."""
