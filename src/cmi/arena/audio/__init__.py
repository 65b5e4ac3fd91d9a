"""The recordings of an arena: uploaded, decoded, measured, and played as clean copies."""
