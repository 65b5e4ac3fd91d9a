"""How often `cmi.critic` finds a flaw of known strength, and how often it finds one where there is none.

    python recipes/critic/error_rates.py [--songs FOLDER]

Pieces of the studio, 30 s each, with each flaw that an observation is about at strengths 0.3, 0.6 and 1; the same
pieces as they are; with the tempo changed from a beat on; sung and not sung under the same lyrics; and, with --songs,
the recordings of a folder, whole. Thresholds were chosen on other seeds. Tempo and key are compared with the piece's.

30 s of a longer piece end within the music, so that `cut` is right about most of the clean ones.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np

from cmi._util.errors import InputError
from cmi.audio import Waveform, find_recordings
from cmi.critic.observe import KINDS, ObservedSound, observe, observe_sound, observe_voice
from cmi.features.key import TONICS
from cmi.features.tempo import is_same_tempo
from cmi.generator_report.attributes import TagBank
from cmi.generator_report.inspect import find_keys
from cmi.report.tables import Table, print_tables
from cmi.reward.model.encoders.nano import TAGS
from cmi.reward.scoring.tags import Tagger, read_bank
from cmi.stats import wilson
from cmi.studio.lyrics import write_lyrics
from cmi.studio.piece import Piece
from cmi.studio.recordings import RATE, SECONDS, TakeRecipe, TakeSource, piece_of, record
from cmi.studio.render import render

FLAWS = {
    "clipping": "clipping",
    "dropouts": "dropouts",
    "low-pass": "muffled",
    "hum": "hum",
    "stuck": "stuck",
    "abrupt-cut": "tail",
}
STRENGTHS = (0.3, 0.6, 1.0)
JUMPS = (0.8, 0.9, 0.94, 1.06, 1.1, 1.25)  # times the tempo
LYRICS = 8  # lines
FIRST_SEED = 91_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pieces", type=int, default=40)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--songs", type=Path)
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.pieces)
    tables = [found_table(seeds), jump_table(seeds), voice_table(seeds), tempo_and_key(seeds)]
    print_tables([*tables, *false_alarms(seeds, arguments.songs)])


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
    return {one.kind for one in observe_sound(ObservedSound(record(recipe)[0], RATE))}


def jump_table(seeds: range) -> Table:
    """How often a jump of the tempo is found, and how far off in time."""
    rows = []
    for factor in JUMPS:
        errors = []
        for seed in seeds:
            piece, at = jumped(piece_of(TakeSource(seed, seconds=45)), factor, Random(seed).uniform(10, 20))  # noqa: S311
            sound = ObservedSound(render(piece, RATE, span=(0, SECONDS)), RATE)
            errors += [abs(one.start - at) for one in observe_sound(sound) if one.kind == "tempo jump"]
        late = f"{np.median(errors):.1f}" if errors else "-"
        rows.append([f"{factor:g} times", share(len(errors), len(seeds)), late])
    return Table(f"Jumps of the tempo found, % of {len(seeds)} pieces", ["tempo", "found", "seconds off"], rows)


def jumped(piece: Piece, factor: float, after: float) -> tuple[Piece, float]:
    """The piece with another tempo from the first beat after that second on, and when that is."""
    beats = np.array(piece.beats)
    at = float(beats[np.searchsorted(beats, after)])
    return replace(piece, beats=tuple(np.where(beats <= at, beats, at + (beats - at) / factor))), at


def voice_table(seeds: range) -> Table:
    """How often no voice is heard, in songs of the studio and in the same pieces without a singer."""
    tagger, bank = Tagger(), TagBank(TAGS, read_bank())
    rows = []
    for name, is_sung in (("sung", True), ("not sung", False)):
        hits = 0
        for seed in seeds:
            lyrics = write_lyrics(Random(seed), LYRICS) if is_sung else ""  # noqa: S311
            sound = record(TakeRecipe(TakeSource(seed), lyrics=lyrics))[0].mean(axis=1)
            voice = bank.shares(tagger.hear(Waveform(sound.astype(np.float32), RATE)))["voice"]
            hits += bool(observe_voice(voice, SECONDS))
        rows.append([name, share(hits, len(seeds))])
    return Table(f"No voice is heard, % of {len(seeds)} pieces", ["piece", "said"], rows)


def tempo_and_key(seeds: range) -> Table:
    """How often the measured tempo and key are the piece's, and a constant one."""
    right: Counter[str] = Counter()
    for seed in seeds:
        piece = piece_of(TakeSource(seed))
        sound = ObservedSound(record(TakeRecipe(TakeSource(seed)))[0], RATE)
        own, key = piece.attributes.tempo, f"{TONICS[piece.key.tonic]} {piece.key.mode}"
        tempo = 0.0 if sound.tempo is None else sound.tempo.tempo
        right["tempo within 6 %"] += tempo > 0 and is_same_tempo(tempo, own, octaves=False)
        right["tempo, or its double or half"] += tempo > 0 and is_same_tempo(tempo, own)
        right["null: always 120, or its double or half"] += is_same_tempo(120.0, own)
        right["key"] += find_keys(sound.low)[0] == key
        right["null: always C major"] += key == "C major"
    rows = [[name, share(hits, len(seeds))] for name, hits in right.items()]
    return Table(f"Tempo and key, % of {len(seeds)} pieces", ["measurement", "right"], rows)


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
