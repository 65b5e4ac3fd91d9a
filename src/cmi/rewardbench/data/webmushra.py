"""webMUSHRA: what listeners rated on MUSHRA pages (ITU-R BS.1534).

Layout (the folder of webMUSHRA)
    results/TEST/mushra.csv    session_test_id, the questionnaire's columns, session_uuid, trial_id, rating_stimulus,
                               rating_score (0 to 100), rating_time (milliseconds), rating_comment
    configs/*.yaml             of each test (testId): the pages, with the recordings of stimuli and reference, by paths
                               that start at this folder

Every score is a rating of a take, 1 + score / 25, from 1 to 5; the exact score is in the column x_mushra. On a MUSHRA
page a listener hears all stimuli side by side. Any two of them that the same listener rated on the same page therefore
give a vote on a pair: the higher score wins, equal ones are 'both'. Scores of different listeners or pages give none.
The quality of a recording is counted as musicality. A take's generator is its stimulus, such as C1; that of the hidden
reference is 'reference', and the reference recording is part of the prompt.

Left out: anchors that the browser made, of which there are no files; stimuli rated again in the same session, of which
the first score counts; and all of a listener who rated the hidden reference below SEEN on more than MISSED of the pages
(the post-screening of BS.1534-3). The rater is the session; the questionnaire's answers, such as a mail address, are
not read. Results of webMUSHRA before session_uuid have no session: there the rater is a hash of these answers.

paired_comparison.csv and bs1116.csv are not read: they say whether the reference was recognised, not what is preferred.

Read from: audiolabs/webMUSHRA@07130f2 service/write.php, lib/webmushra/pages/MushraPage.js, doc/experimenter.md and
configs/default.yaml. No results of a study were at hand.
"""

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.config import MOST_BYTES, parse_yaml
from cmi._util.errors import InputError
from cmi._util.fields import text_field
from cmi._util.printable import shorten
from cmi._util.records import csv_records, read_text
from cmi.rewardbench.data import ALL, DataSet
from cmi.rewardbench.data.rows import LeftOut, first_of, inside, present, required
from cmi.rewardbench.data.rows import with_splits as with_splits
from cmi.rewardbench.items import RatedItem, Vote
from cmi.stats.listening import ANCHORS, REFERENCE, compare_scores, fails_post_screening
from cmi.take import Choice, Prompt

NAME = "webmushra"
DATA_SET = DataSet(
    NAME,
    "webMUSHRA: what listeners rated in a study of yours",
    "yours",
    "name its folder: webmushra=FOLDER",
    split=ALL,
    draws_split=True,
)
REQUIRED = ("session_test_id", "trial_id", "rating_stimulus", "rating_score")
NOT_ASKED = (*REQUIRED, "session_uuid", "rating_time", "rating_comment")  # other columns are the questionnaire's
# webMUSHRA's own parser accepts colons in texts, YAML does not; texts are not needed.
_TEXT = re.compile(r"^(\s*(?:- )*)(content|name|label|testname|unforced):[^\S\n]+[^|>\s].*$", re.MULTILINE)


class MushraPage(NamedTuple):
    """The recordings of a MUSHRA page."""

    stimuli: Mapping[str, Path]
    reference: Path | None


class MushraScore(NamedTuple):
    where: str
    test: str
    rater: str
    trial: str
    stimulus: str
    score: float
    seconds: float | None


def rows(folder: Path) -> Iterator[RatedItem | LeftOut]:
    files = [file] if (file := folder / "mushra.csv").is_file() else sorted(folder.glob("results/*/mushra.csv"))
    if not files:
        raise InputError(f"{folder}: no results/*/mushra.csv in it, expected the folder of webMUSHRA")
    pages = read_pages(folder)
    for file in files:
        yield from _labels(list(read_scores(file)), pages, file)


def read_scores(path: Path) -> Iterator[MushraScore]:
    """Yield the rows of a mushra.csv."""
    for place, row in csv_records(path, REQUIRED):
        where = f"{path} {place}"
        score, time = _number(row, "rating_score", 100, where), _number(row, "rating_time", math.inf, where)
        if score is None:
            raise InputError(f"{where}: 'rating_score' is missing")
        test, trial, stimulus = (required(row, name, where) for name in REQUIRED[:3])
        seconds = None if time is None else time / 1000
        yield MushraScore(where, test, _rater(row, where), trial, stimulus, score, seconds)


def _number(row: dict[str, Any], field: str, most: float, where: str) -> float | None:
    """Return a number from 0 to `most`; None if the cell is empty or missing."""
    text = text_field(row, field, where)
    try:
        value = float(text or 0)
    except ValueError:
        value = math.nan
    if not (0 <= value <= most and math.isfinite(value)):
        expected = "or more" if math.isinf(most) else f"to {most:g}"
        raise InputError(f"{where}: {field!r} is {shorten(repr(text), 40)}, expected a number from 0 {expected}")
    return value if text else None


