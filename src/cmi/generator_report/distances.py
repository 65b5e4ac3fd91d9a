"""How far generators' takes, as sets, are from reference music or from each other (`cmi.distance`)."""

from collections.abc import Sequence
from pathlib import Path

from cmi._util.errors import InputError
from cmi.audio import find_recordings
from cmi.distance.embed import MUSICNN, EmbeddedSet, embed_recordings, load_encoder
from cmi.distance.measure import FEWEST_TAKES, measure_distances, require_enough
from cmi.generator_report.collect import Sources
from cmi.generator_report.summary import DistanceBetween
from cmi.reward.engine.token_cache import TokenCache
from cmi.take import read_recordings

METRICS = ("fad", "kad")  # MAD needs another package, and `cmi distance` measures it


def find_reference(place: Path) -> list[Path]:
    """The recordings of a folder or a list; InputError if they are too few."""
    found = find_recordings(place) if place.is_dir() else read_recordings(place)
    require_enough(str(place), len(found))
    return found


def measure_between(
    sources: Sequence[Sources], reference: tuple[str, list[Path]] | None, device: str
) -> tuple[list[DistanceBetween], list[str]]:
    """Each generator's distance from the reference, or else from the first generator; and why some are missing."""
    sets = {source.name: [row.path for row in source.rows] for source in sources}
    if reference is not None:
        sets[f"reference {reference[0]}"] = reference[1]
    if len(sets) < 2:
        return [], []
    small = [name for name, paths in sets.items() if len(paths) < FEWEST_TAKES]
    if small:
        return [], [f"No distances between sets: {small[0]} has fewer than {FEWEST_TAKES} recordings."]
    encoder, cache = load_encoder(MUSICNN, device), TokenCache()
    embedded = {name: embed_recordings(paths, encoder, cache) for name, paths in sets.items()}
    to = list(sets)[-1] if reference is not None else sources[0].name
    found, notes = [], []
    for name in sets:
        if name == to:
            continue
        try:
            distances = measure_distances(embedded[name].takes, embedded[to].takes, METRICS)
        except InputError as error:
            notes.append(f"No distance of {name} from {to}: {error}.")
            continue
        found.append(DistanceBetween(name, to, encoder.name, distances, _about(embedded[name], embedded[to])))
    return found, notes


def _about(own: EmbeddedSet, other: EmbeddedSet) -> tuple[str, ...]:
    windows = min(sum(map(len, one.takes)) for one in (own, other))
    dimensions = own.takes[0].shape[1]
    notes = [f"{len(own.takes)} recordings against {len(other.takes)}"]
    if windows < 2 * dimensions:
        notes.append(f"only {windows} windows of {dimensions} numbers: FAD is mostly bias, look at its limit or at KAD")
    if shared := len(own.hashes & other.hashes):
        notes.append(f"{shared} recordings are in both sets")
    return tuple(notes)
