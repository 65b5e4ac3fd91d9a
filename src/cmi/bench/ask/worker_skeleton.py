"""A worker without a model: copy this file into your model's environment and fill in `load` and `answer`.

It needs nothing but Python 3.7 or later. Run it by hand to try it:

    echo '{"id": 1, "question": "Which key?", "audio": "clip.wav"}' | python my_worker.py

and let cmi run it:  cmi bench run --listener "path/to/env/bin/python my_worker.py" --name my-model ...

What your code or its libraries print goes to standard error and does not disturb the protocol.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

NAME = "skeleton"
RATE = 16000  # hertz; the rate of the clips that your model gets


def load() -> object:
    """Load the model; the result is passed to `answer`."""
    return None


def answer(model: Any, question: str, audio: str, message: dict[str, Any]) -> str:
    """Return the model's text. `audio` is a WAV file with the clip alone; `message` is the whole request."""
    return "No model is loaded yet."


def main(
    name: str = NAME,
    rate: int = RATE,
    load: Callable[[], Any] = load,
    answer: Callable[[Any, str, str, dict[str, Any]], str] = answer,
) -> None:
    """Load the model, then answer questions."""
    protocol = os.fdopen(os.dup(1), "w", encoding="utf-8")  # a copy of standard output
    os.dup2(2, 1)  # print to standard error from now on, also in C libraries

    def say(message: object) -> None:
        protocol.write(json.dumps(message) + "\n")
        protocol.flush()

    model = load()
    say({"ready": True, "name": name, "rate": rate})
    for line in sys.stdin:
        if not line.strip():
            continue
        message = json.loads(line)
        try:
            say({"id": message["id"], "answer": str(answer(model, message["question"], message["audio"], message))})
        except Exception as error:  # only this question fails
            say({"id": message["id"], "error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
