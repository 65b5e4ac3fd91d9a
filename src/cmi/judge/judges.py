"""One interface to all judges: they take pairs with keys and yield verdicts with keys as they are ready.

LanguageModelJudge   an audio language model behind an OpenAI-compatible endpoint or in this process
ScorerJudge          a scorer: the take with the higher score wins; scores within a band are a tie
PlainJudge           any object with `judge(pairs) -> list[Verdict]`
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from cmi._util.errors import InputError
from cmi.judge.parse import parse, why_unusable
from cmi.judge.prompt_file import Role, request_for
from cmi.judge.verdict import Judge, Opinion, Verdict, fault_in
from cmi.llm import Answer, AudioLLM, Failure, ProbedHearing, Request, Sound, known_hearing
from cmi.llm.hearing import HEARING, read_hearing
from cmi.take import Audio, Axis, Choice, Pair, Score, Scorer, Take

TOGETHER = 16  # pairs per call; their verdicts are lost if the process is killed

KeyedPair = tuple[str, Pair]
KeyedItem = tuple[str, Pair | Take]
KeyedVerdict = tuple[str, Verdict | InputError]


class NamedJudge(Protocol):
    """A judge of pairs with a name, which yields a verdict or an error for each key."""

    @property
    def name(self) -> str: ...

    def verdicts(self, asked: Sequence[KeyedPair]) -> Generator[KeyedVerdict, None, None]: ...


@dataclass(frozen=True)
class LanguageModelJudge:
    """A language model in a role. If an endpoint's answer is not a verdict, it is asked again (`Endpoint.repairs`)."""

    model: AudioLLM
    role: Role
    probes: bool = True  # find out first how many seconds of a clip the model processes
    kept: Path | None = None  # where the result of the probe is kept; by default in the run

    def set_on_wait(self, callback: Callable[[str], None]) -> None:
        """Call `callback` with the reason for a longer pause of an endpoint."""
        if hasattr(self.model, "on_wait"):
            self.model.on_wait = callback

    @property
    def name(self) -> str:
        return f"{self.model.name}, prompt {self.role.full_name}"

    def requests(self, asked: Sequence[KeyedItem]) -> list[Request]:
        """The requests about all pairs or takes whose prompts have what the role requires."""
        return [request_for(key, one, self.role) for key, one in asked if not self.role.missing_in(one.prompt)]

    def find_hearing(self, folder: Path, asked: Sequence[KeyedItem]) -> ProbedHearing | None:
        """Find out how much of a clip the model hears, once; None if no clip is long enough to be cut."""
        path = (self.kept or folder) / HEARING
        return known_hearing(self.model, path, self.sounds(asked)) if self.probes else read_hearing(path)

    def sounds(self, asked: Sequence[KeyedItem]) -> Iterator[Sound]:
        """All sounds of the requests."""
        return (sound for request in self.requests(asked) for sound in request.sounds)

    def verdicts(self, asked: Sequence[KeyedItem]) -> Generator[KeyedVerdict, None, None]:
        for key, one in asked:
            if missing := self.role.missing_in(one.prompt):
                yield key, InputError(f"the pair has no {missing}, which prompt {self.role.name} requires")
        with closing(self.model.ask_all(self.requests(asked), partial(why_unusable, role=self.role))) as answers:
            for key, answer in answers:
                yield key, _verdict(answer, self.role)


def recordings_of(asked: Pair | Take) -> tuple[Audio | None, ...]:
    """The reference, if there is one, and the take or both takes."""
    return (asked.prompt.reference, *((asked.audio,) if isinstance(asked, Take) else (asked.a, asked.b)))


def _verdict(answer: Answer | Failure, role: Role) -> Verdict | InputError:
    if isinstance(answer, Failure):
        return InputError(answer.reason)
    failed = Verdict(raw=answer.raw, why=answer.why)
    verdict = failed if answer.raw else parse(answer.text, role)
    return replace(verdict, reasoning=answer.reasoning, cut=answer.cut)


@dataclass(frozen=True)
class PlainJudge:
    """Any `Judge`, with a name."""

    name: str
    judge: Judge

    def verdicts(self, asked: Sequence[KeyedPair]) -> Generator[KeyedVerdict, None, None]:
        for start in range(0, len(asked), TOGETHER):
            some = asked[start : start + TOGETHER]
            try:
                told = self._judge_all([pair for _, pair in some])
            except InputError:  # one pair failed: ask each on its own
                yield from map(self._judge_one, some)
                continue
            yield from zip((key for key, _ in some), told, strict=True)

    def _judge_one(self, asked: KeyedPair) -> KeyedVerdict:
        key, pair = asked
        try:
            return key, self._judge_all([pair])[0]
        except InputError as error:
            return key, error

    def _judge_all(self, pairs: Sequence[Pair]) -> list[Verdict]:
        told = self.judge.judge(pairs)
        if not isinstance(told, Sequence) or isinstance(told, str):
            raise InputError(f"{self.name} gave {type(told).__name__}, expected a list with a Verdict for each pair")
        if len(told) != len(pairs) or not all(isinstance(verdict, Verdict) for verdict in told):
            raise InputError(
                f"{self.name} gave {len(told)} answers for {len(pairs)} pairs, expected a Verdict for each"
            )
        for verdict in told:
            if wrong := fault_in(verdict):
                raise InputError(f"{self.name} gave a Verdict with {wrong}")
        return list(told)


class ScorerJudge:
    """Judges musicality and alignment by a scorer; scores that differ by at most the band are a tie."""

    def __init__(self, scorer: Scorer, band: float = 0.0) -> None:
        if not band >= 0:
            raise InputError(f"a tie band of {band}, expected 0 or more")
        self.scorer = scorer
        self.band = band
        self._scores: dict[Take, Score] = {}  # both orders need the same ones

    def judge(self, pairs: Sequence[Pair]) -> list[Verdict]:
        takes = dict.fromkeys(take for pair in pairs for take in pair.takes)
        new = [take for take in takes if take not in self._scores]
        self._scores |= zip(new, self.scorer.score(new), strict=True)
        return [Verdict(self._opinions(*(self._scores[take] for take in pair.takes))) for pair in pairs]

    def _opinions(self, a: Score, b: Score) -> dict[Axis, Opinion]:
        return {
            "musicality": Opinion(self._choice(a.musicality - b.musicality), a.musicality, b.musicality),
            "alignment": Opinion(self._choice(a.alignment - b.alignment), a.alignment, b.alignment),
        }

    def _choice(self, difference: float) -> Choice:
        if abs(difference) <= self.band:
            return "both"
        return "a" if difference > 0 else "b"
