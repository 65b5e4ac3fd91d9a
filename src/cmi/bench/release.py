"""The annotations and answers that CMI-Bench's authors released, from their repository at one commit.

Files
    OUT/annotations/CMI_<data set>.jsonl
    OUT/responses/<model>/<model>_<data set>.jsonl
    OUT/responses/<model>-fix/<model>_<data set>.jsonl      second runs, which Table 3 uses where they exist

`release.sha256` lists them. Large files have git's id there in place of a SHA-256, and no size.
"""

import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError
from cmi._util.fetch import OnBytes
from cmi._util.repositories import (
    OURS,
    Missing,
    RecipeFile,
    RecipeSource,
    from_mirrors,
    from_web,
    get_files,
    read_file_list,
    writing_alone,
)
from cmi.bench.scoring.tables import MODELS
from cmi.report.numbers import file_size
from cmi.report.tables import Table, missing_table

SOURCE = RecipeSource(
    "nicolaus625/CMI-bench",
    "4c15f410bf0c7ff59d654b2a96f3295f3dec5aa5",
    "CC BY 4.0 by the repository, CC BY-NC-SA by the paper",
)
ANNOTATIONS = "annotations"
_RESPONSES = re.compile(r"(?:eval/output|(?P<fix>eval/fix)|model/results)/(?P<model>\w+)/(?P<name>[^/]+)")


@cache
def list_release() -> Mapping[str, RecipeFile]:
    """Return all files of the release by their paths in the user's folder."""
    with as_file(files("cmi.bench").joinpath("release.sha256")) as path:
        listed = read_file_list(path, {SOURCE.repository: SOURCE})
    return {place_of(file.path): file for file in listed.values()}


def place_of(path: str) -> str:
    """Return where a file of the repository goes.

    >>> place_of("eval/fix/gama/gama_DSing.jsonl")
    'responses/gama-fix/gama_DSing.jsonl'
    >>> place_of("data/GTZAN/CMI_GTZAN.jsonl")
    'annotations/CMI_GTZAN.jsonl'
    """
    found = _RESPONSES.fullmatch(path)
    if found is None:
        return f"{ANNOTATIONS}/{path.rpartition('/')[2]}"
    return f"responses/{found['model']}{'-fix' if found['fix'] else ''}/{found['name']}"


def choose_files(models: Sequence[str] = ()) -> dict[str, RecipeFile]:
    """Return the annotations and the answers of these models, or of all if none is named."""
    if unknown := [name for name in models if name not in MODELS]:
        raise InputError(f"--models: no {', '.join(unknown)}; there are {', '.join(MODELS)}")
    wanted = {ANNOTATIONS, *(models or MODELS)}
    return {place: file for place, file in list_release().items() if _group_of(place).removesuffix("-fix") in wanted}


def get_release(
    chosen: Mapping[str, RecipeFile], out: Path, origin: str = "", on_bytes: OnBytes = lambda done, total: None
) -> list[Missing]:
    """Get the files that `out` lacks, and return the missing ones; InputError if all are missing.

    `origin` is a folder with a mirror of the repository or the address of a server with the files at
    OWNER/NAME/COMMIT/PATH; by default it is GitHub.
    """
    is_address = origin.startswith(("http://", "https://"))
    bring = from_web(origin.rstrip("/")) if is_address else from_mirrors(Path(origin)) if origin else from_web()
    size = sum(file.size for place, file in chosen.items() if not (out / place).exists())
    with writing_alone(out, size):
        for place in chosen:
            _require_released(out / place, chosen[place])
        missing = get_files(chosen, out, bring, on_bytes)
        shutil.rmtree(out / OURS, ignore_errors=True)
    if len(missing) == len(chosen):
        raise InputError(f"none of the {len(missing)} files could be downloaded: {missing[0].reason}")
    return missing


def _require_released(path: Path, file: RecipeFile) -> None:
    if path.exists():
        try:
            file.require_content(path.read_bytes(), str(path))
        except InputError as error:
            raise InputError(f"{error}; remove it, and run this again to get the released one") from error


def _group_of(place: str) -> str:
    """Return 'annotations', or a model with '-fix' after it for its second run."""
    return place.split("/")[-2]


def count_records(chosen: Mapping[str, RecipeFile], missing: Sequence[Missing]) -> list[dict[str, Any]]:
    lacking = Counter(_group_of(one.place) for one in missing)
    counts = Counter(_group_of(place) for place in chosen)
    return [{"what": what, "files": count - lacking[what], "missing": lacking[what]} for what, count in counts.items()]


def release_tables(records: Sequence[Mapping[str, Any]], missing: Sequence[Missing], out: Path) -> list[Table]:
    """Return what there is now, and what is missing and why."""
    rows = [[one["what"], str(one["files"]), str(one["missing"])] for one in records]
    notes = [
        f"From {SOURCE.repository} at commit {SOURCE.commit[:12]}, in {out}.",
        f"Score them: cmi bench score {out}/responses --annotations {out}/annotations --protocol paper",
    ]
    counts = Table("CMI-Bench's released files", ["what", "files", "missing"], rows, labels=1, notes=notes)
    return [counts, missing_table("CMI-Bench", missing)] if missing else [counts]


def describe_plan(chosen: Mapping[str, RecipeFile], out: Path) -> str:
    """Say how much will be downloaded, and under which licence; '' if nothing is missing."""
    wanted = [file for place, file in chosen.items() if not (out / place).exists()]
    unsized = sum(not file.size for file in wanted)
    size = file_size(sum(file.size for file in wanted)) + (f" and {unsized} files of unknown size" if unsized else "")
    return f"To be downloaded to {out}: {size}; licence: {SOURCE.licence}." if wanted else ""
