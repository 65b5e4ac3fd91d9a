"""Import pairs into a project, all of a source or none: decode first, then add them in one short transaction.

A source is anything that `cmi.preferences` reads: a file of pairs or preferences, a studio set, a folder of takes.

generator_a, _b    the systems that made the takes; by default the file names in a folder of takes, and the flaw in a
                   studio set
gold               makes a gold pair: {"musicality": "a", "alignment": "b"}, either alone, or true if the row's own
                   choice is the answer

Pairs are identified by their source id, so importing again adds only new pairs. Files stay where they are.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import select

from cmi._util.errors import InputError
from cmi._util.fields import text_field
from cmi.arena.audio.measure import SoundMeasurement, measure
from cmi.arena.audio.sounds import register_all
from cmi.arena.store import projects
from cmi.arena.store.database import Database, storable
from cmi.arena.store.pairs import NewPair, add_all, chance
from cmi.arena.store.schema import note, pairs
from cmi.preferences import PreferenceRow, read_rows
from cmi.take import Pair

FEW = 8  # files up to which starting processes does not pay
CLEAR = 4  # confidence from which a studio pair's winner is obvious
OURS = ("gold", "generator_a", "generator_b")


@dataclass
class SourcePair:
    id: str
    where: str  # for messages
    pair: Pair
    system_a: str
    system_b: str
    gold: dict[str, str] | None = None
    known: dict[str, str] = field(default_factory=dict)  # winners known from the source, by axis
    clear: bool = True  # whether the winner is obvious
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def sounds(self) -> dict[str, Path]:
        parts = {"a": self.pair.a, "b": self.pair.b, "reference": self.pair.prompt.reference}
        return {name: path for name, path in parts.items() if isinstance(path, Path)}


class Imported(NamedTuple):
    added: int
    there: int  # pairs that the project already had
    gold: int  # of those added
    sounds: int  # files that they are made of


class PairSource(NamedTuple):
    """Pairs with all files measured."""

    pairs: list[SourcePair]
    sounds: dict[Path, SoundMeasurement]


def measure_source(
    path: Path, workers: int | None = None, on_measured: Callable[[int, int], None] = lambda done, total: None
) -> PairSource:
    """Read a source and measure its files."""
    found = read_source(path)
    files = {path: (pair.where, name) for pair in reversed(found) for name, path in pair.sounds.items()}
    return PairSource(found, measure_files(files, workers, on_measured))


def import_pairs(database: Database, project: str, source: PairSource, gold: float = 0.0) -> Imported:
    """Add all pairs of a source, or none if one is invalid.

    `gold` is the share of pairs with a known winner (from the studio) that become gold, besides those marked in the
    file; clear ones are drawn by the project's seed.
    """
    study = projects.get(database, project).settings
    found = _with_gold(source.pairs, gold, study.seed)
    with database.writing() as connection:
        ids = dict(zip(source.sounds, register_all(connection, project, list(source.sounds.items())), strict=True))
        new = [_new_pair(pair, ids) for pair in found]
        known = set(connection.scalars(select(pairs.c.source_id).where(pairs.c.project == project)))
        add_all(connection, project, study, new)
        added = [one for one in new if storable(one.source_id) not in known]
        counts = Imported(len(added), len(new) - len(added), sum(one.gold is not None for one in added), len(ids))
        note(connection, database.now(), project, "imported", project, counts._asdict())
    return counts


def read_source(path: Path) -> list[SourcePair]:
    """Read the pairs of a file, a studio set or a folder of takes."""
    found: dict[Pair, SourcePair] = {}
    for row in read_rows(path):
        if row.pair not in found:
            system_a, system_b = (text_field(row.about, name, row.where) for name in ("generator_a", "generator_b"))
            about = {key: value for key, value in row.about.items() if key not in OURS}
            found[row.pair] = SourcePair(row.id, row.where, row.pair, system_a, system_b, about=about)
        _add_winner(found[row.pair], row)
    if not found:
        raise InputError(f"{path}: no pairs in it")
    return list(found.values())


def _add_winner(pair: SourcePair, row: PreferenceRow) -> None:
    """Add the winner that a row states."""
    by_itself: dict[str, str] = {}
    if row.axis in ("musicality", "alignment") and row.choice in ("a", "b"):
        by_itself = {row.axis: row.choice}
    gold = row.about.get("gold") or None
    if gold is True and not by_itself:
        raise InputError(
            f"{row.where}: 'gold' is true, but the row has no axis and choice that say which take is better"
        )
    if gold is not None:
        known = by_itself if gold is True else gold
        if not isinstance(known, dict):
            raise InputError(
                f'{row.where}: \'gold\' is {gold!r}, expected true or winners such as {{"musicality": "a"}}'
            )
        pair.gold = {**(pair.gold or {}), **known}
    if row.rater == "studio" and by_itself:
        pair.known |= by_itself
        pair.clear = row.confidence is None or row.confidence >= CLEAR
        if not (pair.system_a or pair.system_b):
            pair.system_a, pair.system_b = _studio_systems(row)


def _studio_systems(row: PreferenceRow) -> tuple[str, str]:
    truth = row.about.get("truth")
    if not isinstance(truth, dict):
        return "", ""
    winner = "clean" if row.axis == "musicality" else "as asked"
    loser = truth.get("flaw") if row.axis == "musicality" else f"other {truth.get('kind')}"
    systems = winner, str(loser or "flawed")
    return systems if row.choice == "a" else (systems[1], systems[0])


def _with_gold(found: list[SourcePair], share: float, seed: int) -> list[SourcePair]:
    """Make a share of the pairs with known winners gold: clear ones, drawn by the seed."""
    if not 0 <= share <= 1:
        raise InputError(f"the share of gold pairs is {share:g}, expected 0 to 1")
    known = [pair for pair in found if pair.known and pair.gold is None]
    if share and not known:
        raise InputError("no pair has a known winner, so none can be gold; add a field 'gold'")
    clear = sorted((pair for pair in known if pair.clear), key=lambda pair: chance(seed, "gold", pair.id))
    drawn = {pair.id for pair in clear[: round(share * len(known))]}
    return [replace(pair, gold=pair.known) if pair.id in drawn else pair for pair in found]


def measure_files(
    files: Mapping[Path, tuple[str, str]], workers: int | None, on_measured: Callable[[int, int], None]
) -> dict[Path, SoundMeasurement]:
    """Measure files, each with its line and column for messages; InputError naming those of the first unusable one."""
    measured: dict[Path, SoundMeasurement] = {}
    with ExitStack() as stack:
        if len(files) > FEW:
            from cmi._util.workers import process_pool

            results = stack.enter_context(process_pool(workers)).map(_measure, files, chunksize=4)
        else:
            results = map(_measure, files)
        for path, result in zip(files, results, strict=True):
            if isinstance(result, InputError):
                where, name = files[path]
                raise InputError(f"{where}: {name!r} cannot be used: {result}") from result
            measured[path] = result
            on_measured(len(measured), len(files))
    return measured


def _measure(path: Path) -> SoundMeasurement | InputError:
    try:
        str(path.resolve()).encode()
        return measure(path)
    except UnicodeEncodeError:
        return InputError(
            f"{path}: the name of the file or of its folder is not UTF-8, which the database cannot store"
        )
    except InputError as error:
        return error


def _new_pair(pair: SourcePair, ids: dict[Path, str]) -> NewPair:
    parts = {name: ids[path] for name, path in pair.sounds.items()}
    prompt = pair.pair.prompt
    return NewPair(
        source_id=pair.id,
        text=prompt.text,
        lyrics=prompt.lyrics,
        **parts,
        system_a=pair.system_a,
        system_b=pair.system_b,
        gold=pair.gold,
        about=pair.about,
        where=f"{pair.where}: ",
    )
