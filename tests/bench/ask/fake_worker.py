"""A worker that misbehaves on command: `fake_worker.py MODE`, a real process for the tests."""

import json
import os
import sys
import time
import wave

MODE = sys.argv[1]


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if MODE == "never ready":
    sys.stderr.write("CUDA is not here\n")
    sys.exit(3)
if MODE == "slow start":
    time.sleep(60)
if MODE == "chatty":
    print("Loading checkpoint shards: 100%\n{broken json\n[1, 2]\n\xff")
say({"ready": True, "rate": 22_050 if MODE == "rate" else 16_000})
for number, line in enumerate(sys.stdin, 1):
    asked = json.loads(line)
    turn = asked["question"].split(":")[0]
    if MODE == "hangs" and turn == "Question 1":
        time.sleep(60)
    if MODE == "dies" and turn == "Question 1":
        sys.stderr.write("Segmentation fault\n")
        os._exit(139)
    if MODE == "always dies":
        os._exit(1)
    if MODE == "floods" and turn == "Question 1":
        while True:
            sys.stdout.write("x" * 100_000)
    if MODE == "child hangs" and turn == "Question 1":
        if os.fork() == 0:
            time.sleep(60)
        os.wait()
    if MODE == "chatty":
        print(f"step {number}\n" + json.dumps({"id": -1, "answer": "of another question"}))
    if MODE == "cuts":  # names what it hears in the first 10 s: siren is louder than drums, drums than the piano
        with wave.open(asked["audio"]) as clip:
            rate = clip.getframerate()
            samples = memoryview(clip.readframes(10 * rate)).cast("h")
        seconds = [samples[at : at + rate : 7] for at in range(0, len(samples), rate)]
        power = [sum(sample * sample for sample in second) / len(second) / 2**30 for second in seconds]
        say({"id": asked["id"], "answer": "siren" if max(power) > 0.04 else "drums" if max(power) > 0.003 else "none"})
    elif MODE == "errors" and turn == "Question 1":
        say({"id": asked["id"], "error": "ValueError: no such layer"})
    elif MODE == "number" and turn == "Question 1":
        say({"id": asked["id"], "answer": 7})
    else:
        with wave.open(asked["audio"]) as clip:
            heard = f"{clip.getnframes() / clip.getframerate():.2f} s at {clip.getframerate()}"
        say({"id": asked["id"], "answer": f"{turn}, {heard}"})
