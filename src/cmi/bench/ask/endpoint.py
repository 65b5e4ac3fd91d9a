"""Any model behind an OpenAI-compatible endpoint that takes sound: vLLM, Gemini, GPT-audio, DashScope.

Asking, retries, limits, cost and its own record of answers are `cmi.llm`'s, in `<out>/chat-<model>/`, or of a shard in
`<out>/chat-<model>.shard-1-of-4/`: what was paid for is there even if the run is killed before the batch is in the log.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import cast

from cmi._util.errors import InputError
from cmi.bench.ask import Answer, ListenerStopped, Question
from cmi.bench.ask.clips import clip
from cmi.bench.ask.registry import Options
from cmi.bench.ask.run import model_name
from cmi.llm import Answer as ChatAnswer
from cmi.llm import Budget, Chat, Endpoint, Estimate, Failure, Prices, Request, Sending, Sound, user
from cmi.llm.endpoint import SoundAs, SoundFormat

AHEAD = 4  # batches are so many times as large as what may be in flight, so that few places are idle


class EndpointListener:
    def __init__(self, options: Options) -> None:
        if not options.url or not options.model:
            raise InputError("an endpoint needs --url, such as http://localhost:8000/v1, and --model")
        self._sending = Sending(
            format=cast(SoundFormat, options.sound), seconds=options.seconds, sound_as=cast(SoundAs, options.sound_as)
        )
        endpoint = Endpoint(
            options.url,
            options.model,
            key_env=options.key_env,
            sending=self._sending,
            temperature=options.temperature,
            max_tokens=options.max_tokens,
            stream=options.stream,
            concurrency=options.concurrency,
            timeout=options.timeout,
        )
        budget = Budget(options.most_calls, options.most_tokens, options.most_money)
        name = f"chat-{model_name(options.model)}{options.shard and '.'}{options.shard}"
        self._chat = Chat(endpoint, options.out / name, budget, Prices(*options.prices))
        self.name = f"openai: {endpoint.identity}"
        self.batch = options.batch or AHEAD * options.concurrency

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        answers: dict[str, Answer] = {}
        requests = []
        for question in questions:
            try:
                requests.append(self._request(question))
            except InputError as error:  # the clip's fault
                answers[_key(question)] = error
        try:
            with closing(self._chat.ask_all(requests)) as results:
                answers |= {key: _answer(said) for key, said in results}
        except InputError as error:  # a wrong key or model, no budget: nothing more can be asked
            raise ListenerStopped(str(error)) from error
        return [answers[_key(question)] for question in questions]

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """What asking would take; no call is made."""
        return self._chat.estimate([self._request(question) for question in questions])

    def tell_waits(self, tell: Callable[[str], None]) -> None:
        """`tell` is told what a longer pause waits for."""
        self._chat.on_wait = tell

    def close(self) -> None:
        self._chat.close()

    def _request(self, question: Question) -> Request:
        sound = Sound(clip(question, self._sending.rate, self._sending.seconds))
        return Request(_key(question), (user(sound, question.text),))


def _answer(said: ChatAnswer | Failure) -> Answer:
    if isinstance(said, Failure):
        return InputError(said.reason)
    return InputError(f"the answer cannot be read: {said.why}") if said.why else said.text


def _key(question: Question) -> str:
    return f"{question.dataset}/{question.id}/{question.trial}"
