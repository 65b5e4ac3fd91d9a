"""Distances of a set of takes from reference music: FAD, KAD and MAUVE on distributions of embeddings."""
