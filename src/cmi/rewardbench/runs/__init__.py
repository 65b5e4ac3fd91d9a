"""A benchmark run: score takes with several models, and read the results back."""
