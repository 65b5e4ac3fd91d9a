"""Scorers by name, and the scores that they give to takes."""
