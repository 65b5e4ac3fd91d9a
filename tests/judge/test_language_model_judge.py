"""A language model in this process as a judge: tiny random ones of their real classes."""

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

pytest.importorskip("torch")
pytest.importorskip("transformers")

from cmi.judge import load_judge
from cmi.judge.judges import LanguageModelJudge
from cmi.judge.load_judge import Spec, open_judge
from cmi.judge.prompt_file import read_role
from cmi.judge.run import VERDICTS, askings, judge_pairs
from cmi.llm import load_model
from cmi.llm.local import FAMILIES
from cmi.preferences import NamedPair
from cmi.take import Pair, Prompt

from ..bench.ask import tiny_models


@pytest.fixture(scope="module")
def sounds(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    place = tmp_path_factory.mktemp("sounds")
    lengths = {220: 1.0, 440: 2.0, 990: 35.0}
    paths = [place / f"{pitch}.wav" for pitch in lengths]
    for path, (pitch, seconds) in zip(paths, lengths.items(), strict=True):
        soundfile.write(path, 0.3 * np.sin(2 * np.pi * pitch * np.arange(int(16_000 * seconds)) / 16_000), 16_000)
    return paths


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_judges_a_reference_and_two_takes(family, tmp_path, sounds, monkeypatch):
    monkeypatch.setattr(load_judge, "ANSWER_TOKENS", 16)
    folder = tiny_models.save(family, tmp_path / "model")
    low, middle, high = sounds
    pairs = [
        NamedPair("reference", Pair(Prompt("slow piano", reference=high), low, middle), {}, {}),
        NamedPair("other reference", Pair(Prompt("slow piano", reference=middle), low, middle), {}, {}),
        NamedPair("none", Pair(Prompt("slow piano"), low, middle), {}, {}),
    ]
    with open_judge(Spec(f"omni:{folder}"), tmp_path / "run", pairs) as judge:
        judged = judge_pairs(askings(pairs, both_orders=True), judge, tmp_path / "run")
    assert not judged.failures
    said = {asking: verdict.raw for asking, verdict in judged.verdicts.items()}
    assert len(said) == 6
    assert len(set(said.values())) > 1  # it hears: what it says changes with the reference and the order
    assert all(verdict.why and not verdict.opinions for verdict in judged.verdicts.values())  # noise is not a verdict
    records = [json.loads(line) for line in (tmp_path / "run" / VERDICTS).read_text().splitlines()]
    cut = {record["id"]: record["cut"] for record in records if "cut" in record}
    if family == "qwen2-audio":
        assert set(cut) == {"reference|forward|1", "reference|reverse|1"}
        assert set(cut.values()) == {"recording 1: the first 30.0 of 35.0 s"}
        assert judged.cut_notes[0].startswith("2 of 6 verdicts used only the beginning of a recording")
    else:
        assert not cut
        assert len(judged.cut_notes) == 1
    assert judged.hearing is not None and judged.hearing.seconds is None  # noise tells nothing about its hearing
    assert "it is not known how much of a clip this model hears" in judged.cut_notes[-1]


def test_reasoning_is_on_record_and_not_parsed(tmp_path, sounds, monkeypatch):
    """A choice that the model considers while it thinks is not its verdict."""
    role = read_role("two-axes")
    keys = {name: 3 for axis in role.axes.values() for name in (axis.score_a, axis.score_b)}
    considered, meant = (
        json.dumps(keys | {axis.choice: choice for axis in role.axes.values()}) for choice in ("model_a", "model_b")
    )
    model = load_model(str(tiny_models.save("qwen2-audio", tmp_path)), device="cpu")
    monkeypatch.setattr(model, "generate", lambda requests, _: [f"<think>{considered}</think>{meant}"] * len(requests))
    judge = LanguageModelJudge(model, role)
    ((_, verdict),) = judge.verdicts([("x", Pair(Prompt("piano"), sounds[0], sounds[1]))])
    assert {opinion.choice for opinion in verdict.opinions.values()} == {"b"}
    assert verdict.reasoning == considered
    assert verdict.to_json()["reasoning"] == considered
