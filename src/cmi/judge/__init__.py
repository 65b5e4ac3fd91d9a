"""Judges compare two takes of a prompt: ask them, label pairs with them, and audit them."""

from typing import TYPE_CHECKING

from cmi._util.lazy import lazy_names

if TYPE_CHECKING:
    from cmi.judge.labels import label
    from cmi.judge.load_judge import Spec, open_judge
    from cmi.judge.verdict import Judge, Verdict

__all__ = ["Judge", "Spec", "Verdict", "label", "open_judge"]
__getattr__, __dir__ = lazy_names(
    __name__,
    __all__,
    {"labels": ("label",), "load_judge": ("Spec", "open_judge"), "verdict": ("Judge", "Verdict")},
)
