"""A worker without a model: copy this file into your model's environment and fill in `load` and `generate`.

It needs nothing but Python 3.7 or later. Run it by hand to try it:

    echo '{"id": 1, "text": "slow piano", "seed": 0, "seconds": 10, "audio": "take.wav"}' | python my_worker.py

and let cmi run it:  cmi generate prompts.jsonl takes/ --system "worker:path/to/env/bin/python my_worker.py"

What your code or its libraries print goes to standard error and does not disturb the protocol.
"""

from __future__ import annotations

import json
import math
import os
import struct
import sys
import wave
from collections.abc import Callable
from typing import Any

ABOUT = {
    "name": "skeleton",
    "version": "1",
    "accepts": ["text"],  # of text, lyrics, reference: prompts with other parts are not sent
    "licence": "CC0-1.0",  # or the terms that the takes come under
    "settings": {},  # recorded with each take
}


def load() -> object:
    """Load the model; the result is passed to `generate`."""
    return None


def generate(model: Any, request: dict[str, Any]) -> None:
    """Write a take to request["audio"] for its text, lyrics, reference (a path or None), seed and seconds (or None)."""
    rate, seconds, pitch = 16000, request.get("seconds") or 10.0, 220 + 20 * (request["seed"] % 12)
    with wave.open(request["audio"], "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        samples = (int(8000 * math.sin(2 * math.pi * pitch * i / rate)) for i in range(int(rate * seconds)))
        file.writeframes(b"".join(struct.pack("<h", sample) for sample in samples))


def main(
    about: dict[str, Any] = ABOUT,
    load: Callable[[], Any] = load,
    generate: Callable[[Any, Any], None] = generate,
) -> None:
    """Load the model, then answer requests. An exception's `kind`, if it has one, is the reason that is counted."""
    protocol = os.fdopen(os.dup(1), "w", encoding="utf-8")  # a copy of standard output
    os.dup2(2, 1)  # print to standard error from now on, also in C libraries

    def say(message: object) -> None:
        protocol.write(json.dumps(message) + "\n")
        protocol.flush()

    model = load()
    say({"ready": True, **about})
    for line in sys.stdin:
        if not line.strip():
            continue
        request = json.loads(line)
        try:
            generate(model, request)
            say({"id": request["id"], "audio": request["audio"]})
        except Exception as error:  # only this take fails
            kind = getattr(error, "kind", None)
            named = isinstance(kind, str)
            message = str(error) if named else f"{type(error).__name__}: {error}"
            say({"id": request["id"], "error": message, "kind": kind if named else None})


if __name__ == "__main__":
    main()
