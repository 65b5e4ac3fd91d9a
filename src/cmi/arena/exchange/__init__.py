"""Pairs into a project, and votes out of it."""
