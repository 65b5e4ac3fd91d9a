"""The studio: synthetic music with known flaws and exact ground truth."""

from cmi._util.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
