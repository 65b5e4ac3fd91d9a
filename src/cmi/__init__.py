"""cmi judges music made or heard by machines under compositional multimodal instruction."""

__version__ = "0.1.0"
