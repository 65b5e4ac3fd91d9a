"""The studio: synthetic music with known flaws and exact ground truth."""

from typing import TYPE_CHECKING

from cmi._util.lazy import lazy_names

if TYPE_CHECKING:
    from cmi.studio.generate import Truth, generate_set
    from cmi.studio.make import make_set
    from cmi.studio.mir import make_mir_set
    from cmi.studio.pairs import Material

__all__ = ["Material", "Truth", "generate_set", "make_mir_set", "make_set"]
__getattr__, __dir__ = lazy_names(
    __name__,
    __all__,
    {
        "generate": ("Truth", "generate_set"),
        "make": ("make_set",),
        "mir": ("make_mir_set",),
        "pairs": ("Material",),
    },
)
