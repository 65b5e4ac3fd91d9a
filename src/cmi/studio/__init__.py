"""The studio: music with known virtues and flaws, and the exact truth about it."""
