"""Metrics of free text: embedders, BERTScore, WordNet, and labels in text."""
