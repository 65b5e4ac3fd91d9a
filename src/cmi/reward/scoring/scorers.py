"""Load a scorer by its name; all commands that take a scorer use this.

    nano                         the reward model that comes with cmi
    cmi-rm                       the published CMI-RM
    CMI-RM/, HaiwenXia/CMI-RM    any CMI-RM checkpoint: its folder, or a hub id
    auto                         the published CMI-RM if it is on this machine, else nano
    tags                         the untrained scorer of alignment (`cmi.reward.scoring.tags`)
    clap, audiobox-ce, ...       a published metric (`cmi.reward.scoring.baselines`); `NAME=FOLDER` for its weights
    my_models:MyScorer           a class of yours with `score(takes) -> list[Score]`
    my_models:MyAdapter          a class of yours by CMI-RewardBench's contract: `sr` and `score_batch`

Classes are called without arguments. Their module is imported from the current folder or else from the Python path,
which runs its code.

CMI-RewardBench's contract
    `score_batch(inputs=..., batch_size=..., max_dur=...)`, called as its authors' benchmark does. An input has `audio`
    and `ref_audio` (a path as text, or a tensor at `sr` for sound in memory; None if there is no reference), `text`
    and `lyrics`, and `to_dict()`. The answer has shape [N, 2]: alignment, musicality.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

import numpy as np

from cmi._util.errors import InputError, require_extra
from cmi._util.plugins import OwnClassError, load_own
from cmi.audio import Waveform, resample
from cmi.reward.engine.windows import DEFAULT_WINDOW
from cmi.reward.scoring import baselines
from cmi.take import Audio, Axis, Score, Scorer, Take

if TYPE_CHECKING:
    from cmi.reward.model.reward_model import RewardModel

MAX_DUR = 120.0  # seconds, as in the paper and in the authors' benchmark command
TAGS = "tags"
REWARD_MODELS = ("nano", "cmi-rm", "auto")
CACHE_GB = 20.0
BATCH = 4  # the default of the authors' benchmark
AT_ONCE = 10_000  # takes in memory at once; equal ones among them are scored once
TOGETHER = 16  # takes per call of a user's class; their scores are lost if it is killed
_UNSCORABLE = (InputError, OSError, RuntimeError)  # what scorers raise for a bad file; soundfile raises RuntimeError


class TakeSection(NamedTuple):
    """A section of a take that was scored on its own, in seconds."""

    start: float
    end: float
    score: Score


class ScoredTake(NamedTuple):
    """A take's score, the seconds that were scored, its sections, and notes of the scorer."""

    score: Score
    seconds: float | None = None
    sections: tuple[TakeSection, ...] = ()
    notes: tuple[str, ...] = ()


ReadTake = Mapping[Any, Any]  # audio that a scorer has loaded in advance
NOTHING_READ: ReadTake = MappingProxyType({})


class Stream(Protocol):
    """A scorer that reads ahead: any thread may call `read`, and `judge` uses what was read."""

    def read(self, take: Take) -> ReadTake: ...

    def judge(self, takes: Sequence[Take], read: ReadTake) -> Iterator[ScoredTake | InputError]: ...


def require_scores(results: Iterable[ScoredTake | InputError]) -> list[Score]:
    """Return the scores; raise InputError for the first take that has none."""
    scores = []
    for scored in results:
        if isinstance(scored, InputError):
            raise scored
        scores.append(scored.score)
    return scores


