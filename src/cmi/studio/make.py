"""Make a preference set: JSON lines and FLAC files in a folder, reproducible from its seed.

    preferences.jsonl    in the common format (`cmi.preferences`), with `split` and `truth` beside each
    audio/               one file for each recording, named by its recipe
    made.jsonl           each pair with recipes and null features; a stopped run resumes from it
    about.json           settings, counts, accuracies of nulls by split, and the tracks used

More pairs are made than asked for. Then each split is balanced: pairs are dropped, and their recordings deleted, until
no null, such as 'the louder take wins', is right in more than 53 % (in small training splits, in one pair more).
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from cmi._util.files import claim, write_whole
from cmi._util.runlog import RunLog, read_records
from cmi._util.workers import process_pool
from cmi.preferences import preference_row, write_rows
from cmi.report.tables import Table
from cmi.studio.pairs import Material, pair_name, plan_pair
from cmi.studio.recordings import RATE, SECONDS, MeasuredTake, recipe_record, record, write_flac
from cmi.studio.render import soundfont
from cmi.studio.tracks import LICENCES, read_licences

MORE = 1.25  # pairs made per pair asked for, because balancing drops some
TESTED = ("test", "heldout")  # splits that are balanced strictly, even if that leaves few pairs
SILENT = -60.0  # dBFS; flaws would be inaudible

NULLS = ("louder", "longer", "brighter", "more notes")  # the take with more of each of MeasuredTake's fields
MOST = 0.53  # highest accuracy of a null or its opposite in a balanced split

Made = dict[str, Any]  # a line of made.jsonl
HeardPair = tuple[MeasuredTake, MeasuredTake]  # the better and the worse


def make_set(
    folder: Path,
    count: int,
    seed: int = 0,
    material: Material | None = None,
    workers: int | None = None,
    on_made: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """Write about `count` pairs into a folder and return the content of about.json."""
    material = material or Material()
    settings = {
        "pairs": count,
        "seed": seed,
        "held_out": list(material.held_out),
        "scores": material.scores,
        "tracks_share": material.tracks_share,
        "tracks": hashlib.sha256(" ".join(track.name for track in material.tracks).encode()).hexdigest()[:12],
        "soundfont": soundfont().name,
        "rate": RATE,
        "seconds": SECONDS,
    }
    claim(folder, settings, "cmi studio make")
    (folder / "audio").mkdir(exist_ok=True)
    kept = _make_all(folder, round(count * MORE), seed, material, workers, on_made)
    write_rows((made["row"] for made in kept), folder / "preferences.jsonl")
    about = {**settings, "kept": len(kept), "splits": _summary(kept), **_used(kept, material)}
    write_whole(folder / "about.json", json.dumps(about, indent=2) + "\n")
    wanted = {name for made in kept for name in _names(made)}
    for path in (folder / "audio").glob("*.flac"):
        if path.stem not in wanted:
            path.unlink()
    return about


def _make_all(
    folder: Path, count: int, seed: int, material: Material, workers: int | None, on_made: Callable[[int, int], None]
) -> list[Made]:
    """Make all missing pairs and return those to keep, in order."""
    path = folder / "made.jsonl"
    make = partial(_make_pair, seed=seed, material=material, folder=folder)
    with process_pool(workers) as pool, RunLog(path, key="pair") as log:
        pairs: list[Made] = list(read_records(path))
        missing = [number for number in range(count) if pair_name(number, seed) not in log]
        on_made(count - len(missing), count)
        for done, made in enumerate(pool.map(make, missing), count - len(missing) + 1):
            log.append(made)
            pairs.append(made)
            on_made(done, count)
        kept = _keep(sorted(pairs, key=lambda made: made["number"]))
        lost = [made["number"] for made in kept if not all(_file(folder, name).exists() for name in _names(made))]
        list(pool.map(make, lost))
        log.finish()
    return kept


def _make_pair(number: int, seed: int, material: Material, folder: Path) -> Made:
    plan = plan_pair(number, seed, material)
    takes = {}
    for role, recipe in plan.recipes.items():  # in sequence, so that what the takes share is rendered once
        sound, heard = record(recipe)
        write_flac(sound, _file(folder, recipe.name))
        takes[role] = {"take": recipe.name, "heard": list(heard), **recipe_record(recipe)}
    files = {role: _file(folder, recipe.name) for role, recipe in plan.recipes.items()}
    preference = plan.preference(files, {"split": plan.split, "truth": plan.truth})
    return {"pair": plan.id, "number": number, "row": preference_row(preference, folder), "takes": takes}


def _names(made: Made) -> list[str]:
    return [take["take"] for take in made["takes"].values()]


def measured_pair(made: Made) -> HeardPair:
    """The measured takes of a line of made.jsonl."""
    better, worse = (MeasuredTake(*made["takes"][role]["heard"]) for role in ("better", "worse"))
    return better, worse


def _file(folder: Path, name: str) -> Path:
    return folder / "audio" / f"{name}.flac"


def _keep(pairs: Iterable[Made]) -> list[Made]:
    """The balanced pairs of each split and axis, without silent ones."""
    audible = [
        made for made in pairs if all(MeasuredTake(*take["heard"]).loudness > SILENT for take in made["takes"].values())
    ]
    kept: set[str] = set()
    for (split, _), group in _groups(audible).items():
        kept.update(balanced({made["pair"]: measured_pair(made) for made in group}, strictly=split in TESTED))
    return [made for made in audible if made["pair"] in kept]


def verdicts(pair: HeardPair) -> dict[str, float]:
    """Each null's verdict on a pair: 1 for the better take, -1 for the worse, 0 for a tie."""
    return {name: float((better > worse) - (better < worse)) for name, better, worse in zip(NULLS, *pair, strict=True)}


