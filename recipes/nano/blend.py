"""Would nano's alignment be better with the untrained baseline's beside it? From the scores of a run on cmi-real.

    python recipes/nano/blend.py RUN        RUN is the folder that `cmi rewardbench run --model nano --model tags` wrote

A blend is nano's alignment over its deviation, plus a weight times that of `tags` over its own. How often the right one
of two is higher, by set and question: nano alone, tags alone, blends. No weight is fitted to these sets.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

WEIGHTS = (0.5, 1.0, 2.0)

Scores = Mapping[str, float]  # alignment by key


def main() -> None:
    run = Path(sys.argv[1])
    nano, tags = (read_scores(run, name) for name in ("nano", "tags"))
    asked = [item for item in _lines(run / "items.jsonl") if "alignment" in item["votes"]]
    shared = [key for item in asked for key in item["keys"] if key in nano and key in tags]
    spreads = [pstdev([scores[key] for key in shared]) for scores in (nano, tags)]
    scorers: dict[str, Callable[[str], float]] = {"nano": lambda key: nano[key], "tags": lambda key: tags[key]}
    for weight in WEIGHTS:
        scorers[f"blend {weight:g}"] = lambda key, w=weight: nano[key] / spreads[0] + w * tags[key] / spreads[1]  # type: ignore[misc]
    print(f"{'':58}{'n':>5}" + "".join(f"{name:>11}" for name in scorers))
    groups: defaultdict[str, list[Any]] = defaultdict(list)
    for item in asked:
        if all(key in nano and key in tags for key in item["keys"]):
            groups[f"{item['dataset'].removeprefix('cmi-real ')}: {item['about']['question']}"].append(item)
            groups[f"{item['dataset'].removeprefix('cmi-real ')}: all"].append(item)
    for name, items in sorted(groups.items()):
        cells = [100 * mean(_right(item, scorer) for item in items) for scorer in scorers.values()]
        print(f"{name[:58]:58}{len(items):5}" + "".join(f"{cell:11.1f}" for cell in cells))


def read_scores(run: Path, name: str) -> Scores:
    folder = next(path for path in (run / "models").iterdir() if path.name.startswith(f"{name}@"))
    return {row["key"]: row["alignment"] for row in _lines(folder / "scores.jsonl")}


def _right(item: dict[str, Any], scorer: Callable[[str], float]) -> float:
    first, second = (scorer(key) for key in item["keys"])
    better, worse = (first, second) if item["votes"]["alignment"]["choice"] == "a" else (second, first)
    return 0.5 + ((better > worse) - (better < worse)) / 2


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main()
