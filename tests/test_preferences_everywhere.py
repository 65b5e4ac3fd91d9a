"""The same preferences in every format, through every command: each finds the same pairs, winners and splits."""

import csv
import gzip
import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import soundfile
import yaml
from sqlalchemy import select
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi._util.runlog import read_records
from cmi.arena.store.database import open_database
from cmi.arena.store.schema import pairs as pairs_table
from cmi.cli import app
from cmi.preferences import draw_split, read_pairs, read_preferences, write_preferences
from cmi.reward.train.config import TrainingSource
from cmi.reward.train.reading import read_examples
from cmi.rewardbench.runs.run_folder import read_items

PAIRS = 12
SCORER = """
from cmi.take import Score

class Constant:
    def score(self, takes):
        return [Score(1.0, 1.0) for _ in takes]
"""


def rows() -> list[dict[str, Any]]:
    """Two axes of each pair, spelled as people spell them, without a split."""
    return [
        {"id": f"{n}-{axis}", "text": f"tune {n}", "lyrics": "la, la" if n % 2 else "", "a": f"{n}a.wav"}
        | {"b": f"{n}b.wav", "axis": axis, "choice": "A" if n % 3 else "b", "confidence": 1 + n % 5, "rater": "ann"}
        | {"generator_a": "one", "generator_b": "two"}
        for n in range(PAIRS)
        for axis in ("Musicality", "alignment")
    ]


def lines(found: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in found)


