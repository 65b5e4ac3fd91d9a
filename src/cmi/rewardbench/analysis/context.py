"""Does the prompt help to judge musicality? Table 14 of the paper, without training: the prompt is kept from the model.

A run with `--without-prompt` is compared with the same model's run with prompts, by modality, pair by pair. The
paper trained a model for each case: its numbers tell what can be learnt, ours what a given model makes of prompts.
"""

from collections.abc import Iterable
from itertools import product

from cmi.report.tables import Table
from cmi.rewardbench.analysis.groupings import by_modality
from cmi.rewardbench.evaluation.cells import Cell, Versus
from cmi.rewardbench.evaluation.tables import p_value, signed, signed_span
from cmi.rewardbench.runs.sources import Source
from cmi.rewardbench.tasks import MUSICALITY_PREFERENCE, Protocol

PUBLISHED = (
    ("text+lyrics+audio", 82.40, 68.80),
    ("text+audio", 79.20, 68.80),
    ("text+lyrics", 72.00, 76.00),
    ("text", 68.80, 67.20),
    ("all", 75.60, 70.20),
)


def context(source: Source, protocol: Protocol, resamples: int) -> tuple[list[Cell], list[Versus]]:
    """Musicality accuracy of the models that were run both ways, and what the prompt adds."""
    pairs = [
        (a.about.name, b.about.name)
        for a, b in product(source.systems, repeat=2)
        if a.about.prompt and not b.about.prompt and (a.about.model, a.about.window) == (b.about.model, b.about.window)
    ]
    if not pairs:
        return [], []
    found = source.evaluate(protocol, resamples, by_modality, (MUSICALITY_PREFERENCE,))
    names = {name for pair in pairs for name in pair}
    cells = [cell for cell in found.cells if cell.model in names and cell.metric == "ACC"]
    versus = [one for one in found.versus if one.metric == "ACC" and {(one.a, one.b), (one.b, one.a)} & set(pairs)]
    return cells, [one if (one.a, one.b) in pairs else turned(one) for one in versus]


def turned(one: Versus) -> Versus:
    """The same comparison, told of the other."""
    about = (one.b, one.a, one.dataset, one.task, one.group, one.metric, one.protocol, one.n)
    low, high = (None if end is None else 0.0 - end for end in (one.high, one.low))
    return Versus(*about, 0.0 - one.difference, low, high, one.p)


def context_table(cells: Iterable[Cell], versus: Iterable[Versus]) -> Table:
    values = {(cell.model, cell.dataset, cell.group): cell.value for cell in cells}
    rows = []
    for one in versus:
        both = [values[model, one.dataset, one.group] for model in (one.a, one.b)]
        rows.append(
            [
                *(one.a, one.dataset, one.group),
                *("-" if value is None else f"{100 * value:.2f}" for value in both),
                *(signed(one.metric, one.difference), signed_span(one)),
                *(str(one.n), p_value(one.p)),
            ]
        )
    for group, with_prompt, without in PUBLISHED:
        numbers = (f"{with_prompt:.2f}", f"{without:.2f}", f"{with_prompt - without:+.2f}")
        rows.append(["(paper, Table 14)", "cmi-pref", group, *numbers, "", "500" if group == "all" else "125", ""])
    headers = ["model", "data set", "prompt", "with", "without", "difference", "95 %", "n", "p"]
    notes = ["Musicality accuracy in percent. The paper trained one model for each column; yours is one model twice."]
    return Table("Contextual musicality (Table 14)", headers, rows, labels=3, notes=notes)
