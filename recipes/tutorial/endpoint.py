"""A simulated audio language model behind a chat endpoint, which knows how the studio's takes were made.

    python recipes/tutorial/endpoint.py takes/ --port 8124

It names the better take of a pair with a probability of up to --right, says 'both' of equal takes, and names the first
recording in a share --first of its answers. Asked again in the same order, it answers the same.
"""

import argparse
import json
import math
import time
from pathlib import Path

from known_quality import Quality, chance_of_right, draws, read_qualities

from cmi.judge.prompt_file import DEFAULT, Role, read_role
from cmi.llm import Sending, Sound
from cmi.llm.message import encode
from cmi.testing.chat_endpoint import Body, fake_endpoint
from cmi.testing.probe_listener import answer_probe, is_probe


def sent_as(recording: Path) -> str:
    """Return a recording as requests contain it."""
    return encode(Sound(recording), Sending(), math.inf).data


def sounds_sent(body: Body) -> list[str]:
    contents = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
    return [part["input_audio"]["data"] for parts in contents for part in parts if part["type"] == "input_audio"]


def judge(body: Body, known: dict[str, Quality], role: Role, right: float, first: float) -> str:
    """Answer a request about two takes; a reference comes before them. The probe of hearing is heard whole."""
    if is_probe(body):
        return answer_probe(body)
    *_, a, b = sounds_sent(body)
    answer: dict[str, object] = {}
    low, high = role.scale
    for axis, keys in role.axes.items():
        marks = known[a][axis], known[b][axis]
        if draws(axis, "order", a, b).random() < first:
            choice = "model_a"
        elif marks[0] == marks[1]:
            choice = "both"
        else:
            is_right = draws(axis, "opinion", *sorted((a, b))).random() < chance_of_right(max(marks), min(marks), right)
            choice = "model_a" if (marks[0] > marks[1]) == is_right else "model_b"
        answer |= {keys.choice: choice, keys.score_a: low + (high - low) * marks[0]}
        answer[keys.score_b] = low + (high - low) * marks[1]
    return json.dumps(answer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("takes", type=Path, help="a folder that `cmi generate` wrote with the studio")
    parser.add_argument("--port", type=int, default=8124)
    parser.add_argument("--right", type=float, default=0.85, help="probability of a right answer at best")
    parser.add_argument("--first", type=float, default=0.1, help="share of answers that name the first recording")
    given = parser.parse_args()
    known, role = read_qualities(given.takes, sent_as), read_role(DEFAULT)
    with fake_endpoint(lambda body: judge(body, known, role, given.right, given.first), given.port) as server:
        print(f"{server.url} knows {len(known)} takes", flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
