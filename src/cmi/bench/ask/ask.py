"""Ask a listener, turn its errors into failed questions, and load the clips that listeners are asked about."""

import math
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from cmi._util.errors import InputError
from cmi.audio import Waveform, write_wav
from cmi.bench.ask import Answer, Listener, ListenerStopped, Question, Reply
from cmi.bench.metrics.text import LONGEST_ANSWER
from cmi.llm.hearing import RATE
from cmi.llm.message import UNFINISHED, Accept, Failure, Request, Result, Sound, checked, load_sound, separate_reasoning
from cmi.llm.message import Answer as ModelAnswer

LONGEST_REASON = 500  # characters of an error that are kept


def ask(listener: Listener, questions: Sequence[Question]) -> list[Reply | InputError]:
    """Return one answer per question; if the batch fails, each question is asked alone and has its own error."""
    try:
        return _checked(listener.answer(questions), len(questions))
    except ListenerStopped:
        raise
    except Exception as error:  # a listener may raise anything
        if len(questions) == 1:
            return [failure(error)]
        return [answer for question in questions for answer in ask(listener, [question])]


def failure(error: Exception) -> InputError:
    """Shorten an error to one line that names its type."""
    text = " ".join(str(error).split())[:LONGEST_REASON]
    if isinstance(error, InputError):
        return InputError(text)
    return InputError(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def _checked(answers: Sequence[Answer], expected: int) -> list[Reply | InputError]:
    if not isinstance(answers, Iterable):
        raise InputError(f"the listener gave {type(answers).__name__}, expected a text for each question")
    given = [answers] if isinstance(answers, str) else list(answers)
    if len(given) != expected:
        raise InputError(f"{len(given)} answers to {expected} questions, expected one for each")
    return [_reply(answer) for answer in given]


def _reply(answer: Answer) -> Reply | InputError:
    if isinstance(answer, Exception):
        return failure(answer)
    if not isinstance(answer, str | Reply):
        return InputError(f"the answer is {type(answer).__name__}, expected text")
    if isinstance(answer, str):
        answer = Reply(*separate_reasoning(answer))
        if answer.reasoning and not answer.text:
            return InputError(f"the answer cannot be used: {UNFINISHED}")
    return Reply(answer.text[:LONGEST_ANSWER], answer.reasoning[:LONGEST_ANSWER], answer.cut)


class ListenerAsModel:
    """A listener as an audio language model, for the probe of hearing: each clip is a file that is then deleted."""

    seconds = math.inf

    def __init__(self, listener: Listener, name: str) -> None:
        self.name = name
        self._listener = listener

    def ask_all(self, requests: Iterable[Request], accept: Accept | None = None) -> Generator[Result, None, None]:
        for request in requests:
            with TemporaryDirectory(prefix="cmi-probe-") as folder:
                path = Path(folder) / "clip.wav"
                write_wav(load_sound(request.sounds[0], RATE).waveform, path)
                (said,) = ask(self._listener, [Question(request.key, "\n\n".join(request.texts), path)])
            yield request.key, Failure(str(said)) if isinstance(said, InputError) else checked(_answered(said), accept)


def _answered(reply: Reply) -> ModelAnswer:
    return ModelAnswer(reply.text, reasoning=reply.reasoning)


def sound_of(question: Question) -> Sound:
    return Sound(question.audio, question.start, question.end)


def clip(question: Question, rate: int, longest: float = math.inf) -> Waveform:
    """Load the question's clip at `rate` in mono, at most its first `longest` seconds."""
    return load_sound(sound_of(question), rate, longest).waveform
