"""Import trials into a project of the kind mos, mushra or ranking: all of a source or none, as pairs are imported.

A source is a manifest of takes (`cmi.take`: audio, text, lyrics, reference, generator, group) or a folder with a
subfolder of takes for each prompt, in which the system is the file's name.

mos        a trial for each take
ranking    a trial for each group: the column `group`, or else the takes of one prompt
mushra     the same, and the trial also has the hidden reference and anchors made from it

Trials are identified by the group, or by the id of their first take, so importing again adds only new ones.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi._util.fields import text_field
from cmi._util.records import OWN
from cmi.arena.audio.anchors import make_anchor
from cmi.arena.audio.measure import SoundMeasurement
from cmi.arena.audio.sounds import register_all
from cmi.arena.exchange.importing import measure_files
from cmi.arena.store.database import Database
from cmi.arena.store.schema import note
from cmi.arena.store.trials import NewStimulus, NewTrial, RatedKind, StimulusRole, add_trials
from cmi.stats.listening import ANCHORS, REFERENCE
from cmi.take import TAKES, Prompt, read_take_folders, take_rows

FOLDER = "anchors"
KEPT = ("split", "month", "source", "licence")  # columns that the export has again, besides the user's own
LOW, MID = ANCHORS


class SourceStimulus(NamedTuple):
    audio: Path
    system: str
    role: StimulusRole = "take"


@dataclass(frozen=True)
class SourceTrial:
    id: str
    where: str  # for messages
    prompt: Prompt
    stimuli: tuple[SourceStimulus, ...]
    about: dict[str, Any] = field(default_factory=dict)


class TrialSource(NamedTuple):
    """Trials with all files measured."""

    trials: list[SourceTrial]
    sounds: dict[Path, SoundMeasurement]


class ImportedTrials(NamedTuple):
    added: int
    there: int  # trials that the project already had
    sounds: int  # files that they are made of


def measure_trials(
    path: Path,
    kind: RatedKind,
    folder: Path,
    mid_anchor: bool = False,
    workers: int | None = None,
    on_measured: Callable[[int, int], None] = lambda done, total: None,
) -> TrialSource:
    """Read a source, make the anchors of MUSHRA pages in `folder`, and measure all files."""
    found = list(read_trials(path, kind))
    if not found:
        raise InputError(f"{path}: no takes in it")
    if kind == "mushra":
        names = (LOW, MID) if mid_anchor else (LOW,)
        found = [_with_hidden(trial, names, folder / FOLDER) for trial in found]
    files: dict[Path, tuple[str, str]] = {}
    for trial in reversed(found):
        if isinstance(trial.prompt.reference, Path):
            files[trial.prompt.reference] = trial.where, "reference"
        files |= {one.audio: (trial.where, "audio") for one in trial.stimuli if one.role == "take"}
        files |= {one.audio: (trial.where, one.role) for one in trial.stimuli if one.role in ANCHORS}
    return TrialSource(found, measure_files(files, workers, on_measured))


def import_trials(database: Database, project: str, source: TrialSource) -> ImportedTrials:
    """Add all trials of a source, or none if one is invalid."""
    with database.writing() as connection:
        ids = dict(zip(source.sounds, register_all(connection, project, list(source.sounds.items())), strict=True))
        added = add_trials(connection, project, [_new_trial(trial, ids) for trial in source.trials])
        counts = ImportedTrials(added, len(source.trials) - added, len(ids))
        note(connection, database.now(), project, "imported", project, counts._asdict())
    return counts


def read_trials(path: Path, kind: RatedKind) -> Iterator[SourceTrial]:
    """Yield the trials of a manifest or a folder of takes."""
    takes = _folder_takes(path) if path.is_dir() else _manifest_takes(path)
    if kind == "mos":
        yield from (trial for _, trial in takes)
        return
    groups: dict[object, SourceTrial] = {}
    for group, trial in takes:
        key = group or trial.prompt
        first = groups.setdefault(key, replace(trial, id=group or trial.id, stimuli=()))
        if trial.prompt != first.prompt:
            raise InputError(f"{trial.where}: another prompt than the first take of the group {group!r}")
        groups[key] = replace(first, stimuli=(*first.stimuli, *trial.stimuli))
    yield from groups.values()


def _manifest_takes(path: Path) -> Iterator[tuple[str, SourceTrial]]:
    """Yield each take of a manifest as a trial, with its group ('' if the row has none)."""
    for take_id, take, where, row in take_rows(path, TAKES):
        group, system = (text_field(row, name, where) for name in ("group", "generator"))
        said = {name: value for name, value in row.items() if value not in ("", None)}
        about = {name: value for name, value in said.items() if name in KEPT or name.startswith(OWN)}
        if not isinstance(take.audio, Path):
            raise InputError(f"{where}: expected the path of a recording")
        yield group, SourceTrial(take_id, where, take.prompt, (SourceStimulus(take.audio, system),), about)


def _folder_takes(folder: Path) -> Iterator[tuple[str, SourceTrial]]:
    for name, prompt, files in read_take_folders(folder):
        for file in files:
            stimulus = SourceStimulus(file, file.stem)
            yield name, SourceTrial(f"{name}/{file.stem}", str(folder / name), prompt, (stimulus,))


def _with_hidden(trial: SourceTrial, anchors: tuple[str, ...], folder: Path) -> SourceTrial:
    """Add the hidden reference and the anchors."""
    reference = trial.prompt.reference
    if not isinstance(reference, Path):
        raise InputError(f"{trial.where}: no reference, which MUSHRA compares the takes with; add a column 'reference'")
    taken = {one.system for one in trial.stimuli} & {REFERENCE, *ANCHORS}
    if taken:
        raise InputError(f"{trial.where}: the generator is {min(taken)!r}, the name of a hidden stimulus; rename it")
    hidden = [SourceStimulus(reference, REFERENCE, "reference")]
    try:
        hidden += [SourceStimulus(make_anchor(reference, name, folder), name, _role(name)) for name in anchors]
    except InputError as error:
        raise InputError(f"{trial.where}: 'reference' cannot be used: {error}") from error
    return replace(trial, stimuli=(*trial.stimuli, *hidden))


def _role(anchor: str) -> StimulusRole:
    return "anchor35" if anchor == LOW else "anchor70"


def _new_trial(trial: SourceTrial, ids: dict[Path, str]) -> NewTrial:
    prompt = trial.prompt
    reference = ids[prompt.reference] if isinstance(prompt.reference, Path) else None
    stimuli = tuple(NewStimulus(ids[one.audio], one.system, one.role) for one in trial.stimuli)
    return NewTrial(trial.id, prompt.text, stimuli, prompt.lyrics, reference, trial.about, f"{trial.where}: ")
