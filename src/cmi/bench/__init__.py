"""CMI-Bench: do audio language models understand music? 14 MIR tasks over 20 data sets."""

from cmi._util.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
