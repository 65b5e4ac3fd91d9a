"""A small music generator that is deliberately imperfect: takes for a text prompt, with known faults.

A prompt is a caption of a piece that the composer might write. Each candidate follows each attribute of the caption
with probability HEEDED; the rest is up to the composer, and may match by chance. Two in three candidates get a flaw.

The truth
    met           for each attribute of the caption: true, false, or null if listeners might disagree
    alignment     the share that is met; null counts half
    musicality    1 minus the flaw's strength
    quality       their mean

A folder of takes
    PROMPT/prompt.json and PROMPT/00.flac and so on, for `cmi pick`, and all takes with their truth in takes.jsonl. The
    same seed gives the same bytes; an interrupted set resumes.
"""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any, cast

from cmi._util.errors import InputError
from cmi._util.files import claim, write_whole
from cmi._util.records import read_records
from cmi._util.runlog import RunLog
from cmi._util.workers import process_pool
from cmi.studio.captions import Attribute, Caption, caption, facts, holds
from cmi.studio.flaws import FLAWS
from cmi.studio.pairs import NOT_USED, WIDEST_GAIN
from cmi.studio.recordings import RATE, SECONDS, TakeRecipe, TakeSource, piece_of, record, write_flac
from cmi.studio.render import soundfont
from cmi.studio.styles import STYLES
from cmi.take import Score, Take

HEEDED = 0.6  # probability that an attribute of the prompt is followed
CLEAN = 1 / 3  # of candidates have no flaw
WEAKEST = 0.05  # flaw; a weaker one may change nothing
MANIFEST = "takes.jsonl"
MOST = 1000  # prompts, and candidates for each

# Beyond the seeds of data sets and probes, so no scorer was trained on these pieces.
_FIRST_SEED = 10**15
_MOOD_TRIES = 16  # pieces composed to find one in the requested mood
_PER_PROMPT = (1 + MOST) * _MOOD_TRIES

_WISHES: tuple[Attribute, ...] = ("tempo", "density", "instruments", "metre", "mode")  # besides the style
_FLAWS = tuple(name for name in FLAWS if name not in NOT_USED)


@dataclass(frozen=True)
class Generated:
    recipe: TakeRecipe
    met: dict[Attribute, bool | None]

    @property
    def score(self) -> Score:
        """The true score."""
        shares = {True: 1.0, None: 0.5, False: 0.0}
        alignment = sum(shares[met] for met in self.met.values()) / len(self.met)
        return Score(round(1 - self.recipe.strength, 6), round(alignment, 6))


def write_prompt(number: int, seed: int) -> Caption:
    """Write the set's prompt of that number, without vocals."""
    rng = _rng("prompt", seed, number)
    known = facts(piece_of(TakeSource(_first_piece(number, seed), seconds=SECONDS)))
    asked = caption(known, rng)
    while "vocals" in asked.says:
        asked = caption(known, rng)
    return asked


def generate(asked: Caption, seed: int, first_piece: int) -> Generated:
    """Plan one candidate for a caption; pieces are composed from the seed `first_piece` on."""
    rng = _rng("candidate", seed, first_piece)
    heeded = [attribute for attribute in sorted(asked.says) if rng.random() < HEEDED]
    source = _compose(asked, heeded, rng, first_piece)
    gain = round(rng.uniform(-WIDEST_GAIN, WIDEST_GAIN), 2)
    recipe = TakeRecipe(source, gain=gain)
    if rng.random() >= CLEAN:
        strength = round(rng.uniform(WEAKEST, 1), 2)
        recipe = replace(recipe, flaw=rng.choice(_FLAWS), strength=strength, flaw_seed=rng.randrange(2**31))
    played = facts(piece_of(source))
    return Generated(recipe, {attribute: holds(asked, attribute, played) for attribute in sorted(asked.says)})


def generate_set(
    folder: Path,
    prompts: int = 20,
    candidates: int = 10,
    seed: int = 0,
    workers: int | None = None,
    on_made: Callable[[int, int], None] = lambda done, total: None,
) -> Path:
    """Write a folder of takes and return its manifest."""
    if not 1 <= prompts <= MOST or not 1 <= candidates <= MOST:
        raise InputError(f"{prompts} prompts and {candidates} candidates, expected 1 to {MOST} of each")
    asked = {"prompts": prompts, "candidates": candidates, "seed": seed, "heeded": HEEDED, "clean": CLEAN}
    rendered = {"soundfont": soundfont().name, "rate": RATE, "seconds": SECONDS}
    claim(folder, {**asked, **rendered}, "cmi studio generate")
    manifest = folder / MANIFEST
    wanted = list(product(range(prompts), range(candidates)))
    with process_pool(workers) as pool, RunLog(manifest) as log:
        missing = [place for place in wanted if _take_id(*place) not in log or not _file(folder, *place).exists()]
        on_made(len(wanted) - len(missing), len(wanted))
        rows = pool.map(partial(_make, folder, seed), missing)
        for done, row in enumerate(rows, len(wanted) - len(missing) + 1):
            if row["id"] not in log:
                log.append(row)
            on_made(done, len(wanted))
        log.finish()
    return manifest


