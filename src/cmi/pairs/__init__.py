"""Pairs for judges and annotators, sampled from takes, in splits that share no prompt and no recording."""

from cmi._util.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
