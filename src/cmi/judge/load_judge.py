"""Load a judge by its name on the command line.

MODEL with --url or --endpoint    a chat model behind an OpenAI-compatible endpoint
scorer:nano, scorer:CMI-RM/       any scorer that `cmi score` accepts; --tie-band sets its ties
omni:music-flamingo               an audio language model in this process: a family name, folder or hub id
simulated:first=0.1               a judge that knows the winners in the file, with given error rates
my_judges:MyJudge                 your class with `judge(pairs) -> list[Verdict]`, created without arguments
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from cmi._util.errors import InputError
from cmi._util.plugins import load_own
from cmi.judge.judges import (
    KeyedItem,
    KeyedPair,
    LanguageModelJudge,
    NamedJudge,
    PlainJudge,
    ScorerJudge,
    recordings_of,
)
from cmi.judge.parse import why_unusable
from cmi.judge.prompt_file import DEFAULT, Role, read_role
from cmi.judge.run import claim_run
from cmi.llm import Budget, Chat, Endpoint, Estimate, Prices, estimate_probe, load_model, require_sendable
from cmi.llm.endpoint_file import read_endpoint
from cmi.preferences import NamedPair
from cmi.take import Take

CHAT = "chat"  # subfolder for requests and answers
ANSWER_TOKENS = 400  # of a model in this process


@dataclass(frozen=True)
class Spec:
    """A judge as named on the command line."""

    model: str = ""
    url: str = ""
    endpoint: Path | None = None
    prompt: str = DEFAULT
    tie_band: float = 0.0
    budget: Budget = field(default_factory=Budget)
    key_env: str = ""
    folders: tuple[Path, ...] = ()  # an endpoint gets recordings only from these
    chat: Path | None = (
        None  # where requests and answers are kept, and counted towards the budget; by default in the run
    )
    probes: bool = True  # find out how much of a clip a language model hears

    @property
    def is_chat(self) -> bool:
        return bool(self.url or self.endpoint)

    @property
    def is_language_model(self) -> bool:
        """Tell whether the judge is a language model, which gets a prompt."""
        return self.is_chat or self.model.startswith("omni:")


@contextmanager
def open_judge(spec: Spec, folder: Path, pairs: Sequence[NamedPair]) -> Iterator[NamedJudge]:
    """Open the judge for a run in `folder` about `pairs`."""
    if spec.is_chat:
        with _open_chat(spec, _comparing_role(spec), folder, [(pair.id, pair.pair) for pair in pairs]) as judge:
            yield judge
    else:
        yield _local_judge(spec, pairs)


@contextmanager
def open_rater(spec: Spec, folder: Path, takes: Mapping[str, Take]) -> Iterator[LanguageModelJudge]:
    """Open a language model that rates single takes, by their names, for a run in `folder`."""
    role = read_role(spec.prompt)
    if not role.marks:
        raise InputError(
            f"prompt {spec.prompt!r} compares two takes, expected one with [marks], which rates single takes"
        )
    kind, _, name = spec.model.partition(":")
    if spec.is_chat:
        with _open_chat(spec, role, folder, list(takes.items())) as judge:
            yield judge
    elif kind == "omni":
        yield _local_model(spec, name, role)
    else:
        raise InputError(f"judge {spec.model!r} cannot rate single takes: name a chat model or omni:NAME")


@contextmanager
def _open_chat(spec: Spec, role: Role, folder: Path, asked: Sequence[KeyedItem]) -> Iterator[LanguageModelJudge]:
    endpoint, prices = _endpoint(spec)
    _require_sendable(spec, role, asked)
    claim_run(folder, f"{endpoint.model}, prompt {role.full_name}")
    with Chat(endpoint, spec.chat or folder / CHAT, spec.budget, prices) as chat:
        yield LanguageModelJudge(chat, role, spec.probes, spec.chat)


def _local_model(spec: Spec, name: str, role: Role) -> LanguageModelJudge:
    return LanguageModelJudge(load_model(name, max_tokens=ANSWER_TOKENS), role, spec.probes, spec.chat)


def _comparing_role(spec: Spec) -> Role:
    role = read_role(spec.prompt)
    if role.marks:
        raise InputError(f"prompt {spec.prompt!r} rates single takes, expected one that compares pairs")
    return role


def estimate(spec: Spec, folder: Path, asked: Sequence[KeyedPair]) -> Estimate:
    """Estimate the cost of a run; nothing is sent and no folder is made."""
    if not spec.is_chat:
        raise InputError("--dry-run estimates the cost of a chat model; name one with --url or --endpoint")
    endpoint, prices = _endpoint(spec)
    with tempfile.TemporaryDirectory() as elsewhere:
        place = folder / CHAT if (folder / CHAT).is_dir() else Path(elsewhere)
        with Chat(endpoint, place, spec.budget, prices) as chat:
            role = _comparing_role(spec)
            _require_sendable(spec, role, asked)
            judge = LanguageModelJudge(chat, role)
            of_verdicts = chat.estimate(judge.requests(asked), partial(why_unusable, role=role))
            return of_verdicts + estimate_probe(chat, judge.sounds(asked if spec.probes else []))


def _require_sendable(spec: Spec, role: Role, asked: Sequence[KeyedItem]) -> None:
    recordings = ((f"pair {name!r}", audio) for name, one in asked for audio in recordings_of(one))
    require_sendable(recordings, spec.folders)
    examples = ((f"prompt {role.name!r}", audio) for example in role.shown for audio in recordings_of(example.pair))
    require_sendable(examples, [Path(spec.prompt).parent, *spec.folders])


def _endpoint(spec: Spec) -> tuple[Endpoint, Prices]:
    """Combine the endpoint's file and the options. The file's key is never sent to another address."""
    if spec.endpoint is None:
        return Endpoint(spec.url, spec.model, key_env=spec.key_env), Prices()
    endpoint, prices = read_endpoint(spec.endpoint)
    if spec.url and urlsplit(spec.url).netloc != urlsplit(endpoint.url).netloc:
        endpoint = replace(endpoint, url=spec.url, key_env="")
    named = {"url": spec.url, "model": spec.model, "key_env": spec.key_env}
    return replace(endpoint, **{name: value for name, value in named.items() if value}), prices  # type: ignore[arg-type]


def _local_judge(spec: Spec, pairs: Sequence[NamedPair]) -> NamedJudge:
    kind, _, name = spec.model.partition(":")
    if kind == "scorer":
        from cmi.reward.scoring.scorers import load_scorer

        scorer = load_scorer(name)
        return PlainJudge(f"{scorer.name}, ties within {spec.tie_band:g}", ScorerJudge(scorer, spec.tie_band))
    if kind == "simulated":
        from cmi.testing.simulated_judge import SimulatedJudge, parse_errors

        return SimulatedJudge(pairs, parse_errors(name))
    if kind == "omni":
        return _local_model(spec, name, _comparing_role(spec))
    if not name:
        raise InputError(
            f"judge {spec.model!r}: a chat model needs --url or --endpoint; "
            "others are scorer:NAME, omni:NAME, simulated: or module:Class"
        )
    judge, full_name = load_own(spec.model)
    if not callable(getattr(judge, "judge", None)):
        raise InputError(f"judge {spec.model} has no method judge(pairs)")
    return PlainJudge(full_name, judge)
