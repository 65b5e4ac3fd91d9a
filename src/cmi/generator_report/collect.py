"""Measure generators' takes: everything that the report shows.

score        musicality and alignment of every take, by a scorer; of sections of 10 s, by a reward model
prompt       whether a take fits its own prompt better than another one of the same set: chance is one half
attributes   what the prompt names, and whether it is heard (`attributes`)
inspection   what is wrong with the recording, and when; tempo, key and loudness (`inspect`)
lyrics       the words that are heard, if that is asked for (`lyrics`)
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi.bench.tasks.key import parse as parse_key
from cmi.critic.observe import Observation, observe_voice
from cmi.generator_report.attributes import (
    HeardAttribute,
    NamedAttribute,
    TagBank,
    TakeMeasurements,
    is_heard,
    named_in,
)
from cmi.generator_report.inspect import Inspection, inspecting
from cmi.generator_report.lyrics import HeardLyrics, transcribe_takes
from cmi.reward.model.encoders.nano import TAGS, Nano
from cmi.reward.pick.candidates import Group, read_folder, read_manifest
from cmi.reward.scoring.explain import WINDOW
from cmi.reward.scoring.score_log import score_takes
from cmi.reward.scoring.scorers import NamedScorer, ScoredTake, TakeSection
from cmi.reward.scoring.tags import TagScorer, load_tags, read_bank
from cmi.take import Prompt, Score, Take

Array = NDArray[np.float64]
Steps = Callable[[int], None]


class Sources(NamedTuple):
    """A generator's takes as they are read."""

    name: str
    groups: list[Group]

    @property
    def rows(self) -> "list[GeneratorTake]":
        return [GeneratorTake(group.name, own.name, own.take) for group in self.groups for own in group.candidates]


class GeneratorTake(NamedTuple):
    prompt_name: str
    name: str
    take: Take

    @property
    def path(self) -> Path:
        assert isinstance(self.take.audio, Path)
        return self.take.audio

    @property
    def full_name(self) -> str:
        return f"{self.prompt_name}/{self.name}"


@dataclass(frozen=True)
class HeardTake:
    row: GeneratorTake
    scored: ScoredTake
    other_alignment: float | None  # under another take's prompt
    sections: tuple[TakeSection, ...]  # of 10 s; empty if the scorer hears none
    inspection: Inspection
    odds: Array | None  # (100,), of musicnn's tags; None without its weights
    shares: Mapping[str, float]  # by attribute: the share of a bank of music that has less of it
    lyrics: HeardLyrics | None

    @property
    def score(self) -> Score:
        return self.scored.score

    @property
    def overall(self) -> float:
        return self.score.musicality + self.score.alignment

    @cached_property
    def measurements(self) -> TakeMeasurements:
        key = self.inspection.key
        return TakeMeasurements(self.shares, self.inspection.tempo, None if key is None else parse_key(key))

    @cached_property
    def asked(self) -> list[NamedAttribute]:
        """What the prompt names; lyrics ask for a voice."""
        prompt = self.row.take.prompt
        named = named_in(prompt.text)
        silent = prompt.lyrics.strip() and not any(one.attribute == "voice" for one in named)
        return [*named, NamedAttribute("voice", "voice")] if silent else named

    @cached_property
    def attributes(self) -> list[HeardAttribute]:
        return [is_heard(one, self.measurements) for one in self.asked]

    @cached_property
    def observations(self) -> list[Observation]:
        """What is wrong, in time."""
        lyrics = self.row.take.prompt.lyrics.strip()
        is_known = lyrics and "voice" in self.shares
        voice = observe_voice(self.shares["voice"], self.inspection.seconds) if is_known else []
        return [*voice, *self.inspection.observations]

    @property
    def kinds(self) -> set[str]:
        """Of what is wrong."""
        return {one.kind for one in self.observations}


class MeasuredGenerator(NamedTuple):
    name: str
    takes: list[HeardTake]
    left_out: list[tuple[str, str]]  # takes that could not be heard, and why


@dataclass(frozen=True)
class CollectProgress:
    """How far `collect` is."""

    on_scored: Steps = lambda done: None
    on_inspected: Callable[[], None] = lambda: None
    on_sections: Callable[[], None] = lambda: None
    on_transcribed: Callable[[], None] = lambda: None


def read_generators(places: Sequence[Path]) -> list[Sources]:
    """Read takes: folders with a subfolder for each prompt, or manifests, whose rows may name generators."""
    read = [(place, source) for place in places for source in _read_place(place)]
    names = Counter(source.name for _, source in read)
    found = [
        source if names[source.name] == 1 else source._replace(name=f"{source.name} ({place})")
        for place, source in read
    ]
    if len({source.name for source in found}) < len(found):
        raise InputError("the same takes are named twice; name each generator once")
    return found


def _read_place(place: Path) -> list[Sources]:
    groups = read_folder(place) if place.is_dir() else read_manifest(place)
    if not any(group.candidates for group in groups):
        raise InputError(f"{place}: no takes in it")
    by_generator: defaultdict[str, list[Group]] = defaultdict(list)
    for group in groups:
        for generator in dict.fromkeys(one.generator for one in group.candidates):
            own = tuple(one for one in group.candidates if one.generator == generator)
            by_generator[generator].append(replace(group, candidates=own))
    unnamed = place.resolve().name if place.is_dir() else place.stem
    return [Sources(generator or unnamed, own) for generator, own in sorted(by_generator.items())]


