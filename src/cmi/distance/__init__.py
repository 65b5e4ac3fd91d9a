"""How far are a generator's takes, as a set, from reference music? Distances between distributions of embeddings."""