def null_accuracies(pairs: Sequence[HeardPair]) -> dict[str, float]:
    """Accuracy of each null; a tie counts half."""
    said = [verdicts(pair) for pair in pairs]
    return {name: sum(0.5 + said_of[name] / 2 for said_of in said) / len(said) if said else 0.5 for name in NULLS}


def balanced(pairs: Mapping[str, HeardPair], strictly: bool) -> list[str]:
    """Return the largest set of pair ids for which no null, nor its opposite, is right more often than MOST.

    If not `strictly`, a null may also be right once more than it is wrong, so that a few pairs can be kept.
    """
    kinds: dict[tuple[float, ...], list[str]] = {}
    for name, pair in pairs.items():
        kinds.setdefault(tuple(verdicts(pair).values()), []).append(name)
    if not kinds:
        return []
    leans, most = np.array(list(kinds)), np.array([len(names) for names in kinds.values()])
    wanted = _count_kept(leans, most, by_share=2 * MOST - 1)
    if not strictly:
        wanted = max(wanted, _count_kept(leans, most, by_count=1), key=sum)
    kept = {name for names, count in zip(kinds.values(), wanted, strict=True) for name in names[:count]}
    return [name for name in pairs if name in kept]


def _count_kept(
    leans: NDArray[np.float64], most: NDArray[np.int64], by_share: float = 0.0, by_count: int = 0
) -> list[int]:
    """The most pairs of each kind for which no lean exceeds that share of all, or that count."""
    both_ways = np.concatenate((leans, -leans), axis=1).T - by_share  # (2 nulls, kinds)
    found = milp(
        -np.ones(len(most)),
        integrality=np.ones(len(most)),
        bounds=Bounds(0, most),
        constraints=LinearConstraint(both_ways, ub=by_count + 1e-9),
    )
    return [round(count) for count in found.x]


def _groups(pairs: Iterable[Made]) -> dict[tuple[str, str], list[Made]]:
    groups: defaultdict[tuple[str, str], list[Made]] = defaultdict(list)
    for made in pairs:
        groups[made["row"]["split"], made["row"]["axis"]].append(made)
    return groups


def _summary(pairs: list[Made]) -> list[dict[str, Any]]:
    return [
        {
            "split": split,
            "axis": axis,
            "pairs": len(group),
            "flaws": sorted({flaw for made in group if (flaw := made["row"]["truth"]["flaw"])}),
            "nulls": null_accuracies([measured_pair(made) for made in group]),
        }
        for (split, axis), group in sorted(_groups(pairs).items())
    ]


def _used(pairs: list[Made], material: Material) -> dict[str, Any]:
    """The tracks used, and the recorded licences of their packages."""
    names = {take["source"].get("track") for made in pairs for take in made["takes"].values()}
    used = [track for track in material.tracks if track.name[:16] in names]
    folders = {folder for track in used for folder in track.path.parents if (folder / LICENCES).is_file()}
    licences = [line._asdict() for folder in sorted(folders) for line in read_licences(folder)]
    tracks = [{"track": track.name[:16], "file": track.path.name} for track in used]
    return {"used_tracks": tracks, "licences": licences} if used else {}


def summary_table(about: dict[str, Any]) -> Table:
    """Pairs and accuracies of nulls by split."""
    nulls = list(about["splits"][0]["nulls"]) if about["splits"] else []
    rows = [
        [split["split"], split["axis"], str(split["pairs"]), *(f"{100 * split['nulls'][null]:.1f}" for null in nulls)]
        for split in about["splits"]
    ]
    notes = [f"Held out of all splits but heldout: {', '.join(about['held_out'])}. Chance is 50."]
    return Table(f"{about['kept']} pairs", ["split", "axis", "pairs", *nulls], rows, labels=2, notes=notes)
