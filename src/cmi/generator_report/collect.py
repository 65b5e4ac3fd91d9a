"""Measure generators' takes: everything that the report shows.

score       musicality and alignment of every take, by a scorer
prompt      whether a take fits its own prompt better than another one of the same set: chance is one half
critic      what is wrong with the recording, and when (`cmi.critic`)
copies      takes that are the same recording as another take of the same generator
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi.audio import LONGEST, load, load_channels
from cmi.critic import Observation
from cmi.critic.observe import observe_sound
from cmi.features import RATE
from cmi.pairs.fingerprint import SAME, SECONDS, fingerprint, similarities
from cmi.reward.pick.candidates import Group, read_folder, read_manifest
from cmi.reward.scoring.score_log import score_takes
from cmi.reward.scoring.scorers import NamedScorer, ScoredTake
from cmi.stats import Interval, bootstrap, bootstrap_interval, share_interval
from cmi.take import Prompt, Score, Take

MOST_COMPARED = 500  # takes of a generator that are compared with each other
PEAKS = 240  # of a waveform as it is drawn
RESAMPLES = 1000
THREADS = 2  # that inspect recordings

Array = NDArray[np.float64]


class Sources(NamedTuple):
    """A generator's takes as they are read."""

    name: str
    groups: list[Group]


class Inspection(NamedTuple):
    """What a recording is like, without a model."""

    seconds: float
    peaks: list[float]  # of the waveform, 0 to 1
    observations: list[Observation]


class HeardTake(NamedTuple):
    prompt_name: str
    name: str
    take: Take
    scored: ScoredTake
    other_alignment: float | None  # under another take's prompt
    seconds: float
    peaks: list[float]  # of the waveform, 0 to 1
    observations: list[Observation]

    @property
    def score(self) -> Score:
        return self.scored.score


class Mean(NamedTuple):
    value: float
    interval: Interval


class GeneratorReport(NamedTuple):
    name: str
    prompts: int
    takes: list[HeardTake]
    left_out: list[tuple[str, str]]  # takes that could not be heard, and why
    copies: list[tuple[str, str, float]]
    musicality: Mean
    alignment: Mean
    own_prompt: Mean | None  # how often the own prompt fits better than another one; None for a single prompt


class ReportOfGenerators(NamedTuple):
    model: str
    generators: list[GeneratorReport]  # the best first


def read_generators(places: Sequence[Path]) -> list[Sources]:
    """Read each generator's takes: a folder with a subfolder for each prompt, or a manifest."""
    found = [Sources(_name(place), read_folder(place) if place.is_dir() else read_manifest(place)) for place in places]
    names = [source.name for source in found]
    if len(set(names)) < len(names):
        found = [source._replace(name=str(place)) for source, place in zip(found, places, strict=True)]
    for source, place in zip(found, places, strict=True):
        if not any(group.candidates for group in source.groups):
            raise InputError(f"{place}: no takes in it")
    return found


def _name(place: Path) -> str:
    return place.resolve().name if place.is_dir() else place.stem


def collect(
    sources: Sequence[Sources],
    scorer: NamedScorer,
    logs: Sequence[Path] = (),
    on_scored: Callable[[int], None] = lambda done: None,
    on_heard: Callable[[], None] = lambda: None,
) -> ReportOfGenerators:
    """Score and inspect every take; the generators come in the order of their mean score."""
    asked = [list_takes(source) for source in sources]
    takes = [take for rows in asked for _, _, take in rows]
    others = [[Take(prompt, take.audio) for (_, _, take), prompt in _with_other_prompts(rows)] for rows in asked]
    results = iter(score_takes(takes, scorer, logs, on_scored))
    elsewhere = iter(score_takes([take for own in others for take in own], scorer, logs, on_scored))
    with ThreadPoolExecutor(THREADS) as pool:
        inspected = pool.map(_inspect, takes)
        reports = [
            _report(source.name, rows, own_others, results, elsewhere, inspected, on_heard)
            for source, rows, own_others in zip(sources, asked, others, strict=True)
        ]
    reports.sort(key=lambda report: -(report.musicality.value + report.alignment.value))
    return ReportOfGenerators(scorer.name, reports)


