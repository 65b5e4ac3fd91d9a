"""Make a run folder of TuneJury's published scores of later Music Arena votes, for `cmi calibrate` and `cmi drift`.

    python published_scores.py TuneJury/data/labels/ma_postcut_scored.csv runs/tunejury

The table has 799 votes of February and March 2026 with the scores of both takes; prompts, annotators, dates and
recordings are not in it, so that each vote counts as a prompt and an annotator of its own. Its licence is CC BY-NC 4.0:
get it from github.com/yonghyunk1m/TuneJury, and publish nothing made of it.
"""

import argparse
import csv
from pathlib import Path

from cmi.rewardbench.items import RatedItem, Vote
from cmi.rewardbench.runs.judging import JudgedItem
from cmi.rewardbench.runs.run_folder import About, AskedItem, write_items, write_pair_scores
from cmi.rewardbench.tasks import key
from cmi.take import Prompt, Score

MODEL = "TuneJury, as published"


def make_run(table: Path, folder: Path) -> None:
    items, scores = [], {}
    with table.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            item = RatedItem(
                row["battle_id"],
                "music-arena",
                Prompt(),
                (Path(f"{row['battle_id']}-a"), Path(f"{row['battle_id']}-b")),
                votes={"overall": Vote("a" if row["preference"] == "A" else "b")},
                about={"generator_a": row["system_a"], "generator_b": row["system_b"], "split": "later"},
            )
            items.append(AskedItem(item, (f"{item.id}-a", f"{item.id}-b")))
            takes = [Score(float(row[column]), float("nan")) for column in ("tj_a", "tj_b")]
            scores[key(item)] = JudgedItem(tuple(takes))
    folder.mkdir(parents=True, exist_ok=True)
    write_items(folder, items)
    write_pair_scores(folder, About(MODEL, ("musicality",)), scores)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path, help="ma_postcut_scored.csv")
    parser.add_argument("folder", type=Path, help="the run to write")
    given = parser.parse_args()
    make_run(given.table, given.folder)