class NamedScorer:
    """A scorer with its model's name; its results are checked, one finite score for each take.

    A scorer that reads ahead is a `stream`, which gets all takes at once. `axes` are those that it measures, and
    `settings` is what its scores depend on besides the model.
    """

    def __init__(
        self,
        name: str,
        scorer: Scorer,
        stream: Stream | None = None,
        axes: tuple[Axis, ...] = baselines.BOTH,
        settings: dict[str, str] | None = None,
        reward_model: "RewardModel | None" = None,
        at_once: int = AT_ONCE,
    ) -> None:
        self.name = name
        self.axes = axes
        self.reward_model = reward_model
        self.at_once = at_once
        self.scorer = scorer
        self._stream = stream
        self._settings = settings or {}

    @property
    def settings(self) -> dict[str, str]:
        return {"model": self.name, **self._settings}

    def with_window(self, window: str) -> "NamedScorer":
        """Return a scorer of the same reward model with another window; prompts are fused once for both."""
        from cmi.reward.scoring.scorer import RewardScorer

        assert isinstance(self.scorer, RewardScorer)
        other = self.scorer.with_window(window)
        settings = {**self._settings, "window": window}
        return NamedScorer(self.name, other, other, self.axes, settings, self.reward_model, self.at_once)

    def score(self, takes: Sequence[Take]) -> list[Score]:
        scores: Any = self.scorer.score(takes)
        if not isinstance(scores, Iterable):
            raise InputError(f"{self.name} gave {type(scores).__name__}, expected a list with a score for each take")
        scores = list(scores)
        if len(scores) != len(takes):
            raise InputError(f"{self.name} gave {len(scores)} scores for {len(takes)} takes, expected one for each")
        return [self._checked(score, take) for score, take in zip(scores, takes, strict=True)]

    def read(self, take: Take) -> ReadTake:
        """Load a take's audio for `judge`, if the scorer reads ahead; any thread may call this."""
        return NOTHING_READ if self._stream is None else self._stream.read(take)

    def judge(self, takes: Sequence[Take], read: ReadTake = NOTHING_READ) -> Iterator[ScoredTake | InputError]:
        """Yield each take's score, or the error if it has none; a broken file does not affect the others."""
        if self._stream is not None:
            yield from self._stream.judge(takes, read)
            return
        for start in range(0, len(takes), TOGETHER):
            yield from self._judge_together(takes[start : start + TOGETHER])

    def _judge_together(self, takes: Sequence[Take]) -> Sequence[ScoredTake | InputError]:
        try:
            return [ScoredTake(score) for score in self.score(takes)]
        except _UNSCORABLE:  # by one of them: each on its own
            return [self._judge_alone(take) for take in takes]

    def _judge_alone(self, take: Take) -> ScoredTake | InputError:
        try:
            return ScoredTake(self.score([take])[0])
        except OwnClassError as error:
            return InputError(f"{described(take.audio)}: {error}")
        except InputError as error:
            return error
        except _UNSCORABLE as error:
            reason = " ".join(str(error).split())
            return InputError(f"{described(take.audio)}: {self.name} cannot score it ({reason})")

    def _checked(self, score: Any, take: Take) -> Score:
        try:
            checked = Score(float(score.musicality), float(score.alignment))
        except (AttributeError, TypeError, ValueError) as error:
            kind = type(score).__name__
            raise InputError(f"{self.name} gave {kind} {score!r} for a take, expected a cmi.take.Score") from error
        if not all(map(math.isfinite, checked)):
            raise InputError(f"{self.name} gave {checked} for {described(take.audio)}, expected finite numbers")
        return checked


def load_scorer(
    name: str,
    revision: str | None = None,
    device: str = "auto",
    window: str = DEFAULT_WINDOW,
    all_words: bool = False,
    cache_gb: float = CACHE_GB,
) -> NamedScorer:
    """Load the scorer called `name`; `revision` and the options after `device` are for reward models only.

    >>> load_scorer("cmi.studio.generate:Truth").axes
    ('musicality', 'alignment')
    """
    if is_reward_model(name):
        return _load_reward_model(name, revision, device, window, all_words, cache_gb)
    if window != DEFAULT_WINDOW or all_words:
        raise InputError(f"{name}: --window and --all-words are for reward models alone (nano, cmi-rm, a checkpoint)")
    if name == TAGS:
        return _load_tags()
    short, _, given = name.partition("=")
    if baseline := baselines.find_baseline(short):
        return baseline.load(given.split(",") if given else (), device)
    return _load_class(name)


def is_reward_model(name: str) -> bool:
    """Tell whether the name is that of a checkpoint, not of a metric or a class; a folder called `tags` is one."""
    if baselines.find_baseline(name.partition("=")[0]):
        return False
    return Path(name).exists() or not (name == TAGS or ":" in name)


