"""Fit a prompt to what a system accepts."""

from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from cmi.generate import PARTS, Part
from cmi.take import Prompt, PromptRow

CAPTION = "It should sound like this: {}"


class FittedPrompt(NamedTuple):
    """The prompt as a system is given it, or the reason why it cannot be."""

    prompt: Prompt | None
    reason: str = ""


def fit_prompt(asked: PromptRow, accepts: Collection[Part], drop_unsupported: bool = False) -> FittedPrompt:
    """Leave out what a system does not accept, if that is possible without losing what was asked for.

    A reference is replaced by its caption, appended to the text. Any other part is needed: the prompt is not for this
    system, unless `drop_unsupported`, and then something must be left.

    >>> fit_prompt(PromptRow("1", Prompt("a waltz", lyrics="la la")), ["text"])
    FittedPrompt(prompt=None, reason='needs lyrics')
    """
    prompt = asked.prompt
    if prompt.reference is not None and "reference" not in accepts and asked.caption and "text" in accepts:
        text = " ".join(part for part in (_sentence(prompt.text), CAPTION.format(asked.caption)) if part)
        prompt = replace(prompt, text=text, reference=None)
    lacking = [part for part in PARTS if getattr(prompt, part) and part not in accepts]
    for part in lacking:
        if not drop_unsupported:
            return FittedPrompt(None, f"needs {part}")
        prompt = _leave_out(prompt, part)
    if not (prompt.text or prompt.lyrics or prompt.reference):
        return FittedPrompt(None, f"needs {lacking[0]}")
    return FittedPrompt(prompt)


def _leave_out(prompt: Prompt, part: Part) -> Prompt:
    match part:
        case "text":
            return replace(prompt, text="")
        case "lyrics":
            return replace(prompt, lyrics="")
        case "reference":
            return replace(prompt, reference=None)


def _sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."
