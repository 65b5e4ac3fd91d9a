"""Fake endpoints and models, for your tests and ours."""
