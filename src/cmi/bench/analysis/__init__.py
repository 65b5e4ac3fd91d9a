"""Analyses of CMI-Bench scores: bias by tag, prompts, a map of the models, contamination."""