def _report(
    source: str,
    rows: Sequence[tuple[str, str, Take]],
    others: Sequence[Take],
    results: Iterator[ScoredTake | InputError],
    elsewhere: Iterator[ScoredTake | InputError],
    inspected: Iterator[Inspection | InputError],
    on_heard: Callable[[], None],
) -> GeneratorReport:
    """The report of one generator, whose results come next."""
    heard, left_out = [], []
    for prompt_name, name, take in rows:
        scored, other, inspection = next(results), next(elsewhere) if others else None, next(inspected)
        wrong = other.score.alignment if isinstance(other, ScoredTake) else None
        if isinstance(scored, ScoredTake) and isinstance(inspection, Inspection):
            heard.append(HeardTake(prompt_name, name, take, scored, wrong, *inspection))
        else:
            reason = scored if isinstance(scored, InputError) else inspection
            left_out.append((f"{prompt_name}/{name}", str(reason)))
        on_heard()
    if not heard:
        raise InputError(f"{source}: none of {len(rows)} takes could be heard: {left_out[0][1]}")
    return _summarise(source, heard, left_out)


def list_takes(source: Sources) -> list[tuple[str, str, Take]]:
    """The prompt's name, the take's name and the take."""
    return [(group.name, own.name, own.take) for group in source.groups for own in group.candidates]


def count_scores(sources: Sequence[Sources]) -> int:
    """How many takes `collect` scores, under their own prompts and under others."""
    asked = [list_takes(source) for source in sources]
    return sum(len(rows) + len(_with_other_prompts(rows)) for rows in asked)


def _with_other_prompts(rows: Sequence[tuple[str, str, Take]]) -> list[tuple[tuple[str, str, Take], Prompt]]:
    """Each take with the prompt that comes after its own; none if there is only one."""
    prompts = list({name: take.prompt for name, _, take in rows}.items())
    after = {name: prompts[(i + 1) % len(prompts)][1] for i, (name, _) in enumerate(prompts)}
    return [(row, after[row[0]]) for row in rows] if len(prompts) > 1 else []


def _inspect(take: Take) -> Inspection | InputError:
    assert isinstance(take.audio, Path)
    try:
        samples, rate = load_channels(take.audio, LONGEST)
    except InputError as error:
        return error
    parts = np.array_split(np.abs(samples).max(axis=1), min(PEAKS, len(samples)))
    peaks = [round(float(part.max()), 3) for part in parts]
    return Inspection(len(samples) / rate, peaks, observe_sound(samples, rate))


def _summarise(name: str, takes: list[HeardTake], left_out: list[tuple[str, str]]) -> GeneratorReport:
    prompts = sorted({take.prompt_name for take in takes})
    clusters = np.array([prompts.index(take.prompt_name) for take in takes])
    musicality, alignment = (
        _mean(np.array([getattr(take.score, axis) for take in takes]), clusters) for axis in ("musicality", "alignment")
    )
    return GeneratorReport(
        name, len(prompts), takes, left_out, find_copies(takes), musicality, alignment, _own_prompt(takes, clusters)
    )


def _mean(values: Array, clusters: NDArray[np.int64]) -> Mean:
    draws = bootstrap(lambda weights: weights @ values / weights.sum(axis=1), clusters, RESAMPLES)
    return Mean(float(values.mean()), bootstrap_interval(draws, len(np.unique(clusters))))


def _own_prompt(takes: Sequence[HeardTake], clusters: NDArray[np.int64]) -> Mean | None:
    """How often a take fits its own prompt better; a tie counts as half."""
    asked = [i for i, take in enumerate(takes) if take.other_alignment is not None]
    if not asked:
        return None
    differences = np.array([takes[i].score.alignment - (takes[i].other_alignment or 0.0) for i in asked])
    wins = (np.sign(differences) + 1) / 2
    codes = np.unique(clusters[asked], return_inverse=True)[1]
    draws = bootstrap(lambda weights: weights @ wins / weights.sum(axis=1), codes, RESAMPLES)
    return Mean(float(wins.mean()), share_interval(float(wins.mean()), draws, int(codes.max()) + 1))


def find_copies(takes: Sequence[HeardTake]) -> list[tuple[str, str, float]]:
    """Pairs of takes that are the same recording, at any level and shifted by up to some seconds."""
    compared = list(takes)[:MOST_COMPARED]
    prints = [fingerprint(load(Path(str(take.take.audio)), RATE, SECONDS)) for take in compared]
    alike = similarities(prints)
    return [
        (_full_name(compared[i]), _full_name(compared[j]), float(alike[i, j]))
        for i, j in np.argwhere(np.triu(alike >= SAME, 1)).tolist()
    ]


def _full_name(take: HeardTake) -> str:
    return f"{take.prompt_name}/{take.name}"
