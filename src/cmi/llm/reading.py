"""Parse the body of an endpoint's response.

Invalid JSON or an incomplete stream is a Fault: gateways cause these, and a retry may help. Valid JSON without text is
the endpoint's answer: it is stored as it came, with the reason why it cannot be used.
"""

import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

from cmi._util.http import Fault
from cmi._util.json_text import parse_json
from cmi.llm.http import DONE
from cmi.llm.message import UNFINISHED, separate_reasoning

STREAMED = {"stream": True, "stream_options": {"include_usage": True}}  # request fields
LONGEST_INTEGER = 18  # digits
KINDS: dict[type, str] = {dict: "an object", list: "a list", str: "text"}

Kind = TypeVar("Kind", dict[str, Any], list[Any], str)
Tokens = tuple[int | None, int | None]  # input and output; None if not reported


class Unreadable(ValueError):
    """The body has no text; the message says why."""


class Reading(NamedTuple):
    """The text of a response and its finish reason, or `why` there is no text."""

    text: str = ""
    finish: str = ""
    tokens: Tokens = (None, None)
    why: str = ""
    reasoning: str = ""


def read_response(body: bytes) -> Reading:
    """Parse a chat completion, whole or streamed."""
    text = body.decode("utf-8-sig", "replace")
    is_stream = text.lstrip().startswith(("data:", "event:", "id:", "retry:", ":"))
    return _read_stream(text) if is_stream else _read_whole(text)


def _read_whole(text: str) -> Reading:
    try:
        completion = _json(text)
        _require_no_error(completion)
        used = _tokens(completion)
        choice = _first(completion)
        if choice is None:
            raise Unreadable("'choices' is empty")
        message = _require(choice.get("message"), dict, "'message'")
        content, refusal = _piece(message, "content"), message.get("refusal")
        return _reading(content, refusal, choice.get("finish_reason"), used, _reasoning(message))
    except Unreadable as error:
        return Reading(why=f"it is not a chat completion: {error}")


def _read_stream(text: str) -> Reading:
    """Join the chunks of a stream; Fault if none has a finish reason.

    The end of the body proves nothing, because a cut connection looks the same, and not all servers send '[DONE]'.
    """
    words: list[str] = []
    reasoning: list[str] = []
    refusal: list[str] = []
    used: Tokens = (None, None)
    finish, why, is_done = None, "", False
    for data in _events(text):
        if data == DONE.decode():
            is_done = True
            break
        try:
            chunk = _json(data)
            _require_no_error(chunk)
            told = _tokens(chunk)
            used = told if told != (None, None) else used  # reported in a chunk that may have no choices
            if (choice := _first(chunk)) is not None:
                delta = _require(choice.get("delta"), dict, "'delta'")
                finish = choice.get("finish_reason") or finish
                words.append(_piece(delta, "content"))
                reasoning.append(_reasoning(delta))
                refusal.append(_piece(delta, "refusal"))
        except Unreadable as error:
            why = why or f"it is not a chat completion's stream: {error}"
    if why and (finish is not None or is_done):
        return Reading(why=why)
    if finish is None:
        raise Fault("broken", f"a stream cut off after {len(words)} chunks", billed=True)
    return _reading("".join(words), "".join(refusal), finish, used, "".join(reasoning))


def _events(text: str) -> Iterator[str]:
    """Yield the data of each server-sent event, whose lines belong together."""
    data: list[str] = []
    for line in [*text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""]:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield "\n".join(data).strip()
            data = []


def _reading(text: str, refusal: object, finish: object, used: Tokens, told: str) -> Reading:
    """`told` is reasoning that the endpoint sent separately from the text."""
    ended = finish if isinstance(finish, str) else ""
    answer, written = separate_reasoning(text)
    reasoning = "\n".join(filter(None, (told.strip(), written)))
    if answer.strip():
        return Reading(answer, ended, used, "", reasoning)
    if isinstance(refusal, str) and refusal:
        return Reading(refusal, "refusal", used, "", reasoning)
    return Reading("", ended, used, UNFINISHED if reasoning else "it is empty", reasoning)


def _reasoning(message: dict[str, Any]) -> str:
    found = message.get("reasoning_content") or message.get("reasoning")  # vLLM, DashScope, DeepSeek; OpenRouter
    return found if isinstance(found, str) else ""


def _json(text: str) -> dict[str, Any]:
    """Parse an object; Fault for invalid JSON, Unreadable for any other JSON value."""
    try:
        value = parse_json(text, parse_int=read_integer)
    except json.JSONDecodeError as error:
        raise Fault("broken", f"a body that is not JSON ({error})", billed=True) from None
    except ValueError as error:
        raise Unreadable(str(error)) from None
    return _require(value, dict, "it")


def read_integer(digits: str) -> float:
    """Parse an integer of JSON; infinity if it is too long, because Python refuses more than 4,300 digits."""
    return int(digits) if len(digits) <= LONGEST_INTEGER else math.inf


def _require_no_error(completion: dict[str, Any]) -> None:
    if completion.get("error") and not completion.get("choices"):  # some gateways report errors with status 200
        error = completion["error"]
        message = error.get("message") if isinstance(error, dict) else error
        raise Fault("broken", f"an error in place of an answer ({message})", billed=True)


def _first(completion: dict[str, Any]) -> dict[str, Any] | None:
    choices = _require(completion.get("choices"), list, "'choices'")
    return _require(choices[0], dict, "the first choice") if choices else None


def _piece(message: dict[str, Any], name: str) -> str:
    value = message.get(name)
    return "" if value is None else _require(value, str, repr(name))


def _require(value: object, kind: type[Kind], name: str) -> Kind:
    if not isinstance(value, kind):
        found = "missing" if value is None else type(value).__name__
        raise Unreadable(f"{name} is {found}, expected {KINDS[kind]}")
    return value


def _tokens(completion: dict[str, Any]) -> Tokens:
    told = completion.get("usage")
    counts = (
        [told.get(name) for name in ("prompt_tokens", "completion_tokens")] if isinstance(told, dict) else [None] * 2
    )
    inputs, outputs = (count if type(count) is int and count >= 0 else None for count in counts)
    return inputs, outputs
