"""Make a preference set: JSON lines and FLAC files in a folder, the same bytes for the same seed, whoever makes it.

    preferences.jsonl    in the common format (`cmi.preferences`), with `split` and `truth` beside each
    audio/               one file for each recording, named by its recipe
    takes.jsonl          each recording's recipe and what nulls know of it; a run that was stopped resumes from it
    about.json           the command's settings, counts, and how often nulls are right in each split

A split is balanced when all its recordings are made: some pairs are left out so that no null is right in more than
53 % of it. So a few more are made than asked for.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from cmi.errors import InputError
from cmi.preferences import Labelled, preference_row
from cmi.report.tables import Table
from cmi.runlog import RunLog, read_records
from cmi.studio.balance import balanced, null_accuracies
from cmi.studio.pairs import HELD_OUT, PairPlan, plan_pairs
from cmi.studio.recordings import RATE, SECONDS, Heard, Recipe, recipe_record, record, write_flac
from cmi.studio.render import soundfont
from cmi.take import Pair, Preference, Prompt
from cmi.workers import process_pool

MORE = 1.25  # pairs planned for each one asked for, since balancing leaves some out


def make_set(
    folder: Path,
    count: int,
    seed: int = 0,
    held_out: tuple[str, ...] = HELD_OUT,
    workers: int | None = None,
    on_made: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """Write about `count` pairs into a folder, and return what about.json says."""
    settings = {"pairs": count, "seed": seed, "held_out": list(held_out), "soundfont": soundfont().name}
    settings |= {"rate": RATE, "seconds": SECONDS}
    _claim(folder, settings)
    plans = list(plan_pairs(round(count * MORE), seed, held_out))
    heard = _record_all(plans, folder, workers, on_made)
    kept = _keep(plans, heard)
    rows = [preference_row(_labelled(plan, folder), folder) for plan in kept]
    _write(folder / "preferences.jsonl", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    about = {**settings, "kept": len(kept), "splits": _summary(kept, heard)}
    _write(folder / "about.json", json.dumps(about, indent=2) + "\n")
    return about


def _claim(folder: Path, settings: dict[str, Any]) -> None:
    """The folder is ours if it is new or was begun with the same settings."""
    begun = folder / "settings.json"
    try:
        (folder / "audio").mkdir(parents=True, exist_ok=True)
        if begun.exists():
            if json.loads(begun.read_text()) != settings:
                raise InputError(f"{folder}: begun with other settings ({begun.name}); choose another folder")
        else:
            _write(begun, json.dumps(settings) + "\n")
    except (OSError, ValueError) as error:
        raise InputError(f"{folder}: {getattr(error, 'strerror', None) or error}") from error


def _record_all(
    plans: list[PairPlan], folder: Path, workers: int | None, on_made: Callable[[int, int], None]
) -> dict[str, Heard]:
    """Make every recording that is not there yet, pair by pair: what a pair's takes share is played once."""
    path = folder / "takes.jsonl"
    with process_pool(workers) as pool, RunLog(path, key="take") as log:
        heard = {row["take"]: Heard(*row["heard"]) for row in read_records(path)}
        missing = [
            [r for r in plan.recipes if r.name not in heard or not _file(folder, r.name).exists()] for plan in plans
        ]
        work = [(recipes, folder) for recipes in missing if recipes]
        on_made(len(plans) - len(work), len(plans))
        for done, made in enumerate(pool.map(_record_pair, work), 1):
            for recipe, found in made:
                heard[recipe.name] = found
                if recipe.name not in log:
                    log.append({"take": recipe.name, "heard": list(found), **recipe_record(recipe)})
            on_made(len(plans) - len(work) + done, len(plans))
        log.finish()
    return heard


def _record_pair(work: tuple[list[Recipe], Path]) -> list[tuple[Recipe, Heard]]:
    recipes, folder = work
    made = []
    for recipe in recipes:
        sound, heard = record(recipe)
        write_flac(sound, _file(folder, recipe.name))
        made.append((recipe, heard))
    return made


def _file(folder: Path, name: str) -> Path:
    return folder / "audio" / f"{name}.flac"


def _keep(plans: list[PairPlan], heard: dict[str, Heard]) -> list[PairPlan]:
    """The balanced pairs of each split and axis, in the order of the plan."""
    kept: set[str] = set()
    for group in _groups(plans).values():
        kept.update(balanced({plan.id: (heard[plan.better.name], heard[plan.worse.name]) for plan in group}))
    return [plan for plan in plans if plan.id in kept]


def _groups(plans: Iterable[PairPlan]) -> dict[tuple[str, str], list[PairPlan]]:
    groups: defaultdict[tuple[str, str], list[PairPlan]] = defaultdict(list)
    for plan in plans:
        groups[plan.split, plan.axis].append(plan)
    return groups


def _summary(plans: list[PairPlan], heard: dict[str, Heard]) -> list[dict[str, Any]]:
    return [
        {
            "split": split,
            "axis": axis,
            "pairs": len(group),
            "flaws": sorted({plan.truth["flaw"] for plan in group if plan.truth["flaw"]}),
            "nulls": null_accuracies([(heard[plan.better.name], heard[plan.worse.name]) for plan in group]),
        }
        for (split, axis), group in sorted(_groups(plans).items())
    ]


def summary_table(about: dict[str, Any]) -> Table:
    """The splits for people: how many pairs, and how often each null is right."""
    nulls = list(about["splits"][0]["nulls"]) if about["splits"] else []
    rows = [
        [split["split"], split["axis"], str(split["pairs"]), *(f"{100 * split['nulls'][null]:.1f}" for null in nulls)]
        for split in about["splits"]
    ]
    notes = [f"Held out of all splits but heldout: {', '.join(about['held_out'])}. Chance is 50."]
    return Table(f"{about['kept']} pairs", ["split", "axis", "pairs", *nulls], rows, labels=2, notes=notes)


def _labelled(plan: PairPlan, folder: Path) -> Labelled:
    first, second = (plan.better, plan.worse) if plan.better_first else (plan.worse, plan.better)
    reference = _file(folder, plan.reference.name) if plan.reference else None
    pair = Pair(
        Prompt(plan.caption.text, plan.lyrics, reference), _file(folder, first.name), _file(folder, second.name)
    )
    choice = "a" if plan.better_first else "b"
    truth = {**plan.truth, "pieces": sorted({recipe.source.name for recipe in plan.recipes})}
    return Labelled(
        plan.id,
        Preference(pair, plan.axis, choice, plan.confidence, "studio"),  # type: ignore[arg-type]
        {"split": plan.split, "truth": truth},
    )


def _write(path: Path, text: str) -> None:
    """All or nothing."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
