"""CMI-RewardBench: how well does a scorer agree with people? Five tasks."""

from cmi._util.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