def _refuse(name: str) -> NoReturn:
    """Raise InputError for an unknown name, with similar names as suggestions."""
    known = [*REWARD_MODELS, TAGS, *baselines.list_baselines()]
    near = get_close_matches(name.partition("=")[0], known, n=3, cutoff=0.5)
    meant = f"did you mean {' or '.join(near)}?" if near else f"known names are {', '.join(known)}."
    raise InputError(
        f"no scorer is called {name!r}; {meant} "
        "A checkpoint is a folder or a hub id such as HaiwenXia/CMI-RM, and a class of your own is module:Class"
    )


@dataclass(frozen=True)
class AdapterInput:
    """A take as CMI-RewardBench passes it to a model."""

    audio: Any
    text: str
    lyrics: str
    ref_audio: Any

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


class AdapterScorer:
    """Adapts a model with CMI-RewardBench's interface to `Scorer`."""

    def __init__(self, adapter: Any, name: str = "") -> None:
        self.adapter = adapter
        self.name = name or type(adapter).__name__

    def score(self, takes: Sequence[Take]) -> list[Score]:
        batches = [takes[start : start + BATCH] for start in range(0, len(takes), BATCH)]
        return [score for batch in batches for score in self._score_batch(batch)]

    def _score_batch(self, takes: Sequence[Take]) -> list[Score]:
        inputs = [self._input(take) for take in takes]
        answer = self.adapter.score_batch(inputs=inputs, batch_size=len(inputs), max_dur=MAX_DUR)
        try:
            rows = np.asarray(answer.detach().cpu() if hasattr(answer, "detach") else answer, float)
        except (TypeError, ValueError) as error:
            raise InputError(f"{self.name}.score_batch gave {type(answer).__name__}, expected numbers") from error
        if rows.shape != (len(takes), 2):
            raise InputError(f"{self.name}.score_batch gave shape {rows.shape} for {len(takes)} takes, expected [N, 2]")
        return [Score(musicality=float(musicality), alignment=float(alignment)) for alignment, musicality in rows]

    def _input(self, take: Take) -> AdapterInput:
        prompt = take.prompt
        reference = None if prompt.reference is None else self._sound(prompt.reference)
        return AdapterInput(self._sound(take.audio), prompt.text, prompt.lyrics, reference)

    def _sound(self, audio: Audio) -> Any:
        if isinstance(audio, Path):
            return str(audio)
        import torch

        return torch.from_numpy(resample(audio, int(self.adapter.sr)).samples)


def _load_reward_model(
    name: str, revision: str | None, device: str, window: str, all_words: bool, cache_gb: float
) -> NamedScorer:
    with require_extra("a CMI-RM checkpoint", "reward"):
        from cmi.reward.model.reward_model import RewardModel
    if "/" not in name.partition("=")[0] and name not in REWARD_MODELS and not Path(name).exists():
        _refuse(name)
    return make_scorer(RewardModel.from_pretrained(name, revision, device), window, all_words, cache_gb)


def make_scorer(
    model: "RewardModel", window: str = DEFAULT_WINDOW, all_words: bool = False, cache_gb: float = CACHE_GB
) -> NamedScorer:
    """Return a reward model as a scorer, with a token cache of up to `cache_gb`."""
    from cmi.reward.engine.token_cache import GIGABYTE, TokenCache

    cache = TokenCache(limit=round(cache_gb * GIGABYTE)) if cache_gb else None
    scorer = model.scorer(window=window, all_words=all_words, cache=cache)
    settings = {"window": window, **({"words": "all"} if all_words else {})}
    return NamedScorer(model.full_name, scorer, scorer, settings=settings, reward_model=model)


def _load_tags() -> NamedScorer:
    with require_extra("the scorer tags", "reward"):
        from cmi.reward.scoring.tags import load_tags
    return NamedScorer(*load_tags(), axes=baselines.ALIGNMENT)


def _load_class(name: str) -> NamedScorer:
    scorer, full_name = load_own(name)
    if callable(getattr(scorer, "score", None)):
        return NamedScorer(full_name, scorer)
    if callable(getattr(scorer, "score_batch", None)) and hasattr(scorer, "sr"):
        return NamedScorer(full_name, AdapterScorer(scorer, name))
    raise InputError(f"{name} has no method score(takes), nor CMI-RewardBench's sr and score_batch")


def described(audio: Audio) -> str:
    """Return a name of a recording for messages."""
    return f"a waveform of {audio.seconds:.1f} s" if isinstance(audio, Waveform) else str(audio)
