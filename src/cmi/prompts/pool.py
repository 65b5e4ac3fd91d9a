"""Build a pool of prompts: read the sources, leave out repeats, choose by quota, add lyrics and captions, write.

The sources are read two or three times rather than kept: of each prompt only hashes are in memory.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cmi._util.errors import InputError
from cmi._util.records import read_text
from cmi.audio import content_hash
from cmi.llm import Budget, Estimate, Request, require_sendable
from cmi.preferences import write_rows
from cmi.prompts.ask import (
    REFERENCE,
    EndpointTask,
    Progress,
    WrittenTexts,
    ask_reference_listener,
    caption_request,
    lyrics_request,
    read_questions,
    subtract_spent,
    why_not_caption,
    why_not_lyrics,
)
from cmi.prompts.draw import ChosenPrompt, PromptCandidates, PromptChoice, Supply, choose, parse_quota
from cmi.prompts.duplicates import DuplicateFinder, Repeat, split_words
from cmi.prompts.languages import guess_language
from cmi.prompts.sources import PromptSource, SourcedPrompt, find_lyrics, find_references, find_sources, read_sources
from cmi.take import Modality, Prompt, PromptRow, prompt_record

SIMILARITY = 0.8
ANSWERS = ".answers"  # added to the pool's name: the folder of what models answered
_AT_ONCE = 1000  # prompts between two reports of progress


@dataclass(frozen=True)
class PoolPlan:
    """What to build. A prompt whose words have this Jaccard `similarity` to an earlier one is left out; 1: never."""

    sources: Sequence[Path]
    out: Path
    quota: str = ""
    total: int | None = None
    vocal_share: float | None = None
    lyrics: Path | None = None  # a folder of .txt
    lyrics_from: Path | None = None  # an endpoint's file
    references: Path | None = None  # a folder of recordings
    caption_with: str = ""  # an endpoint's file, or 'reference'
    questions: Path | None = None
    similarity: float = SIMILARITY
    seed: int = 0
    budget: Budget = field(default_factory=Budget)
    audio_from: Sequence[Path] = ()  # an endpoint may be sent recordings from here too

    def __post_init__(self) -> None:
        if (self.lyrics or self.lyrics_from or self.references) and not self.quota:
            raise InputError("lyrics and references need --quota, which says how many prompts get them")
        if self.out.resolve() in {path.resolve() for path in self.sources}:
            raise InputError(f"{self.out}: a source as well; write the pool to another file")
        if not 0 < self.similarity <= 1:
            raise InputError(f"a similarity of {self.similarity:g}, expected more than 0 and at most 1")

    @property
    def answers(self) -> Path:
        return self.out.with_name(self.out.name + ANSWERS)


@dataclass
class SourceCounts:
    """Of one source: prompts read, repeats left out, prompts written."""

    read: int = 0
    exact: int = 0
    near: int = 0
    written: int = 0


@dataclass
class ModalityCounts:
    """Of one modality: prompts wanted and written, and what the written ones are."""

    wanted: int = 0
    written: int = 0
    composed: int = 0  # given lyrics, a reference or both
    vocal: int = 0
    instrumental: int = 0


@dataclass
class PoolReport:
    """The outcome: counts by source and modality, texts by models, and unmet quotas."""

    out: Path
    sources: dict[str, SourceCounts]
    modalities: dict[Modality, ModalityCounts] = field(default_factory=dict)
    short: list[str] = field(default_factory=list)  # what could not be met, in sentences
    languages: Counter[str] = field(default_factory=Counter)
    text_words: Counter[int] = field(default_factory=Counter)  # prompts by their number of words
    lyrics_words: Counter[int] = field(default_factory=Counter)
    asked: dict[str, WrittenTexts] = field(default_factory=dict)  # lyrics and captions
    estimates: dict[str, Estimate] = field(default_factory=dict)  # of a dry run

    def count(self, source: str, chosen: ChosenPrompt, row: PromptRow) -> None:
        """Count a prompt that is written."""
        self.sources[source].written += 1
        counts = self.modalities[chosen.modality]
        counts.written += 1
        counts.composed += bool(chosen.gets)
        counts.vocal += row.vocals is True
        counts.instrumental += row.vocals is False
        self.languages[str(row.about.get("language", ""))] += 1
        for text, words in ((row.prompt.text, self.text_words), (row.prompt.lyrics, self.lyrics_words)):
            if text:
                words[len(split_words(text))] += 1


def build_pool(
    plan: PoolPlan, on_progress: Progress = lambda what, done, total, remark: None, dry_run: bool = False
) -> PoolReport:
    """Write the pool; a dry run stops before anything is asked or written."""
    sources = find_sources(plan.sources)
    wanted = parse_quota(plan.quota, plan.total) if plan.quota else None
    report = PoolReport(plan.out, {source.name: SourceCounts() for source in sources})
    candidates, repeats = _read_all(plan, sources, report, on_progress)
    lyrics = _find_lyrics(plan)
    references = find_references(plan.references) if plan.references else []
    supply = Supply(None if plan.lyrics_from else len(lyrics), len(references))
    usable = [not repeat for repeat in repeats]
    choice = choose(candidates, usable, wanted, plan.total, supply, plan.vocal_share)
    if not choice.chosen:
        raise InputError(f"{', '.join(source.name for source in sources)}: no prompt that fits")
    report.short += choice.short
    report.modalities = {name: ModalityCounts(count) for name, count in choice.wanted.items()}
    pool = PromptPool(plan, sources, choice, lyrics, references)
    if dry_run:
        report.estimates = pool.estimate()
        for _ in pool.finish(report):  # only counted
            pass
        return report
    report.asked = pool.ask(on_progress)
    write_rows((prompt_record(row, plan.out.parent) for row in pool.finish(report)), plan.out)
    return report


def _read_all(
    plan: PoolPlan, sources: Sequence[PromptSource], report: PoolReport, on_progress: Progress
) -> tuple[PromptCandidates, list[Repeat]]:
    """Read the sources for what the choice depends on."""
    candidates, finder = PromptCandidates(plan.seed), DuplicateFinder(plan.similarity)
    for number, (source, key, row) in enumerate(read_sources(sources), 1):
        candidates.add(key, row)
        finder.add(row.prompt)
        report.sources[source].read += 1
        if number % _AT_ONCE == 0:
            on_progress("prompts read", number, None, "")
    repeats = finder.find()
    place = 0
    for counts in report.sources.values():
        found = Counter(repeats[place : place + counts.read])
        counts.exact, counts.near = found["exact"], found["near"]
        place += counts.read
    return candidates, repeats


def _find_lyrics(plan: PoolPlan) -> list[Path]:
    """Return the files of lyrics without repeats."""
    paths = find_lyrics(plan.lyrics) if plan.lyrics else []
    finder = DuplicateFinder(plan.similarity)
    for path in paths:
        finder.add(Prompt(lyrics=read_text(path)))
    return [path for path, repeat in zip(paths, finder.find(), strict=True) if not repeat]


class PromptPool:
    """The chosen prompts with what they are given: files dealt to them, and texts that models write for them."""

    def __init__(
        self,
        plan: PoolPlan,
        sources: Sequence[PromptSource],
        choice: PromptChoice,
        lyrics: Sequence[Path],
        references: Sequence[Path],
    ) -> None:
        self._plan, self._sources, self._chosen = plan, sources, choice.chosen
        self._lyrics = self._deal("lyrics", lyrics)
        self._references = self._deal("reference", references)
        self._asked: dict[str, WrittenTexts] = {}
        self._hashes: dict[Path, str] = {}  # of references

    def estimate(self) -> dict[str, Estimate]:
        """Estimate what the endpoints would cost."""
        return {task.what: task.estimate(requests) for task, requests in self._tasks()}

    def ask(self, on_progress: Progress) -> dict[str, WrittenTexts]:
        """Get lyrics and captions from models, within one budget; answers are stored and not asked for twice."""
        budget = self._plan.budget
        for task, requests in self._tasks():
            written = self._asked[task.what] = task.ask(requests, budget, on_progress)
            budget = subtract_spent(budget, written.usage, written.cost)
        if self._plan.caption_with == REFERENCE and (uncaptioned := self._find_uncaptioned()):
            folder = self._plan.answers / REFERENCE
            self._asked["captions"] = ask_reference_listener(uncaptioned, folder, on_progress)
        return self._asked

    def finish(self, report: PoolReport) -> Iterator[PromptRow]:
        """Yield the prompts as they are to be written, and count them; one whose lyrics failed is left out."""
        lyrics, captions = (self._texts(what) for what in ("lyrics", "captions"))
        for chosen, (source, key, row) in self._rows():
            if _lacks_lyrics(chosen, row):
                if "lyrics" in self._asked and key not in lyrics:
                    continue
                row = replace(row, prompt=replace(row.prompt, lyrics=lyrics.get(key, "")))
            if isinstance(row.prompt.reference, Path) and not row.caption and captions:
                row = replace(row, caption=captions.get(self._hash(row.prompt.reference), ""))
            if not row.about.get("language"):
                language = guess_language(row.prompt.text or row.prompt.lyrics)
                row = replace(row, about={"language": language, **row.about} if language else row.about)
            report.count(source, chosen, row)
            yield row

    def _tasks(self) -> list[tuple[EndpointTask, list[Request]]]:
        """Return the texts that endpoints should write, with the requests for them."""
        plan, questions = self._plan, read_questions(self._plan.questions)
        tasks = []
        if plan.lyrics_from:
            task = EndpointTask("lyrics", plan.lyrics_from, plan.answers / "lyrics", why_not_lyrics)
            lacking = (one for chosen, one in self._rows() if _lacks_lyrics(chosen, one.row))
            tasks.append((task, [lyrics_request(one.key, one.row.prompt.text, questions.lyrics) for one in lacking]))
        if plan.caption_with not in ("", REFERENCE):
            task = EndpointTask("captions", Path(plan.caption_with), plan.answers / "captions", why_not_caption)
            uncaptioned = self._find_uncaptioned()
            folders = [*(source.path.parent for source in self._sources), *plan.audio_from]
            allowed = [*folders, plan.references] if plan.references else folders
            require_sendable(((f"reference {path.name!r}", path) for path in uncaptioned.values()), allowed)
            requests = [caption_request(name, path, questions.caption) for name, path in uncaptioned.items()]
            tasks.append((task, requests))
        return [(task, requests) for task, requests in tasks if requests]

    def _find_uncaptioned(self) -> dict[str, Path]:
        """Return the references without a caption, by the hashes of their bytes."""
        found: dict[str, Path] = {}
        for _, (_, _, row) in self._rows():
            if isinstance(row.prompt.reference, Path) and not row.caption:
                found.setdefault(self._hash(row.prompt.reference), row.prompt.reference)
        return found

    def _hash(self, reference: Path) -> str:
        if reference not in self._hashes:
            self._hashes[reference] = content_hash(reference)
        return self._hashes[reference]

    def _texts(self, what: str) -> Mapping[str, str]:
        return self._asked[what].texts if what in self._asked else {}

    def _rows(self) -> Iterator[tuple[ChosenPrompt, SourcedPrompt]]:
        """Yield the chosen prompts, with the files that they are given."""
        for place, one in enumerate(read_sources(self._sources)):
            chosen = self._chosen.get(place)
            if chosen is None:
                continue
            prompt = one.row.prompt
            if place in self._lyrics:
                prompt = replace(prompt, lyrics=read_text(self._lyrics[place]).strip())
            if place in self._references:
                prompt = replace(prompt, reference=self._references[place])
            vocals = chosen.vocals if one.row.vocals is None else one.row.vocals
            yield chosen, one._replace(row=replace(one.row, prompt=prompt, vocals=vocals))

    def _deal(self, part: str, files: Sequence[Path]) -> dict[int, Path]:
        """Return a file for each chosen prompt that gets the part, as far as there are files."""
        places = [place for place, chosen in self._chosen.items() if part in chosen.gets]
        return dict(zip(places, files, strict=False))


def _lacks_lyrics(chosen: ChosenPrompt, row: PromptRow) -> bool:
    return "lyrics" in chosen.gets and not row.prompt.lyrics
