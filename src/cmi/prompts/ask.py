"""Lyrics for prompts and captions of references, from a chat endpoint or the reference listener.

Each answer is on disk before it is used, in the folder OUT.answers beside the pool: the same command asks only what has
no answer yet. Answers that cannot be used, and questions that fail, are counted with their reasons.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from cmi._util.config import read_config
from cmi._util.errors import InputError
from cmi._util.files import make_folder
from cmi._util.hub import require_packages
from cmi._util.printable import is_whole
from cmi._util.runlog import RunLog, read_records
from cmi.llm import Budget, Chat, Estimate, Failure, Prices, Request, Sound, Usage, system, user
from cmi.llm.endpoint_file import read_endpoint
from cmi.llm.message import Accept, fenced

REFERENCE = "reference"  # the name of the listener that captions references without an endpoint
FEWEST_LINES, FEWEST_WORDS = 4, 3
LONGEST_LYRICS, LONGEST_CAPTION = 6000, 1500  # characters
BROKEN = "it contains an incomplete character (a lone surrogate)"
Progress = Callable[[str, int, int | None, str], None]  # what is done, how many, of how many, a remark
_CODE_FENCE = re.compile(r"^```\w*\n(.*?)\n?```$", re.DOTALL)


@dataclass(frozen=True)
class AskedTexts:
    """The words of a request: the task and the question."""

    system: str
    question: str


@dataclass(frozen=True)
class QuestionFile:
    lyrics: AskedTexts
    caption: AskedTexts


@dataclass
class WrittenTexts:
    """The texts that a model wrote, by key, the failures, and the usage."""

    model: str
    texts: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0


def read_questions(path: Path | None) -> QuestionFile:
    """Read the questions of a file, by default those that come with cmi."""
    return read_config(path or files(__package__).joinpath("questions.toml"), QuestionFile)


def lyrics_request(key: str, text: str, words: AskedTexts) -> Request:
    return Request(key, (system(words.system.strip()), user(f"{words.question.strip()}\n{fenced(text)}")))


def caption_request(key: str, reference: Path, words: AskedTexts) -> Request:
    return Request(key, (system(words.system.strip()), user(Sound(reference), words.question.strip())))


def why_not_lyrics(text: str) -> str | None:
    """Say why a text cannot be used as lyrics."""
    if not is_whole(text):
        return BROKEN
    lines = [line for line in clean_answer(text).splitlines() if line.strip() and not line.strip().startswith("[")]
    if len(lines) < FEWEST_LINES:
        return f"it has fewer than {FEWEST_LINES} lines to sing"
    return f"it is longer than {LONGEST_LYRICS} characters" if len(text) > LONGEST_LYRICS else None


def why_not_caption(text: str) -> str | None:
    """Say why a text cannot be used as a caption."""
    if not is_whole(text):
        return BROKEN
    if len(text.split()) < FEWEST_WORDS:
        return f"it has fewer than {FEWEST_WORDS} words"
    return f"it is longer than {LONGEST_CAPTION} characters" if len(text) > LONGEST_CAPTION else None


def clean_answer(text: str) -> str:
    """Return an answer without the code fence that some models put around it.

    >>> clean_answer("```text\\nla la\\n```")
    'la la'
    """
    text = text.strip()
    found = _CODE_FENCE.match(text)
    return (found[1] if found else text).strip()


@dataclass(frozen=True)
class EndpointTask:
    """Texts that a chat endpoint writes; its answers are stored in `folder`."""

    what: str  # for progress
    endpoint: Path  # its TOML file
    folder: Path
    accept: Accept

    def ask(self, requests: Sequence[Request], budget: Budget, on_progress: Progress) -> WrittenTexts:
        """Ask for the texts; what the folder has already is not asked for again."""
        done = 0

        def tell_wait(reason: str) -> None:
            on_progress(self.what, done, len(requests), reason)

        with self._chat(self.folder, budget) as (chat, prices):
            chat.on_wait = tell_wait
            written = WrittenTexts(chat.name)
            with closing(chat.ask_all(requests, self.accept)) as results:
                for key, answer in results:
                    if isinstance(answer, Failure):
                        written.failures[key] = answer.reason
                    elif answer.why:
                        written.failures[key] = f"the answer cannot be used: {answer.why}"
                    else:
                        written.texts[key] = clean_answer(answer.text)
                    done += 1
                    on_progress(self.what, done, len(requests), "")
            written.usage, written.cost = chat.spent, prices.cost(chat.spent)
        return _require_some(written)

    def estimate(self, requests: Sequence[Request]) -> Estimate:
        """Estimate the cost; nothing is sent and nothing is left behind."""
        with TemporaryDirectory() as elsewhere:
            folder = self.folder if self.folder.is_dir() else Path(elsewhere)
            with self._chat(folder, Budget()) as (chat, _):
                return chat.estimate(requests, self.accept)

    @contextmanager
    def _chat(self, folder: Path, budget: Budget) -> Iterator[tuple[Chat, Prices]]:
        require_packages("asking an endpoint", "api", "httpx")
        endpoint, prices = read_endpoint(self.endpoint)
        with Chat(endpoint, folder, budget, prices) as chat:
            yield chat, prices


def subtract_spent(budget: Budget, usage: Usage, cost: float) -> Budget:
    """Return what is left of a budget."""
    return Budget(
        None if budget.calls is None else max(0, budget.calls - usage.calls),
        None if budget.tokens is None else max(0, budget.tokens - usage.tokens),
        None if budget.money is None else max(0.0, budget.money - cost),
    )


def ask_reference_listener(references: Mapping[str, Path], folder: Path, on_progress: Progress) -> WrittenTexts:
    """Caption recordings, given by their hashes, by the reference listener's tags."""
    from cmi.bench.ask import Question, Reply
    from cmi.bench.ask.reference import ReferenceListener

    make_folder(folder)
    listener = ReferenceListener()
    log_path, about = folder / "captions.jsonl", {"listener": listener.name}
    known = {record["id"]: record["caption"] for record in read_records(log_path, missing_ok=True)}
    written = WrittenTexts(listener.name, {name: known[name] for name in references if name in known})
    with RunLog(log_path) as log:
        for name, reference in references.items():
            on_progress("captions", len(written.texts) + len(written.failures), len(references), "")
            if name in known:
                continue
            (answer,) = listener.answer([Question(str(reference), "", reference, dataset="MusicCaps")])
            if isinstance(answer, InputError):
                written.failures[name] = str(answer)
                continue
            written.texts[name] = answer.text if isinstance(answer, Reply) else answer
            log.append({"id": name, "caption": written.texts[name], **about})
        if not written.failures:
            log.finish()
    return _require_some(written)


def _require_some(written: WrittenTexts) -> WrittenTexts:
    if written.failures and not written.texts:
        reason = next(iter(written.failures.values()))
        raise InputError(f"{written.model} answered none of {len(written.failures):,} questions; the first: {reason}")
    return written
