"""How often `cmi.critic` finds a flaw of known strength, and how often it finds one where there is none.

    python recipes/critic/error_rates.py [--songs FOLDER]

Pieces of the studio, 30 s each, with each flaw that an observation is about at strengths 0.3, 0.6 and 1; the same
pieces as they are; and, with --songs, the recordings of a folder, whole. Thresholds were chosen on other seeds.

30 s of a longer piece end within the music, so that `cut` is right about most of the clean ones.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from cmi._util.errors import InputError
from cmi.audio import find_recordings
from cmi.critic.observe import KINDS, observe, observe_sound
from cmi.report.tables import Table, print_tables
from cmi.stats import wilson
from cmi.studio.recordings import RATE, TakeRecipe, TakeSource, record

FLAWS = {
    "clipping": "clipping",
    "dropouts": "dropouts",
    "low-pass": "muffled",
    "hum": "hum",
    "stuck": "stuck",
    "abrupt-cut": "tail",
}
STRENGTHS = (0.3, 0.6, 1.0)
FIRST_SEED = 91_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pieces", type=int, default=40)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--songs", type=Path)
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.pieces)
    print_tables([found_table(seeds), *false_alarms(seeds, arguments.songs)])


def found_table(seeds: range) -> Table:
    rows = []
    for flaw, kind in FLAWS.items():
        shares = []
        for strength in STRENGTHS:
            recipes = [TakeRecipe(TakeSource(seed), flaw=flaw, strength=strength, flaw_seed=seed) for seed in seeds]
            hits = sum(kind in kinds_of(recipe) for recipe in recipes)
            shares.append(share(hits, len(recipes)))
        rows.append([flaw, kind, *shares])
    headers = ["flaw", "observation", *(f"at {strength:g}" for strength in STRENGTHS)]
    return Table(f"Found, % of {len(seeds)} pieces", headers, rows, labels=2)


def kinds_of(recipe: TakeRecipe) -> set[str]:
    return {one.kind for one in observe_sound(record(recipe)[0], RATE)}


def false_alarms(seeds: range, songs: Path | None) -> Iterator[Table]:
    clean = [kinds_of(TakeRecipe(TakeSource(seed))) for seed in seeds]
    yield alarm_table("Found in clean pieces, %", clean)
    if songs is not None:
        heard = []
        for path in find_recordings(songs):
            try:
                heard.append({one.kind for one in observe(path)})
            except InputError as error:
                print(error)
        yield alarm_table(f"Found in the recordings of {songs.name}, %", heard)


def alarm_table(title: str, found: list[set[str]]) -> Table:
    counts = Counter(kind for kinds in found for kind in kinds)
    rows = [[kind, share(counts[kind], len(found))] for kind in KINDS]
    return Table(title, ["observation", f"of {len(found)}"], rows)


def share(hits: int, n: int) -> str:
    low, high = wilson(hits, n)
    return f"{100 * hits / n:.0f} ({100 * low:.0f} to {100 * high:.0f})"


if __name__ == "__main__":
    main()