class Truth:
    """A scorer that returns a generated take's true score from the manifest."""

    def score(self, takes: Sequence[Take]) -> list[Score]:
        return [self._score(take) for take in takes]

    def _score(self, take: Take) -> Score:
        if not isinstance(take.audio, Path):
            raise InputError("the truth is known only for generated files, and this take is audio in memory")
        path = take.audio.resolve()
        truth = _read_truth(path.parent.parent / MANIFEST).get(f"{path.parent.name}/{path.name}")
        if truth is None:
            raise InputError(f"{take.audio}: not in {path.parent.parent / MANIFEST}, so its truth is unknown")
        return truth


@lru_cache(maxsize=8)
def _read_truth(manifest: Path) -> dict[str, Score]:
    if not manifest.exists():
        raise InputError(f"{manifest}: no such file; `cmi studio generate` writes it beside the prompts' folders")
    try:
        return {
            row["audio"]: Score(row["truth"]["musicality"], row["truth"]["alignment"])
            for _, row in read_records(manifest)
        }
    except (KeyError, TypeError) as error:
        raise InputError(f"{manifest}: rows without truth; only `cmi studio generate` writes it") from error


def _compose(asked: Caption, heeded: Sequence[Attribute], rng: random.Random, first_piece: int) -> TakeSource:
    """Compose a piece with the attributes that are followed."""
    wishes: dict[str, Any] = {
        attribute: getattr(asked.facts, attribute) for attribute in _WISHES if attribute in heeded
    }
    style = asked.facts.style
    styles = [style] if "style" in heeded else [*rng.sample(list(STYLES), len(STYLES)), style]
    pieces = range(first_piece, first_piece + (_MOOD_TRIES if "mood" in heeded else 1))
    for name in styles:  # some styles lack drums or the metre; the last can play everything
        sources = [_source(piece, {"style": name, **wishes}) for piece in pieces]
        try:
            in_mood = (source for source in sources if piece_of(source).attributes.mood == asked.facts.mood)
            return next(in_mood, sources[0])
        except InputError:
            continue
    raise AssertionError("the piece that a caption was written for can be composed")


def _source(seed: int, wishes: dict[str, Any]) -> TakeSource:
    # a source's wishes are said to be words and numbers; the composer takes the names of several instruments too
    return TakeSource(seed, cast("tuple[tuple[str, str | float], ...]", tuple(wishes.items())), SECONDS)


def _make(folder: Path, seed: int, place: tuple[int, int]) -> dict[str, Any]:
    prompt, candidate = place
    asked = write_prompt(prompt, seed)
    made = generate(asked, seed, _first_piece(prompt, seed) + (1 + candidate) * _MOOD_TRIES)
    path = _file(folder, prompt, candidate)
    path.parent.mkdir(exist_ok=True)
    sound, _ = record(made.recipe)
    write_flac(sound, path)
    if candidate == 0:
        write_whole(path.parent / "prompt.json", json.dumps({"text": asked.text}, ensure_ascii=False) + "\n")
    score = made.score
    truth = {
        "met": made.met,
        "flaw": made.recipe.flaw,
        "strength": made.recipe.strength,
        **score._asdict(),
        "quality": round((score.musicality + score.alignment) / 2, 6),
    }
    audio = path.relative_to(folder).as_posix()
    return {"id": _take_id(*place), "group": path.parent.name, "text": asked.text, "audio": audio, "truth": truth}


def _first_piece(prompt: int, seed: int) -> int:
    return _FIRST_SEED + (seed * MOST + prompt) * _PER_PROMPT


def _take_id(prompt: int, candidate: int) -> str:
    return f"{prompt:03d}-{candidate:02d}"


def _file(folder: Path, prompt: int, candidate: int) -> Path:
    return folder / f"{prompt:03d}" / f"{candidate:02d}.flac"


def _rng(what: str, seed: int, number: int) -> random.Random:
    return random.Random(f"cmi.studio.generate {what} {seed} {number}")  # noqa: S311
