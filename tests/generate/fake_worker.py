"""A worker that misbehaves as the prompt's text says; a real process for the tests."""

import json
import os
import sys
import time
import wave
from pathlib import Path


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if "broken" in sys.argv:
    sys.stderr.write("no CUDA here\n")
    sys.exit(3)
print("Loading checkpoint shards: 100%")
say({"ready": True, "name": "fake", "version": "7", "accepts": ["text", "lyrics", "reference"], "settings": {"a": 1}})
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"id": asked["id"], "audio": asked["audio"]}
    match asked["text"]:
        case "html":
            Path(asked["audio"]).write_text("<html>Too many requests</html>")
        case "no file":
            pass
        case "elsewhere":
            answer["audio"] = asked["reference"]
        case "dies":
            sys.stderr.write("Segmentation fault\n")
            os._exit(139)
        case "hangs":
            time.sleep(60)
        case "error":
            answer = {"id": asked["id"], "error": "CUDA out of memory", "kind": "memory"}
        case _:
            with wave.open(asked["audio"], "wb") as file:
                file.setnchannels(2)
                file.setsampwidth(2)
                file.setframerate(8000)
                file.writeframes(b"\x00\x10\x00\xf0" * int(8000 * (asked["seconds"] or 2)))
    say(answer)
