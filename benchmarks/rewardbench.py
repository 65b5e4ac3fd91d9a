"""How long the numbers of CMI-RewardBench take when all takes are scored: our bootstrap against one in plain Python.

    python benchmarks/rewardbench.py [--pairs 5000] [--resamples 2000]

Synthetic pairs of 4 to a prompt, each with votes on both axes, a model and five nulls. Measured:
    tables      every cell of both preference axes, by modality too, with intervals, best null, p values, calibration
    analyses    the same by kind, month, confidence and duration
    plain       one accuracy with its interval, prompt by prompt in Python, from a hundredth of the draws, times 100
"""

import argparse
import random
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np

from cmi.features import TakeFeatures
from cmi.rewardbench.analysis.analyse import GROUPS, AnalysisSetting, analyse
from cmi.rewardbench.items import RatedItem, Vote
from cmi.rewardbench.runs.run_folder import About, System
from cmi.rewardbench.runs.sources import Source, by_modality
from cmi.rewardbench.tasks import Key
from cmi.take import Axis, Choice, Prompt, Score

PER_PROMPT = 4
FRACTION = 100


def synthetic(count: int) -> Source:
    """Pairs whose better take scores higher three times out of four."""
    rng = np.random.default_rng(0)
    reference, items = Path("r.wav"), []
    scores: dict[Key, tuple[Score | None, ...]] = {}
    heard: dict[Key, tuple[TakeFeatures | None, ...]] = {}
    for i in range(count):
        prompt_number = i // PER_PROMPT
        prompt = Prompt(f"p{prompt_number}", "la" * (prompt_number % 2), reference if prompt_number % 4 > 1 else None)
        choice: Choice = "a" if rng.random() < 0.5 else "b"
        votes: dict[Axis, Vote] = {"musicality": Vote(choice, 1 + i % 5), "alignment": Vote(choice, 1 + i % 5)}
        about = {"month": f"2025-{1 + i % 6:02d}", "generator_a": f"g{i % 7}", "generator_b": f"g{i % 5}"}
        item = RatedItem(str(i), "cmi-pref", prompt, (Path(f"{i}a"), Path(f"{i}b")), votes=votes, about=about)
        shift = (1 if choice == "a" else -1) * (1 if rng.random() < 0.75 else -1) * abs(float(rng.normal()))
        items.append(item)
        scores["cmi-pref", item.id] = (Score(shift, shift), Score(0.0, 0.0))
        heard["cmi-pref", item.id] = tuple(TakeFeatures(*map(float, rng.uniform(10, 200, 3))) for _ in range(2))
    return Source(tuple(items), (System(About("model"), scores),), heard)


def plain_bootstrap(source: Source, resamples: int) -> tuple[float, float]:
    """The interval of one accuracy, as one would first write it."""
    by_prompt = defaultdict(list)
    for item in source.items:
        pair = source.systems[0].scores[item.dataset, item.id]
        assert pair[0] is not None and pair[1] is not None
        said = "a" if pair[0].musicality > pair[1].musicality else "b"
        by_prompt[item.prompt].append(said == item.votes["musicality"].choice)
    prompts = list(by_prompt.values())
    rng = random.Random(0)
    draws = []
    for _ in range(resamples):
        drawn = [right for prompt in rng.choices(prompts, k=len(prompts)) for right in prompt]
        draws.append(sum(drawn) / len(drawn))
    draws.sort()
    return draws[int(0.025 * resamples)], draws[int(0.975 * resamples)]


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--resamples", type=int, default=2000)
    arguments = parser.parse_args()
    source = synthetic(arguments.pairs)
    cells = len(source.evaluate("strict", 100, by_modality).cells)
    tables = seconds(lambda: source.evaluate("strict", arguments.resamples, by_modality))
    analyses = seconds(lambda: analyse([source], GROUPS, AnalysisSetting("strict", arguments.resamples)))
    plain = FRACTION * seconds(lambda: plain_bootstrap(source, arguments.resamples // FRACTION))
    print(f"{arguments.pairs:,} pairs, {arguments.resamples:,} resamples")
    print(f"tables      {tables:7.2f} s   {cells} cells, {1000 * tables / cells:.1f} ms each")
    print(f"analyses    {analyses:7.2f} s   {', '.join(GROUPS)}")
    ratio = plain / (tables / cells)
    print(f"plain       {plain:7.2f} s   one accuracy: {ratio:,.0f} times as long as a cell of the tables")


if __name__ == "__main__":
    main()
