"""Simulated listeners who vote in an arena over HTTP, as browsers do, and know how the studio's takes were made.

    cmi arena invite --count 12 > links.txt
    python recipes/tutorial/vote.py takes/ links.txt --votes 10

Every listener signs in by a link of the file, gets pairs, downloads both takes, waits as long as listening takes, and
votes: for the better take with a probability of up to --right, surer of wide differences than of narrow ones.
"""

import argparse
import hashlib
import io
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import soundfile
from known_quality import WIDE, Quality, chance_of_right, draws, read_qualities

PATIENCE = 300.0  # seconds that the server may take to start or to answer


def heard_as(recording: Path | io.BytesIO) -> str:
    """Return a hash of the samples, which are the same in the arena's copies."""
    return hashlib.sha256(soundfile.read(recording, dtype="int16")[0].tobytes()).hexdigest()


class Listener:
    """A person who is signed in."""

    def __init__(self, link: str, known: dict[str, Quality], right: float) -> None:
        address, token = link.split("/join#")
        self._known, self._right, self._name = known, right, token
        self._browser = httpx.Client(base_url=address, headers={"Origin": address}, timeout=PATIENCE, trust_env=False)
        joined = self._request("POST", "/api/join", {"token": token, "consent": True}).json()
        self._browser.headers["X-CSRF-Token"] = joined["csrf"]

    def vote(self, most: int) -> int:
        """Vote until the arena has nothing left, or `most` times; return how often."""
        for count in range(most):
            shown = self._request("GET", "/api/next").json()
            if "done" in shown:
                return count
            view = f"/api/views/{shown['view']}"
            begun = self._request("POST", f"{view}/begin").json()
            takes = [self._request("GET", begun["takes"][side]["url"]).content for side in "ab"]
            a, b = (self._known[heard_as(io.BytesIO(take))] for take in takes)
            time.sleep(sum(begun["needed"].values()) + 0.1)
            ballot = {axis: self._choose(f"{shown['view']} {axis}", a[axis], b[axis]) for axis in a}
            self._request("POST", f"{view}/vote", {**ballot, "feedback": "", "heard": begun["needed"]})
        return most

    def _choose(self, about: str, a: float, b: float) -> dict[str, Any]:
        rng = draws(self._name, about)
        is_right = rng.random() < chance_of_right(max(a, b), min(a, b), self._right)
        sure = min(1.0, abs(a - b) / WIDE)
        return {"choice": "a" if (a > b) == is_right else "b", "confidence": 1 + round(3 * sure + rng.random())}

    def _request(self, method: str, path: str, body: Any = None) -> httpx.Response:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                answer = self._browser.request(method, path, json=body)
            except httpx.ConnectError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)  # the server has not started yet
                continue
            if answer.status_code != 429:
                return answer.raise_for_status()
            time.sleep(float(answer.headers["retry-after"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("takes", type=Path, help="a folder that `cmi generate` wrote with the studio")
    parser.add_argument("links", type=Path, help="what `cmi arena invite` printed")
    parser.add_argument("--votes", type=int, default=10, help="of each listener at most")
    parser.add_argument("--right", type=float, default=0.9, help="probability of a right vote at best")
    given = parser.parse_args()
    known, links = read_qualities(given.takes, heard_as), given.links.read_text().split()
    with ThreadPoolExecutor(len(links)) as threads:
        counts = threads.map(lambda link: Listener(link, known, given.right).vote(given.votes), links)
        print(f"{sum(counts)} votes by {len(links)} listeners")


if __name__ == "__main__":
    main()