def write_csv(path: Path, found: list[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(found[0]))
        writer.writeheader()
        writer.writerows(found)


def write_studio_set(path: Path, found: list[dict[str, Any]]) -> None:
    """A folder with preferences.jsonl; its paths start there."""
    path.mkdir()
    moved = [row | {side: f"../{row[side]}" for side in "ab"} for row in found]
    (path / "preferences.jsonl").write_text(lines(moved))


WRITERS: dict[str, Callable[[Path, list[dict[str, Any]]], object]] = {
    "p.jsonl": lambda path, found: path.write_text(lines(found)),
    "p.jsonl.gz": lambda path, found: path.write_bytes(gzip.compress(lines(found).encode())),
    "p.json": lambda path, found: path.write_text(json.dumps(found, indent=1)),
    "p.csv": write_csv,
    "p.parquet": lambda path, found: pyarrow.parquet.write_table(pyarrow.Table.from_pylist(found), path),
    "set": write_studio_set,
    **{
        f"ours.{suffix}": lambda path, found: write_preferences(read_preferences(path.parent / "p.jsonl"), path)
        for suffix in ("jsonl", "csv", "parquet")
    },
}


def cmi(*arguments: object) -> str:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("preferences")
    for n in range(PAIRS):
        for side in "ab":
            soundfile.write(
                place / f"{n}{side}.wav", [0.1 * (n + 1) / PAIRS, -0.1 if side == "a" else 0.1] * 2000, 8000
            )
    (place / "scorers.py").write_text(SCORER)
    for name, write in WRITERS.items():
        write(place / name, rows())
    return place


def trained_on(source: Path, out: Path, split: str = "") -> Any:
    """What `cmi train` counts in the source."""
    data = [{"preferences": str(source), **({"split": split} if split else {})}]
    settings = {"model": {"checkpoint": "nano", "head": "fresh"}, "data": data, "steps": 1, "batch": 2}
    (out / "train.yaml").write_text(yaml.safe_dump(settings))
    found = json.loads(cmi("train", out / "train.yaml", "--dry-run", "--json", "--device", "cpu", "--out", out / "t"))
    (counts,) = found["data"]
    return {key: counts[key] for key in ("examples", "labels", "modalities", "ties")}, found["recordings"]


def evaluated_on(source: Path, out: Path, *options: str) -> Any:
    """The items of `cmi rewardbench run`."""
    cmi("rewardbench", "run", "--data", source, "--model", "scorers:Constant", "--out", out / "run", *options)
    return [
        (item.id, item.prompt, [Path(take).resolve() for take in item.takes], item.votes, item.about)
        for item in (one.item for one in read_items(out / "run"))
    ]


def judged(source: Path, out: Path) -> Any:
    """The verdicts of a judge that knows every winner, by the pair's id."""
    cmi("judge", "pairs", source, "--model", "simulated:right=1,tied=0,first=0", "--out", out / "judged")
    return {row["id"]: (row["content"], row["opinions"]) for row in read_records(out / "judged" / "verdicts.jsonl")}


def imported(source: Path, out: Path) -> Any:
    """The pairs of a project of `cmi arena import`."""
    cmi("arena", "import", source, "--db", out / "arena.db", "--project", "Study", "--workers", "1")
    columns = pairs_table.c.source_id, pairs_table.c.text, pairs_table.c.lyrics, pairs_table.c.system_a
    database = open_database(str(out / "arena.db"))
    with closing(database), database.reading() as connection:
        return sorted(tuple(row) for row in connection.execute(select(*columns, pairs_table.c.system_b)))


def learned_from(source: Path, out: Path) -> Any:
    """What `cmi train` reads before it loads a model."""
    (found,) = read_examples([TrainingSource(preferences=source)])
    return [(example.prompt, [take.resolve() for take in example.takes], example.labels) for example in found.examples]


COMMANDS: dict[str, Callable[[Path, Path], Any]] = {
    "train": learned_from,
    "rewardbench": evaluated_on,
    "judge": judged,
    "arena": imported,
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_format_gives_a_command_the_same_pairs(command: str, folder: Path, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(folder)
    found = {}
    for name in WRITERS:
        (tmp_path / name).mkdir()
        found[name] = COMMANDS[command](folder / name, tmp_path / name)
    assert found["p.jsonl"]
    for name in WRITERS:
        assert found[name] == found["p.jsonl"], name


def test_the_commands_agree_on_what_a_file_says(folder: Path, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(folder)
    preferences = list(read_preferences(folder / "p.csv"))
    assert [(one.axis, one.choice, one.confidence) for one in preferences[:2]] == [
        ("musicality", "b", 1),
        ("alignment", "b", 1),
    ]
    counts, recordings = trained_on(folder / "p.csv", tmp_path)
    assert (counts["examples"], counts["labels"], recordings) == (PAIRS, {"alignment": PAIRS, "musicality": PAIRS}, 24)
    items = evaluated_on(folder / "p.csv", tmp_path)
    assert [item[1].text for item in items] == [f"tune {n}" for n in range(PAIRS)]
    assert all(set(votes) == {"musicality", "alignment"} for _, _, _, votes, _ in items)
    opinions = [told for _, told in judged(folder / "p.csv", tmp_path).values()]
    winners = [{one.axis: one.choice for one in preferences[n : n + 2]} for n in range(0, 2 * PAIRS, 2)]
    assert [{axis: said[0] for axis, said in told.items()} for told in opinions] == winners
    assert len(imported(folder / "p.csv", tmp_path)) == PAIRS


def test_a_file_without_splits_is_split_by_prompt_alike_in_training_and_in_the_benchmark(
    folder: Path, tmp_path: Path, monkeypatch
):
    monkeypatch.chdir(folder)
    by_split = {
        split: list(read_preferences(folder / "p.parquet", split=split)) for split in ("train", "valid", "test")
    }
    assert sum(map(len, by_split.values())) == 2 * PAIRS
    prompts = {split: {one.prompt for one in found} for split, found in by_split.items()}
    assert prompts["train"] and prompts["test"] and not prompts["train"] & prompts["test"]
    assert all(draw_split(prompt) == split for split, found in prompts.items() for prompt in found)
    assert trained_on(folder / "p.parquet", tmp_path, "train")[0]["examples"] == len(prompts["train"])
    tested = evaluated_on(folder / "p.parquet", tmp_path, "--split", "test")
    assert {item[1] for item in tested} == prompts["test"]


def test_a_folder_of_takes_is_paired_alike_by_judge_and_arena(folder: Path, tmp_path: Path):
    takes = tmp_path / "takes"
    for prompt, systems in {"calm": "abc", "wild": "ab"}.items():
        (takes / prompt).mkdir(parents=True)
        (takes / prompt / "prompt.txt").write_text(f"a {prompt} tune")
        for number, system in enumerate(systems):
            sound = (folder / f"{number + 3 * (prompt == 'wild')}a.wav").read_bytes()
            (takes / prompt / f"{system}.wav").write_bytes(sound)
    (tmp_path / "judge.py").write_text(JUDGE)
    names = ["calm/a-b", "calm/a-c", "calm/b-c", "wild/a-b"]
    assert [pair.id for pair in read_pairs(takes)] == names
    assert [row[0] for row in imported(takes, tmp_path)] == names
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        cmi("judge", "label", takes, "--model", "judge:Second", "--out", tmp_path / "labels")
    labels = list(read_preferences(tmp_path / "labels"))
    assert [one.id for one in labels] == [f"{name} musicality" for name in names]
    assert all(one.pair.b.is_file() and one.choice == "both" for one in labels)
    with pytest.raises(InputError, match=r"calm: 'axis' is missing"):
        list(read_preferences(takes))


JUDGE = """
from cmi.judge.verdict import Opinion, Verdict

class Second:
    def judge(self, pairs):
        return [Verdict({"musicality": Opinion("both")}) for _ in pairs]
"""
