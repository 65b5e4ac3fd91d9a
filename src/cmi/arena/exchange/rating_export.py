"""Export ratings of a project of the kind mos, mushra or ranking, in up to three files.

preferences    votes on pairs, in the common preference format: two takes that the same person rated on the same page,
               or that they rated alone for the same prompt (mos). The higher rating wins, equal ones are 'both'
               (`cmi.stats.listening`, as webMUSHRA's results are read). For `cmi train`, `calibrate`, `rewardbench`
ratings        one row per take and person, from 1 to 5 (a MUSHRA score is 1 + score / 25); not of rankings
answers        what was answered, one row per stimulus: id, trial, rater, system, role, place (the number shown), audio,
               text, lyrics, reference, a column for each axis, feedback, seconds, voted, corrections, hidden

Preferences have the columns of exported votes (`cmi.arena.exchange.exporting`) that apply, and x_rated (the kind),
x_rating_a and x_rating_b. Ratings of trials that the owner hid are left out unless asked for; `hidden` is the reason.
People who fail MUSHRA's post-screening are left out of preferences and ratings unless asked for; `answers` has
everybody, with passed false for them. `rater` is an opaque id; names are never exported, nor ratings of people who
withdrew.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from sqlalchemy import select

from cmi._util.files import make_folder
from cmi.arena.exchange.exporting import (
    Audio,
    Format,
    SplitItem,
    as_json,
    as_time,
    collect_sounds,
    draw_splits,
    name_sound,
    require_unchanged,
)
from cmi.arena.statistics.post_screening import find_failed, read_annotators
from cmi.arena.store import projects
from cmi.arena.store.database import Database, require_sound
from cmi.arena.store.ratings import CountedRating, RatedStimulus, counted_ratings
from cmi.arena.store.schema import sounds, stimuli, trials
from cmi.arena.store.study import modality_of
from cmi.arena.store.trials import KINDS, RatedKind, count_trials
from cmi.preferences import COLUMNS, FIELDS, NAME, Preference, Rating, preference_row, rating_row, write_rows
from cmi.stats.listening import compare_scores
from cmi.take import Axis, Pair, Prompt, Take

MUSHRA_STEP = 25  # of a MUSHRA score, to a point of the scale from 1 to 5


class ExportedRatings(NamedTuple):
    path: Path  # of the preferences
    ratings: int
    preferences: int
    sounds: int
    failed: int  # people left out by post-screening
    hidden: int  # ratings left out because their trials are hidden
    leaking: int  # ratings left out because two splits would share their prompt or a recording


class _Rated(NamedTuple):
    """A stimulus as one person rated it."""

    rating: CountedRating
    place: int  # its position in the trial
    prompt: Prompt
    audio: Path

    @property
    def id(self) -> str:
        return f"{self.rating.id}-{self.place}"

    @property
    def stimulus(self) -> RatedStimulus:
        return self.rating.stimuli[self.place]


def export_ratings(
    database: Database,
    project: str,
    folder: Path,
    format_: Format = "jsonl",
    audio: Audio = "copy",
    shares: Mapping[str, float] | None = None,
    everybody: bool = False,
    hidden: bool = False,
) -> ExportedRatings:
    """Write the files into a folder, with the sounds copied, linked or left in place.

    The same call again rewrites the files and copies missing sounds. A damaged database is an InputError.
    """
    require_sound(database, thoroughly=True)
    make_folder(folder)
    kind = read_kind(database, project)
    everything = list(counted_ratings(database, project, hidden=True))
    counted = [row for row in everything if hidden or row.hidden is None]
    splits = _find_splits(database, project, shares)
    rated = [row for row in counted if splits is None or splits[row.trial]]
    failed = _find_failed(database, project, counted, hidden)
    kept = {
        name_sound(one.digest, one.media_type): Path(one.path)
        for row in rated
        for one in (*row.stimuli, *([row.reference] if row.reference else []))
    }
    require_unchanged(kept, None if audio == "leave" else folder / "audio")
    if audio != "leave":
        collect_sounds(kept, folder / "audio", audio)

    def place(stimulus: RatedStimulus) -> Path:
        return Path(stimulus.path) if audio == "leave" else folder / "audio" / _name(stimulus)

    chosen = [row for row in rated if everybody or row.person not in failed]
    path = folder / f"{NAME}.{format_}"
    stimuli_rated = list(_stimuli(chosen, place))
    votes = list(make_preferences(stimuli_rated, kind, splits))
    write_rows((preference_row(vote, folder) for vote in votes), path)
    if kind != "ranking":
        named = folder / f"ratings.{format_}"
        write_rows((rating_row(one, folder) for one in _ratings(stimuli_rated, kind, splits)), named)
    write_rows(answer_rows(_stimuli(rated, place), kind, failed, folder), folder / f"answers.{format_}")
    left_out = 0 if everybody else len(failed), len(everything) - len(counted), len(counted) - len(rated)
    return ExportedRatings(path, len(rated), len(votes), len(kept), *left_out)


def preference_rows(
    database: Database, project: str, shares: Mapping[str, float] | None = None, hidden: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the preferences; sounds are called audio/NAME."""
    kind, splits = read_kind(database, project), _find_splits(database, project, shares)
    rated = list(counted_ratings(database, project, hidden))
    failed = _find_failed(database, project, rated, hidden)
    passed = [row for row in rated if row.person not in failed and (splits is None or splits[row.trial])]
    kept = _stimuli(passed, _in_audio)
    for vote in make_preferences(list(kept), kind, splits):
        yield preference_row(vote, Path())