def _rater(row: dict[str, Any], where: str) -> str:
    session = text_field(row, "session_uuid", where)
    asked = [f"{name}={value}" for name, value in row.items() if name not in NOT_ASKED and value]
    if not session and not asked:
        raise InputError(f"{where}: neither a session_uuid nor a questionnaire, so that listeners cannot be told apart")
    return session or hashlib.sha256("\n".join(asked).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def read_pages(folder: Path) -> dict[tuple[str, str], MushraPage]:
    """Return the MUSHRA pages of all configurations, by test and page."""
    found: dict[tuple[str, str], MushraPage] = {}
    for path in sorted(first_of(folder, "configs").glob("*.y*ml")):
        text = read_text(path)
        if len(text) > MOST_BYTES:
            raise InputError(f"{path}: larger than {MOST_BYTES:,} bytes")
        config = parse_yaml(_TEXT.sub(r"\1\2: ''", text), str(path))
        if not isinstance(config, dict):
            continue
        for page in _mushra_pages(config.get("pages")):
            trial = str(page.get("id", ""))
            stimuli = page.get("stimuli")
            if not isinstance(stimuli, dict):
                raise InputError(f"{path}: the page {trial!r} has no stimuli, expected a name and a file for each")
            where = f"{path}: page {trial!r}"
            sounds = {str(name): inside(folder, str(file), where) for name, file in stimuli.items()}
            stated = page.get("reference")
            reference = inside(folder, str(stated), where) if stated else None
            found.setdefault((str(config.get("testId", "")), trial), MushraPage(sounds, reference))
    return found


def _mushra_pages(pages: Any) -> Iterator[dict[str, Any]]:
    """Yield the MUSHRA pages of a list of pages, which may hold lists that are shown in a random order."""
    if isinstance(pages, list):
        for page in pages:
            yield from _mushra_pages(page)
    elif isinstance(pages, dict) and pages.get("type") == "mushra":
        yield pages


def _labels(
    scores: list[MushraScore], pages: Mapping[tuple[str, str], MushraPage], file: Path
) -> Iterator[RatedItem | LeftOut]:
    careless = _careless(scores)
    heard: defaultdict[tuple[str, str, str], dict[str, RatedItem]] = defaultdict(dict)
    for one in scores:
        place = (one.test, one.rater, one.trial)
        page = pages.get((one.test, one.trial))
        if page is None:
            raise InputError(f"{one.where}: no configuration has a MUSHRA page {one.trial!r} of the test {one.test!r}")
        if (one.test, one.rater) in careless:
            yield LeftOut("the listener did not recognise the hidden reference (BS.1534)")
        elif one.stimulus in heard[place]:
            yield LeftOut("rated again in the same session")
        elif one.stimulus in ANCHORS and one.stimulus not in page.stimuli:
            yield LeftOut("an anchor that the browser made")
        else:
            heard[place][one.stimulus] = _rating(one, page, file)
            yield heard[place][one.stimulus]
    for place, rated in heard.items():
        by_id = {one.id: one for one in rated.values()}
        for a, b, choice in compare_scores({name: one.ratings["musicality"] for name, one in by_id.items()}):
            yield _vote("-".join(place), by_id[a], by_id[b], choice)


def _careless(scores: list[MushraScore]) -> set[tuple[str, str]]:
    """Return the listeners who rated the hidden reference too low too often."""
    given: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for one in scores:
        if one.stimulus == REFERENCE:
            given[one.test, one.rater].append(one.score)
    return {listener for listener, pages in given.items() if fails_post_screening(pages)}


def _rating(one: MushraScore, page: MushraPage, file: Path) -> RatedItem:
    audio = page.stimuli.get(one.stimulus) or (page.reference if one.stimulus == REFERENCE else None)
    if audio is None:
        raise InputError(f"{one.where}: the configuration has no recording of {one.stimulus!r} on page {one.trial!r}")
    about = present(
        generator=one.stimulus,
        rater=one.rater,
        prompt_id=f"{one.test} {one.trial}",
        mushra=f"{one.score:g}",
        rating_seconds="" if one.seconds is None else f"{one.seconds:g}",
    )
    name = "-".join((one.test, one.rater, one.trial, one.stimulus))
    prompt = Prompt(reference=page.reference)
    return RatedItem(name, NAME, prompt, (audio,), {"musicality": 1 + one.score / 25}, about=about)


def _vote(place: str, a: RatedItem, b: RatedItem, choice: Choice) -> RatedItem:
    names = {"generator_a": a.about["generator"], "generator_b": b.about["generator"]}
    shared = {name: a.about[name] for name in ("rater", "prompt_id")}
    name = "-".join((place, *names.values()))
    return RatedItem(
        name, NAME, a.prompt, (*a.takes, *b.takes), votes={"musicality": Vote(choice)}, about={**names, **shared}
    )
