"""CMI-Bench: do audio language models understand music? 14 MIR tasks over 20 data sets."""

from typing import TYPE_CHECKING

from cmi._util.lazy import lazy_names

if TYPE_CHECKING:
    from cmi.bench.ask import Answer, Listener, Question
    from cmi.bench.scoring.many_files import score
    from cmi.bench.scoring.one_file import BenchCell
    from cmi.bench.scoring.tables import score_tables

__all__ = ["Answer", "BenchCell", "Listener", "Question", "score", "score_tables"]
__getattr__, __dir__ = lazy_names(
    __name__,
    __all__,
    {
        "ask": ("Answer", "Listener", "Question"),
        "scoring.many_files": ("score",),
        "scoring.one_file": ("BenchCell",),
        "scoring.tables": ("score_tables",),
    },
)
