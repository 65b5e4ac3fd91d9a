"""The analyses of the paper's appendices, on any run."""
