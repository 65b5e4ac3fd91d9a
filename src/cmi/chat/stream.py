"""A streamed answer, put together. What does not come to its own end is no answer, however much of it came."""

from collections.abc import AsyncIterable
from typing import Any

from openai.types.chat import ChatCompletion, ChatCompletionMessage
from openai.types.chat.chat_completion import Choice

from cmi.chat.faults import Fault

# How many tokens it took is told by the last chunk, if it is asked for.
STREAMED = {"stream": True, "stream_options": {"include_usage": True}}


async def put_together(chunks: AsyncIterable[Any]) -> ChatCompletion:
    """What the same call would have given in one piece. Fault if no chunk says why the answer ended.

    A connection that is cut may look like a stream's end, so that the end alone proves nothing; '[DONE]' is not sent
    by all servers.
    """
    text: list[str] = []
    refusal: list[str] = []
    finish, usage = None, None
    try:
        async for chunk in chunks:
            usage = getattr(chunk, "usage", None) or usage  # the chunk that tells it may have no choices
            for choice in (chunk.choices or [])[:1]:
                finish = choice.finish_reason or finish
                text.append(choice.delta.content or "")
                refusal.append(getattr(choice.delta, "refusal", None) or "")
        message = ChatCompletionMessage.model_construct(content="".join(text), refusal="".join(refusal))
    except (AttributeError, TypeError) as error:
        raise Fault("broken", f"a stream that is no chat completion's ({error})", billed=True) from None
    if finish is None:
        raise Fault("broken", f"a stream cut off after {len(text)} chunks", billed=True)
    return ChatCompletion.model_construct(
        choices=[Choice.model_construct(message=message, finish_reason=finish)], usage=usage
    )
