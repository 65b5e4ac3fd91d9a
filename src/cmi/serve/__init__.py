"""A reward over HTTP: musicality and alignment of takes, for trainers in another environment or on another machine."""

from cmi._util.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
