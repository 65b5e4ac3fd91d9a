"""Any scorer by its name on the command line.

    CMI-RM/, HaiwenXia/CMI-RM    a CMI-RM checkpoint: its folder, or a hub id
    nano                         the checkpoint that comes with cmi
    tags                         the untrained scorer of alignment (`cmi.reward.scoring.tags`)
    my_models:MyScorer           a class of yours with `score(takes) -> list[Score]`
    my_models:MyAdapter          a class of yours by CMI-RewardBench's contract: `sr` and `score_batch`

Classes are called without arguments. Their module is looked for in the current folder, then on the Python path; naming
it runs its code.

CMI-RewardBench's contract
    `score_batch(inputs=..., batch_size=..., max_dur=...)`, called as its authors' benchmark does. An input has `audio`
    and `ref_audio` (a path as text, or a tensor at `sr` for sound in memory; None where there is no reference), `text`
    and `lyrics`, and `to_dict()`. The answer has shape [N, 2]: alignment, musicality.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cmi._util.errors import InputError, MissingExtra
from cmi._util.plugins import OwnClassError, load_own
from cmi.audio import Waveform, resample
from cmi.take import Audio, Score, Scorer, Take

MAX_DUR = 120.0  # seconds, as in the paper and in the authors' benchmark command
TAGS = "tags"
BATCH = 4  # the default of the authors' benchmark
TOGETHER = 16  # takes given to a class of yours at once: as many are lost if it is killed
_UNSCORABLE = (InputError, OSError, RuntimeError)  # what scorers raise for a file; soundfile's errors are the last kind

# For each take what has its `score`, and perhaps `notes`; or an InputError.
Stream = Callable[[Iterable[Take]], Iterator[Any]]


class NamedScorer:
    """A scorer that says which model speaks, and whose answers are checked: one finite score for each take.

    A scorer that reads ahead has a `stream`, which is given all takes at once. `notes` are what it said of takes that
    it scored, such as that a recording was cut off.
    """

    def __init__(self, name: str, scorer: Scorer, stream: Stream | None = None) -> None:
        self.name = name
        self._scorer = scorer
        self._stream = stream
        self.notes: dict[Take, tuple[str, ...]] = {}

    def score(self, takes: Sequence[Take]) -> list[Score]:
        scores: Any = self._scorer.score(takes)
        if not isinstance(scores, Iterable):
            raise InputError(f"{self.name} gave {type(scores).__name__}, expected a list with a score for each take")
        scores = list(scores)
        if len(scores) != len(takes):
            raise InputError(f"{self.name} gave {len(scores)} scores for {len(takes)} takes, expected one for each")
        return [self._checked(score, take) for score, take in zip(scores, takes, strict=True)]

    def judge(self, takes: Sequence[Take]) -> Iterator[Score | InputError]:
        """Each take's score in turn, or why it has none: one broken file spoils no other."""
        if self._stream is None:
            for start in range(0, len(takes), TOGETHER):
                yield from self._judge_together(takes[start : start + TOGETHER])
            return
        for take, judged in zip(takes, self._stream(takes), strict=True):
            if notes := getattr(judged, "notes", ()):
                self.notes[take] = notes
            try:
                yield judged if isinstance(judged, InputError) else self._checked(judged.score, take)
            except InputError as error:
                yield error

    def _judge_together(self, takes: Sequence[Take]) -> Sequence[Score | InputError]:
        try:
            return self.score(takes)
        except _UNSCORABLE:  # by one of them: each on its own
            return [self._judge_alone(take) for take in takes]

    def _judge_alone(self, take: Take) -> Score | InputError:
        try:
            return self.score([take])[0]
        except OwnClassError as error:
            return InputError(f"{_described(take.audio)}: {error}")
        except InputError as error:
            return error
        except _UNSCORABLE as error:
            reason = " ".join(str(error).split())
            return InputError(f"{_described(take.audio)}: {self.name} can't score it ({reason})")

    def _checked(self, score: Any, take: Take) -> Score:
        try:
            checked = Score(float(score.musicality), float(score.alignment))
        except (AttributeError, TypeError, ValueError) as error:
            kind = type(score).__name__
            raise InputError(f"{self.name} gave {kind} {score!r} for a take, expected a cmi.take.Score") from error
        if not all(map(math.isfinite, checked)):
            raise InputError(f"{self.name} gave {checked} for {_described(take.audio)}, expected finite numbers")
        return checked


def load_scorer(name: str, revision: str | None = None, device: str = "auto") -> NamedScorer:
    """The scorer called `name`; revision (of a hub id) and device are for checkpoints alone."""
    if not is_checkpoint(name):
        return _load_tags() if name == TAGS else _load_class(name)
    try:
        from cmi.reward.model.reward_model import RewardModel
    except ModuleNotFoundError as error:
        raise MissingExtra("a CMI-RM checkpoint", "reward") from error
    model = RewardModel.from_pretrained(name, revision, device)
    scorer = model.scorer()
    return NamedScorer(model.full_name, scorer, scorer.judge)


def is_checkpoint(name: str) -> bool:
    """Whether it names a checkpoint, and not a class of the user's or `tags`; a folder of that name comes first."""
    return Path(name).exists() or not (name == TAGS or ":" in name)


@dataclass(frozen=True)
class AdapterInput:
    """A take as CMI-RewardBench hands it to a model."""

    audio: Any
    text: str
    lyrics: str
    ref_audio: Any

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


class AdapterScorer:
    """A model by CMI-RewardBench's contract behind `Scorer.score`."""

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


def _load_tags() -> NamedScorer:
    try:
        from cmi.reward.scoring.tags import load_tags
    except ModuleNotFoundError as error:
        raise MissingExtra("the scorer tags", "reward") from error
    return NamedScorer(*load_tags())


def _load_class(name: str) -> NamedScorer:
    scorer, full_name = load_own(name)
    if callable(getattr(scorer, "score", None)):
        return NamedScorer(full_name, scorer)
    if callable(getattr(scorer, "score_batch", None)) and hasattr(scorer, "sr"):
        return NamedScorer(full_name, AdapterScorer(scorer, name))
    raise InputError(f"{name} has no method score(takes), nor CMI-RewardBench's sr and score_batch")


def _described(audio: Audio) -> str:
    return f"a waveform of {audio.seconds:.1f} s" if isinstance(audio, Waveform) else str(audio)
