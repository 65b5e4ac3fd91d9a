"""A worker without a model: copy this file into your model's environment and fill in `load` and `answer`.

It needs nothing but Python 3.7 or later. Run it by hand to try it:

    echo '{"id": 1, "question": "Which key?", "audio": "clip.wav"}' | python my_worker.py

and let cmi run it:  cmi bench run --listener "path/to/env/bin/python my_worker.py" --name my-model ...

Whatever your code or its libraries print goes to standard error, so that nothing disturbs the protocol.
"""

import json
import os
import sys

NAME = "skeleton"
RATE = 16000  # hertz at which your model likes its clips


def load() -> object:
    """Load the model; what you return is handed to `answer`."""
    return None


def answer(model: object, question: str, audio: str, message: dict) -> str:  # type: ignore[type-arg]
    """The model's text. `audio` is the path of a WAV file that holds the clip alone; `message` is the whole request."""
    return "I hear nothing yet."


def main() -> None:
    protocol = os.fdopen(os.dup(1), "w", encoding="utf-8")  # our own copy of standard output
    os.dup2(2, 1)  # and from now on prints go to standard error, those of C libraries too

    def say(message: object) -> None:
        protocol.write(json.dumps(message) + "\n")
        protocol.flush()

    model = load()
    say({"ready": True, "name": NAME, "rate": RATE})
    for line in sys.stdin:
        if not line.strip():
            continue
        message = json.loads(line)
        try:
            say({"id": message["id"], "answer": str(answer(model, message["question"], message["audio"], message))})
        except Exception as error:  # one question's trouble is not the next one's
            say({"id": message["id"], "error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
