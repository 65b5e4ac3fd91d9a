"""Audio language models as listeners: behind an OpenAI-compatible endpoint, or in this process.

Answers of an endpoint are also recorded in `<out>/chat-<model>/` (or `<out>/chat-<model>.shard-1-of-4/`): a killed run
does not lose what was paid for.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import cast

from cmi._util.errors import InputError
from cmi.bench.ask import Answer, ListenerStopped, Question, Reply
from cmi.bench.ask.ask import sound_of
from cmi.bench.ask.registry import ENDPOINT, Options
from cmi.bench.ask.run import model_name
from cmi.llm import Answer as ModelAnswer
from cmi.llm import (
    AudioLLM,
    Budget,
    Endpoint,
    Estimate,
    Failure,
    Prices,
    ProbedHearing,
    Request,
    Sending,
    estimate_probe,
    known_hearing,
    load_model,
    read_hearing,
    user,
)
from cmi.llm.endpoint import SoundAs, SoundFormat
from cmi.llm.local import BATCH
from cmi.llm.remote_code import REMOTE_CODE, load_remote_code

AHEAD = 4  # batch size / concurrency, to keep all connections busy


class LanguageModelListener:
    def __init__(self, model: AudioLLM, name: str, batch: int, probes: bool = True) -> None:
        self.name = name
        self.batch = batch
        self._model = model
        self._probes = probes

    def find_hearing(self, path: Path, questions: Sequence[Question]) -> ProbedHearing | None:
        """Find out how many seconds of a clip the model processes, once; the result is saved in `path`."""
        try:
            return known_hearing(self._model, path, map(sound_of, questions)) if self._probes else read_hearing(path)
        except InputError as error:
            raise ListenerStopped(str(error)) from error

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        try:
            with closing(self._model.ask_all(map(_request, questions))) as results:
                answers = {key: _listener_answer(said) for key, said in results}
        except InputError as error:  # a wrong key or model, or no budget
            raise ListenerStopped(str(error)) from error
        return [answers[_key(question)] for question in questions]


class EndpointListener(LanguageModelListener):
    def __init__(self, options: Options) -> None:
        if not options.url or not options.model:
            raise InputError("an endpoint needs --url, such as http://localhost:8000/v1, and --model")
        from cmi.llm import Chat  # needs httpx, which in-process models do not

        endpoint = Endpoint(
            options.url,
            options.model,
            key_env=options.key_env,
            sending=Sending(
                cast(SoundFormat, options.sound), seconds=options.seconds, sound_as=cast(SoundAs, options.sound_as)
            ),
            temperature=options.temperature,
            max_tokens=options.max_tokens,
            stream=options.stream,
            concurrency=options.concurrency,
            timeout=options.timeout,
        )
        budget = Budget(options.max_calls, options.max_total_tokens, options.max_cost)
        name = f"chat-{model_name(options.model)}{options.shard and '.'}{options.shard}"
        self._chat = Chat(endpoint, options.out / name, budget, Prices(*options.prices))
        super().__init__(
            self._chat, f"openai: {endpoint.identity}", options.batch or AHEAD * options.concurrency, options.probes
        )

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """Estimate calls, tokens and cost without calling the endpoint."""
        asked = self._chat.estimate(map(_request, questions))
        return asked + estimate_probe(self._chat, map(sound_of, questions if self._probes else []))

    def set_on_wait(self, callback: Callable[[str], None]) -> None:
        """Call `callback` with the reason for each longer pause."""
        self._chat.on_wait = callback

    def close(self) -> None:
        self._chat.close()


def load(spec: str, options: Options) -> LanguageModelListener:
    """Load `openai` or a model of a family, from --model (a folder or a hub id) or its authors' hub id."""
    if spec == ENDPOINT:
        return EndpointListener(options)
    if spec in REMOTE_CODE:
        trusted = options.trust_remote_code
        model = load_remote_code(spec, options.model, options.revision, trusted, options.device, options.max_tokens)
        return LanguageModelListener(model, model.name, model.batch, options.probes)
    local = load_model(
        options.model or spec,
        spec,
        options.revision,
        options.device,
        options.max_tokens,
        options.temperature,
        options.seconds,
        options.batch or BATCH,
    )
    return LanguageModelListener(local, local.full_name, local.batch, options.probes)


def _request(question: Question) -> Request:
    return Request(_key(question), (user(sound_of(question), question.text),))


def _key(question: Question) -> str:
    return f"{question.dataset}/{question.id}/{question.trial}"


def _listener_answer(said: ModelAnswer | Failure) -> Answer:
    if isinstance(said, Failure):
        return InputError(said.reason)
    if said.why:
        return InputError(f"the answer cannot be used: {said.why}")
    return Reply(said.text, said.reasoning, said.cut)