def all_answers(database: Database, project: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of `answers`; sounds are called audio/NAME."""
    rated = list(counted_ratings(database, project))
    failed = _find_failed(database, project, rated)
    yield from answer_rows(_stimuli(rated, _in_audio), read_kind(database, project), failed, Path())


def read_kind(database: Database, project: str) -> RatedKind:
    return cast(RatedKind, projects.get(database, project).kind)


def _find_failed(database: Database, project: str, rated: Sequence[CountedRating], hidden: bool = False) -> set[str]:
    """The people who fail the post-screening of MUSHRA."""
    return find_failed(rated, read_annotators(database, project), count_trials(database, project, hidden))


def make_preferences(
    rated: Sequence[_Rated], kind: RatedKind, splits: Mapping[str, str] | None = None
) -> Iterator[Preference]:
    """Yield the votes on pairs that ratings amount to."""
    pages: defaultdict[object, dict[str, _Rated]] = defaultdict(dict)
    for one in rated:
        alone = one.rating.person, one.rating.text, one.rating.lyrics, one.prompt.reference
        pages[alone if kind == "mos" else one.rating.id][one.id] = one
    sign = -1 if kind == "ranking" else 1  # rank 1 is the best
    for page in pages.values():
        for axis in KINDS[kind].axes:
            values = {name: one.rating.answers[axis][one.place] for name, one in page.items()}
            for a, b, choice in compare_scores({name: sign * value for name, value in values.items()}):
                first, second = page[a], page[b]
                if first.audio == second.audio:
                    continue
                about = _about(first, second, kind, splits) | {"x_rating_a": values[a], "x_rating_b": values[b]}
                pair = Pair(first.prompt, first.audio, second.audio)
                yield Preference(pair, axis, choice, None, first.rating.person, f"{a}-{b}-{axis}", about)


def _about(a: _Rated, b: _Rated, kind: RatedKind, splits: Mapping[str, str] | None) -> dict[str, Any]:
    row, latest = a.rating, max(a.rating, b.rating, key=lambda one: one.created)
    ids = dict.fromkeys([a.rating.source_id, b.rating.source_id])
    ours = {
        "pair": " ".join(ids),
        "modality": modality_of(row.lyrics, row.reference),
        "generator_a": a.stimulus.system,
        "generator_b": b.stimulus.system,
        "feedback": "\n".join(dict.fromkeys(filter(None, [a.rating.feedback, b.rating.feedback]))),
        "seconds": round(latest.seconds, 3),
        "voted": as_time(latest.created),
        "corrections": latest.number - 1,
        "hidden": "; ".join(dict.fromkeys(filter(None, [a.rating.hidden, b.rating.hidden]))),
        "x_rated": kind,
    }
    if splits is not None:
        ours["split"] = splits[row.trial]
    shared = {key: value for key, value in as_json(row.about).items() if b.rating.about.get(key) == row.about.get(key)}
    return ours | {COLUMNS.own(key): value for key, value in shared.items() if key not in (*FIELDS, *ours)}


def _ratings(rated: Sequence[_Rated], kind: RatedKind, splits: Mapping[str, str] | None) -> Iterator[Rating]:
    for one in rated:
        row = one.rating
        values: dict[Axis, float] = {axis: float(answers[one.place]) for axis, answers in row.answers.items()}
        about: dict[str, Any] = {"generator": one.stimulus.system, "rater": row.person}
        if kind == "mushra":
            about["x_mushra"] = row.answers["musicality"][one.place]
            values = {axis: 1 + value / MUSHRA_STEP for axis, value in values.items()}
        split = splits[row.trial] if splits is not None else row.about.get("split")
        about |= {"split": split} if split else {}
        yield Rating(one.id, Take(one.prompt, one.audio), values, about)


def answer_rows(rated: Iterator[_Rated], kind: RatedKind, failed: set[str], folder: Path) -> Iterator[dict[str, Any]]:
    for one in rated:
        row, stimulus = one.rating, one.stimulus
        take = rating_row(Rating(one.id, Take(one.prompt, one.audio), {}, {}), folder)
        yield {
            "id": one.id,
            "trial": row.source_id,
            "rater": row.person,
            "system": stimulus.system,
            "role": stimulus.role,
            "place": 1 + row.shown.index(one.place),
            **{name: take[name] for name in ("audio", "text", "lyrics", "reference")},
            **{axis: row.answers[axis][one.place] for axis in KINDS[kind].axes},
            "feedback": row.feedback,
            "seconds": round(row.seconds, 3),
            "voted": as_time(row.created),
            "corrections": row.number - 1,
            "hidden": row.hidden or "",
            "passed": row.person not in failed,
        }


def _stimuli(rated: Sequence[CountedRating], place: Any) -> Iterator[_Rated]:
    for row in rated:
        prompt = Prompt(row.text, row.lyrics, place(row.reference) if row.reference else None)
        for position, stimulus in enumerate(row.stimuli):
            yield _Rated(row, position, prompt, place(stimulus))


def _in_audio(stimulus: RatedStimulus) -> Path:
    return Path("audio", _name(stimulus))


def _name(stimulus: RatedStimulus) -> str:
    return name_sound(stimulus.digest, stimulus.media_type)


def _find_splits(database: Database, project: str, shares: Mapping[str, float] | None) -> dict[str, str] | None:
    """The split of each trial, '' for one that would leak."""
    if shares is None:
        return None
    reference = sounds.alias()
    asked = (
        select(trials, sounds.c.digest.label("digest"), reference.c.digest.label("reference_digest"))
        .join(stimuli, stimuli.c.trial == trials.c.id)
        .join(sounds, sounds.c.id == stimuli.c.sound)
        .outerjoin(reference, reference.c.id == trials.c.reference)
        .where(trials.c.project == project)
        .order_by(trials.c.position, stimuli.c.position)
    )
    items: dict[str, SplitItem] = {}
    with database.reading() as connection:
        for row in connection.execute(asked):
            stated = row.about.get("split")
            digests = frozenset(filter(None, [row.digest, row.reference_digest]))
            new = SplitItem(row.id, row.text, row.lyrics, row.reference_digest, stated, digests)
            before = items.get(row.id, new)
            items[row.id] = new._replace(digests=before.digests | digests)
    return draw_splits(items.values(), shares, projects.get(database, project).settings.seed)
