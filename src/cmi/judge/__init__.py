"""Judges compare two takes of a prompt: ask them, label pairs with them, and audit them."""

from cmi._util.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
