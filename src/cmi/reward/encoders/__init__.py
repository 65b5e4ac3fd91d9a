"""Frozen encoders that turn audio and text into tokens for the reward model's head."""
