"""Audio language models: ask one about sounds, behind any OpenAI-compatible endpoint or in this process.

    endpoint = Endpoint("http://localhost:8000/v1", "my-model")
    request = Request("item-1", (user("What key is this in?", Sound(Path("clip.wav"))),))
    with Chat(endpoint, Path("runs/mine")) as chat:
        for key, answer in chat.ask_all([request]):      # or `async for key, answer in chat.ask([request])`
            print(key, answer.text if isinstance(answer, Answer) else answer.reason)

    model = load_model("Qwen/Qwen2-Audio-7B-Instruct")   # a folder, a hub id, or a family such as "music-flamingo"
    answers = dict(model.ask_all([request]))              # in this process, in batches; nothing is written

What both say of an answer
    `Answer.reasoning` is what a reasoning model wrote in <think> blocks, or what its endpoint keeps apart; it is never
    part of `Answer.text`. `Answer.heard` is how much of each sound the model got, `Answer.cut` the same in words if it
    did not get all of it.

What holds for an endpoint: nothing is lost, nothing is paid for twice
    Every request gets one result: an `Answer`, or a `Failure` with its reason. They come as they are ready, those that
    are on disk first. An answer is on disk (folder/answers.jsonl) before it is handed out, and a request that has one
    is never asked again: after any stop, the same call goes on. Failures are not kept, so the next call asks again.
    A request is known by its key, its model, its words, its schema and the bytes of its sounds: change one and it is
    another request. Keys must be unique.

    A request that was in flight when the process was killed is asked again, with the same Idempotency-Key header: an
    endpoint that minds it does not bill twice. Stopped with Ctrl-C, the client waits for what is in flight.

Answers that cannot be used
    A response that gives no text is an answer too: it is kept as it came (`Answer.raw`) and has `Answer.why`.
    `accept(text)` says why a text cannot be used, or None; the answer is on disk by then. The request is repeated, up
    to `endpoint.repairs` times, with the reason added as a last message. Each of these answers is on disk; the last is
    handed out in any case, with `Answer.why` set.

Limits
    Of the endpoint: `Sending` (seconds, size, format and rate of sounds), time-outs,
    429s (the number of requests in flight adapts; Retry-After is minded), retries with growing, jittered pauses.
    Of the user: `Budget` (calls, tokens, money at `Prices`); it counts what is in the folder, whenever it was spent.
    Spent, it ends the stream with BudgetSpent, an InputError, after what is in flight has been handed out.
    A wrong key, model or address ends the stream with an InputError: no retry would help. So does an endpoint that
    never answered and cannot be reached; one that did answer is waited for.
    Of a response: bytes, seconds, and bytes of one line of a stream; a longer one is cut off, and its request fails.

Keys come from the environment (`Endpoint.key_env`) and are replaced by '[key]' in whatever is kept, said or raised.
Without a name, OPENAI_API_KEY is sent to OpenAI's own addresses, and no key to any other. Redirects are not followed.

The folder
    answers.jsonl     each answer with its request; sounds by the hash of their bytes, long texts by the hash of theirs
    texts.jsonl       those texts, once each
    endpoint.json     the response format that the endpoint takes: json_schema, else json_object, else plain
"""

from typing import TYPE_CHECKING

from cmi._util.lazy import lazy_names

if TYPE_CHECKING:
    from cmi.llm.budget import Budget, BudgetSpent, Estimate, Prices, Usage
    from cmi.llm.client import Chat
    from cmi.llm.endpoint import Endpoint, Sending
    from cmi.llm.local import LocalModel, load_model
    from cmi.llm.message import (
        Answer,
        AudioLLM,
        Failure,
        Message,
        Request,
        Schema,
        SentAudio,
        Sound,
        Text,
        require_sendable,
        system,
        user,
    )  # fmt: skip
    from cmi.llm.reasoning import separate_reasoning

__all__ = [
    "Answer", "AudioLLM", "Budget", "BudgetSpent", "Chat", "Endpoint", "Estimate", "Failure", "LocalModel", "Message",
    "Prices", "Request", "Schema", "Sending", "SentAudio", "Sound", "Text", "Usage", "load_model", "require_sendable",
    "separate_reasoning", "system", "user",
]  # fmt: skip
__getattr__, __dir__ = lazy_names(
    __name__,
    __all__,
    {
        "budget": ("Budget", "BudgetSpent", "Estimate", "Prices", "Usage"),
        "client": ("Chat",),
        "endpoint": ("Endpoint", "Sending"),
        "local": ("LocalModel", "load_model"),
        "message": (
            "Answer",
            "AudioLLM",
            "Failure",
            "Message",
            "Request",
            "Schema",
            "SentAudio",
            "Sound",
            "Text",
            "require_sendable",
            "system",
            "user",
        ),
        "reasoning": ("separate_reasoning",),
    },
)
