"""Reasoning models write what they think before they answer; here the two are told apart."""

import re

_TAG = re.compile(r"<(/?)think>", re.IGNORECASE)
UNFINISHED = "it ends in the middle of the model's reasoning, before an answer; allow more tokens"


def separate_reasoning(text: str) -> tuple[str, str]:
    """The answer in a text, and the reasoning of its <think> blocks.

    Reasoning that is not closed goes on to the end, and there is no answer. A closing tag alone ends reasoning that
    began with the text: some chat templates open the block in the prompt.

    >>> separate_reasoning("<think>It sounds sad.</think>A minor")
    ('A minor', 'It sounds sad.')
    >>> separate_reasoning("It sounds sad.</think>A minor")
    ('A minor', 'It sounds sad.')
    >>> separate_reasoning("<think>It sounds")
    ('', 'It sounds')
    """
    if not _TAG.search(text):
        return text, ""
    answer: list[str] = []
    reasoning: list[str] = []
    is_thinking, position = False, 0
    for tag in _TAG.finditer(text):
        (reasoning if is_thinking else answer).append(text[position : tag.start()])
        position, is_closing = tag.end(), bool(tag[1])
        if is_closing and not is_thinking:
            reasoning, answer = [*reasoning, *answer], []
        is_thinking = not is_closing
    (reasoning if is_thinking else answer).append(text[position:])
    return "".join(answer).strip(), "\n".join(filter(None, map(str.strip, reasoning)))
