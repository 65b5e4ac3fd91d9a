"""cmi-real: real and generated music from public repositories.

Layout: owner+name/path, as the recipe says (`cmi.rewardbench.data.recipes`).

Six kinds of questions, each a data set of its own in tables
    cmi-real people       mean ratings of pieces, pairs of one listener's ratings, and votes
    cmi-real rewards      published scores of a reward model, not of people
    cmi-real systems      takes of two systems, ranked by a listening test, for one prompt
    cmi-real text         a clip with its own text or a wrong one; a text with its own clip or a wrong one
    cmi-real edits        the same for texts that differ in a word or two
    cmi-real reference    the same for the melody or music that a clip was made from, or for its other half

Wrong texts, clips and references are drawn from other families by a hash of both names, which does not depend on
missing clips. The order of the two is drawn in the same way.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import soundfile

from cmi._util.files import whole_file
from cmi._util.records import csv_records
from cmi.rewardbench.data import DataSet
from cmi.rewardbench.data.parquet import PREPARED
from cmi.rewardbench.data.recipes import Kind, Recipe, read_recipe
from cmi.rewardbench.data.recipes.texts import sheet_rows, text_of
from cmi.rewardbench.data.rows import LeftOut
from cmi.rewardbench.items import RatedItem, Vote
from cmi.take import Axis, Prompt

NAME = "cmi-real"
DATA_SET = DataSet(
    NAME,
    "real and generated clips of public repositories",
    "per repository",
    "public repositories on GitHub",
    recipe=True,
    size=991_386_519,
)
PEOPLE, REWARDS, SYSTEMS, TEXT, EDITS, REFERENCE = (
    f"{NAME} {kind}" for kind in ("people", "rewards", "systems", "text", "edits", "reference")
)
WRONG = 3  # wrong texts, and wrong clips, per clip
SPLIT = "test"
SIDES = {"Track A": "AB", "Track B": "BA"}  # vote: winner, loser
NO_TEXT = LeftOut("no text known", SPLIT)


@dataclass(frozen=True)
class Clip:
    """A file of the recipe with the properties from its group."""

    key: str
    place: str  # in the data set's folder
    path: Path
    system: str
    question: str
    families: frozenset[str]  # what it must not be confused with
    text: str = ""
    reference: Path | None = None

    @property
    def prompt(self) -> Prompt:
        return Prompt(self.text, "", self.reference)


def rows(folder: Path) -> Iterator[RatedItem | LeftOut]:
    """Yield an item, or the reason to leave it out, for each question."""
    return questions(folder, read_recipe(NAME))


def questions(folder: Path, recipe: Recipe) -> Iterator[RatedItem | LeftOut]:
    for group in recipe.groups["ratings"]:
        yield from _rated(folder, recipe, group)
    for group in recipe.groups["votes"]:
        yield from _voted(folder, recipe, group)
    for group in recipe.groups["scores"]:
        yield from _scored(folder, recipe, group)
    for group in recipe.groups["order"]:
        yield from _ordered(folder, recipe, group)
    yield from _matched(TEXT, _clips(folder, recipe, "text"))
    yield from _matched(EDITS, _clips(folder, recipe, "edit"))
    yield from _referred(folder, _clips(folder, recipe, "reference"))


def _clips(folder: Path, recipe: Recipe, kind: Kind) -> Iterator[Clip | LeftOut]:
    for group in recipe.groups[kind]:
        references = {
            match["reference"]: folder / file.place
            for file, match in recipe.matches(group["source"], group.get("references", ""))
        }
        for file, match in recipe.matches(group["source"], group["files"]):
            names = match.groupdict()
            said = text_of(recipe, group["text"], file, names["key"], folder) if "text" in group else None
            if said is None and "text" in group:
                yield NO_TEXT
                continue
            of = names.get("reference") or names.get("family")
            called = (of,) if of else said.names if said and group["text"]["rule"] == "labels" else (names["key"],)
            yield Clip(
                names["key"],
                file.place,
                folder / file.place,
                group["system"],
                group["name"].format(**names).replace("_", " "),
                frozenset(_family(recipe, group.get("families", ""), name) for name in called),
                said.text if said else "",
                references.get(names.get("reference", "")),
            )


def _family(recipe: Recipe, families: str, name: str) -> str:
    """Return the family of a name; itself if it is in none."""
    return next((one[0] for one in recipe.families.get(families, []) if name in one), name)


# 1. People.


def _rated(folder: Path, recipe: Recipe, group: dict[str, Any]) -> Iterator[RatedItem | LeftOut]:
    """Yield the mean rating of each piece, and each two ratings of a listener that are far enough apart."""
    answers = folder / recipe.sources[group["source"]].folder / group["answers"]
    if not answers.exists():
        yield LeftOut("no ratings", SPLIT)
        return
    pieces = {match["key"]: folder / file.place for file, match in recipe.matches(group["source"], group["files"])}
    by_listener: dict[str, dict[str, int]] = defaultdict(dict)
    for _, row in csv_records(answers, ("USER_ID", "SONG_ID", "RATING")):
        if row["SONG_ID"] in pieces:
            by_listener[row["USER_ID"]][row["SONG_ID"]] = int(row["RATING"])
    for piece, path in pieces.items():
        given = [ratings[piece] for ratings in by_listener.values() if piece in ratings]
        if given:
            about = {"question": group["name"], "split": SPLIT, "cluster": piece, "raters": str(len(given))}
            mean = sum(given) / len(given)
            yield RatedItem(f"{group['name']}/{piece}", PEOPLE, Prompt(), (path,), {"musicality": mean}, about=about)
    for listener, ratings in by_listener.items():
        for one, other in combinations(sorted(ratings, key=int), 2):
            if abs(ratings[one] - ratings[other]) < group["apart"]:
                yield LeftOut("ratings too close", SPLIT)
                continue
            right, wrong = (one, other) if ratings[one] > ratings[other] else (other, one)
            name = f"{group['name']}/{listener}/{one}/{other}"
            about = {"rater": listener, "question": group["name"], "cluster": one, "cluster_b": other}
            about |= {"better_rating": str(ratings[right]), "worse_rating": str(ratings[wrong])}
            yield _pair(name, PEOPLE, "overall", pieces[right], pieces[wrong], about=about)


def _voted(folder: Path, recipe: Recipe, group: dict[str, Any]) -> Iterator[RatedItem | LeftOut]:
    """Yield each vote of each musician on a pair of pieces."""
    answers = folder / recipe.sources[group["source"]].folder / group["answers"]
    if not answers.exists():
        yield LeftOut("no votes", SPLIT)
        return
    pieces = {
        (match["key"], match["side"]): folder / file.place
        for file, match in recipe.matches(group["source"], group["files"])
    }
    for number, row in enumerate(sheet_rows(answers), 1):
        for column, said in row.items():
            asked = re.fullmatch(group["column"], column, re.DOTALL)
            if asked is None or said not in SIDES:
                continue
            right, wrong = (pieces[asked["key"], side] for side in SIDES[said])
            pair = f"{answers.stem}/{asked['key']}"
            about = {"rater": f"{answers.stem} {number}", "question": group["name"], "cluster": pair}
            yield _pair(f"{group['name']}/{pair}/{number}", PEOPLE, "overall", right, wrong, about=about)


def _scored(folder: Path, recipe: Recipe, group: dict[str, Any]) -> Iterator[RatedItem | LeftOut]:
    for file, match in recipe.matches(group["source"], group["files"]):
        stated = text_of(recipe, group["value"], file, match["key"], folder)
        if stated is None:
            yield LeftOut("no score known", SPLIT)
            continue
        about, value = {"question": group["name"], "split": SPLIT, "cluster": file.place}, float(stated.text)
        path = folder / file.place
        yield RatedItem(f"{group['name']}/{file.place}", REWARDS, Prompt(), (path,), {"musicality": value}, about=about)


# 2. Systems.


def _ordered(folder: Path, recipe: Recipe, group: dict[str, Any]) -> Iterator[RatedItem | LeftOut]:
    better = {match["key"]: file for file, match in recipe.matches(group["source"], group["better"])}
    for file, match in recipe.matches(group["source"], group["worse"]):
        first = better.get(match["key"])
        if first is None:
            yield LeftOut("no other system", SPLIT)
            continue
        said = text_of(recipe, group["text"], first, match["key"], folder)
        if said is None:
            yield NO_TEXT
            continue
        name, about = f"{group['name']}/{file.path}", {"question": group["name"]}
        yield _pair(name, SYSTEMS, "overall", folder / first.place, folder / file.place, Prompt(said.text), about=about)


# 3 and 4. Texts.


def _matched(dataset: str, clips: Iterable[Clip | LeftOut]) -> Iterator[RatedItem | LeftOut]:
    """Yield every clip with its own and wrong texts, and every text with its own and wrong clips."""
    pools, left_out = _pools(clips)
    yield from left_out
    for pool in pools:
        for right in pool:
            siblings = [other for other in pool if other.families == right.families and other.text != right.text]
            for wrong in siblings if dataset == EDITS else _wrong(right, pool):
                yield from _both_ways(dataset, right, wrong, "text")


def _pools(clips: Iterable[Clip | LeftOut]) -> tuple[list[list[Clip]], list[LeftOut]]:
    """Group clips by question and system; return the groups and the rows that were left out."""
    pools: dict[tuple[str, str], list[Clip]] = defaultdict(list)
    left_out = []
    for clip in clips:
        if isinstance(clip, LeftOut):
            left_out.append(clip)
        else:
            pools[clip.question, clip.system].append(clip)
    return list(pools.values()), left_out


def _wrong(clip: Clip, pool: Sequence[Clip]) -> list[Clip]:
    """Draw a few clips of other families with different prompts."""
    others = [other for other in pool if not clip.families & other.families and other.prompt != clip.prompt]
    drawn = sorted(others, key=lambda other: _digest(f"{clip.place}\n{other.place}"))
    return list({other.prompt: other for other in reversed(drawn)}.values())[::-1][:WRONG]


def _both_ways(dataset: str, right: Clip, wrong: Clip, changed: str) -> Iterator[RatedItem]:
    """Yield a clip with its own and the wrong prompt, and its prompt with its own and the wrong clip."""
    name = f"{right.question}/{right.place}/{wrong.place}"
    prompts, about = (right.prompt, wrong.prompt), _about(right, changed)
    yield _pair(f"{name}/{changed}", dataset, "alignment", right.path, right.path, *prompts, about)
    yield _pair(f"{name}/clip", dataset, "alignment", right.path, wrong.path, right.prompt, about=_about(right, "clip"))


def _about(clip: Clip, changed: str) -> dict[str, str]:
    """Describe the question; its clusters are the text, the reference, or both."""
    origin = "real" if clip.system == "real" else "generated"
    named = "/".join(sorted(clip.families))
    about = {"question": f"{clip.question}, {origin}: wrong {changed}", "system": clip.system}
    about |= {"cluster": clip.text or named}
    return about | ({"cluster_b": named} if clip.text and clip.reference else {})


# 5. References.


def _referred(folder: Path, clips: Iterable[Clip | LeftOut]) -> Iterator[RatedItem | LeftOut]:
    pools, left_out = _pools(clips)
    yield from left_out
    for pool in pools:
        made = pool if pool[0].reference else [_halved(folder, clip) for clip in pool]
        for right in made:
            alike = [other for other in made if other.text == right.text]
            for wrong in _wrong(right, alike):
                yield from _both_ways(REFERENCE, right, wrong, "reference")
            siblings = [other for other in made if other.reference == right.reference and other.text != right.text]
            for wrong in sorted(siblings, key=lambda other: _digest(f"{right.place}\n{other.place}"))[:WRONG]:
                name, about = f"{right.question}/{right.place}/{wrong.place}/text", _about(right, "text")
                yield _pair(name, REFERENCE, "alignment", right.path, wrong.path, right.prompt, about=about)


def _halved(folder: Path, clip: Clip) -> Clip:
    """Make the second half of a clip the take and the first its reference; both are written to `prepared`."""
    first, second = (folder / PREPARED / f"{clip.place}.{half}.wav" for half in (1, 2))
    if clip.path.exists() and not second.exists():
        samples, rate = soundfile.read(clip.path, dtype="float32")
        middle = len(samples) // 2
        for half, part in ((first, samples[:middle]), (second, samples[middle:])):
            half.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(half) as path:
                soundfile.write(path, part, rate, format="WAV")
    return replace(clip, path=second, reference=first)


def _pair(
    name: str,
    dataset: str,
    axis: Axis,
    right: Path,
    wrong: Path,
    prompt: Prompt = Prompt(),  # noqa: B008 (frozen)
    wrong_prompt: Prompt | None = None,
    about: dict[str, str] | None = None,
) -> RatedItem:
    """Make a pair; a hash of the name decides whether the right take comes first."""
    known = {**(about or {}), "split": SPLIT}
    if int(_digest(name), 16) % 2:
        return RatedItem(name, dataset, prompt, (right, wrong), {}, {axis: Vote("a")}, known, wrong_prompt)
    first = prompt if wrong_prompt is None else wrong_prompt
    second = None if wrong_prompt is None else prompt
    return RatedItem(name, dataset, first, (wrong, right), {}, {axis: Vote("b")}, known, second)


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