def collect(
    sources: Sequence[Sources],
    scorer: NamedScorer,
    pool: ProcessPoolExecutor,
    scores_log: Path,
    inspections_log: Path,
    transcribe: bool = False,
    progress: CollectProgress = CollectProgress(),  # noqa: B008 (it does nothing)
) -> list[MeasuredGenerator]:
    """Score and inspect every take. A take that cannot be heard is left out with the reason."""
    rows = [row for source in sources for row in source.rows]
    takes = [row.take for row in rows]
    with inspecting(pool, [row.path for row in rows], inspections_log, progress.on_inspected) as wait:
        scored = score_takes(takes, scorer, [scores_log], progress.on_scored)
        others = [other_prompts(source.rows) for source in sources]
        elsewhere = score_takes([take for own in others for take in own], scorer, [scores_log], progress.on_scored)
        sections = hear_sections(takes, scorer, progress.on_sections)
        odds = list(hear_tags(takes, scorer))
        inspections = wait()
    words = transcribe_takes(_with_lyrics(takes, inspections), progress.on_transcribed) if transcribe else {}
    bank = TagBank(TAGS, read_bank())
    results, wrong = iter(zip(rows, scored, sections, odds, strict=True)), iter(elsewhere)
    generators = []
    for source, own_others in zip(sources, others, strict=True):
        found = MeasuredGenerator(source.name, [], [])
        for _ in source.rows:
            row, score, own_sections, own_odds = next(results)
            other = next(wrong) if own_others else None
            inspection = inspections[row.path]
            failed = next((one for one in (score, inspection, own_odds) if isinstance(one, InputError)), None)
            if failed is not None:
                found.left_out.append((row.full_name, str(failed)))
                continue
            assert isinstance(score, ScoredTake)
            assert isinstance(inspection, Inspection)
            assert not isinstance(own_odds, InputError)
            alignment = other.score.alignment if isinstance(other, ScoredTake) else None
            shares = {} if own_odds is None else bank.shares(own_odds)
            heard = HeardTake(row, score, alignment, own_sections, inspection, own_odds, shares, words.get(row.take))
            found.takes.append(heard)
        if not found.takes:
            count, why = len(source.rows), found.left_out[0][1]
            raise InputError(f"{source.name}: none of {count} takes could be heard: {why}")
        generators.append(found)
    return generators


def count_scores(sources: Sequence[Sources]) -> int:
    """How many takes `collect` scores, under their own prompts and under others."""
    return sum(len(source.rows) + len(other_prompts(source.rows)) for source in sources)


def other_prompts(rows: Sequence[GeneratorTake]) -> list[Take]:
    """Each take under the prompt that comes after its own; none if there is only one."""
    prompts: list[tuple[str, Prompt]] = list({row.prompt_name: row.take.prompt for row in rows}.items())
    after = {name: prompts[(i + 1) % len(prompts)][1] for i, (name, _) in enumerate(prompts)}
    return [Take(after[row.prompt_name], row.path) for row in rows] if len(prompts) > 1 else []


def hear_sections(
    takes: Sequence[Take], scorer: NamedScorer, on_heard: Callable[[], None] = lambda: None
) -> list[tuple[TakeSection, ...]]:
    """Sections of 10 s, each judged on its own by the reward model; none by other scorers."""
    if scorer.reward_model is None:
        return [() for _ in takes]
    found = []
    for judged in scorer.with_window(WINDOW).judge(takes):
        found.append(judged.sections if isinstance(judged, ScoredTake) else ())
        on_heard()
    return found


def hear_tags(takes: Sequence[Take], scorer: NamedScorer) -> Iterator[Array | InputError | None]:
    """Log-odds (100,) of musicnn's tags: those that nano heard, or musicnn's own; None if that cannot be loaded."""
    tagger: TagScorer | InputError | None = None
    for take in takes:
        known = tags_known(take, scorer)
        if known is None and tagger is None:
            tagger = load_tagger()
        if known is not None or not isinstance(tagger, TagScorer):
            yield known
            continue
        try:
            yield tagger.odds(take.audio)
        except InputError as error:
            yield error


def load_tagger() -> TagScorer | InputError:
    try:
        return load_tags()[1]
    except InputError as error:  # no connection, and the weights are not here
        return error


def tags_known(take: Take, scorer: NamedScorer) -> Array | None:
    """What nano heard of a take that it has scored; None if another model scored it."""
    encoder = None if scorer.reward_model is None else scorer.reward_model.encoder
    if not isinstance(encoder, Nano) or not encoder.tagged:
        return None
    for job, loaded in scorer.read(take).items():
        if job.sound == take.audio and (entry := getattr(loaded, "entry", None)) is not None:
            return np.asarray(encoder.tags_beside(entry.tokens).double().numpy())
    return None


def _with_lyrics(takes: Sequence[Take], inspections: Mapping[Path, Inspection | InputError]) -> list[Take]:
    heard = {path for path, found in inspections.items() if isinstance(found, Inspection)}
    return [take for take in takes if take.prompt.lyrics.strip() and take.audio in heard]
