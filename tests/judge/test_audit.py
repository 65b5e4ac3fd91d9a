"""An audit tells judges that hear from judges that do not."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from cmi.audio import Waveform, load
from cmi.judge.audit import Audit, AuditItem, audit, audit_items, youden
from cmi.judge.judges import KeyedPair, KeyedVerdict
from cmi.judge.report import audit_record, audit_table
from cmi.judge.run import Asking, Judged, askings, judge_pairs
from cmi.judge.verdict import Opinion, Verdict
from cmi.preferences import NamedPair, read_pairs
from cmi.report.tables import to_json
from cmi.stats import Interval, Share
from cmi.take import Audio, Choice, Pair, Prompt
from cmi.testing.rule_endpoint import tonality


class Judge:
    """Names what `choose` says of two tonalities, on musicality; its marks are the tonalities."""

    name = "test judge"

    def __init__(self, choose) -> None:
        self.choose = choose

    def verdicts(self, asked: Sequence[KeyedPair]) -> Iterator[KeyedVerdict]:
        for key, pair in asked:
            a, b = (tonality(_sound(audio)) for audio in (pair.a, pair.b))
            choice: Choice | None = self.choose(a, b)
            yield (
                key,
                Verdict({"musicality": Opinion(choice, a, b)}) if choice else Verdict(raw="?", why="no JSON object"),
            )


def _sound(audio: Audio) -> Waveform:
    return load(audio, 16_000) if isinstance(audio, Path) else audio


def hearing(a: float, b: float) -> Choice:
    return "both" if abs(a - b) < 0.001 else "a" if a > b else "b"


def audited(tmp_path: Path, items: Sequence[AuditItem], choose) -> Audit:
    plain = [item.pair for item in items if item.kind == "as it is"]
    others = [item.pair for item in items if item.kind != "as it is"]
    asked = [*askings(plain, True, 2), *askings(others, True)]
    return audit(judge_pairs(asked, Judge(choose), tmp_path / "run"), items)


@pytest.fixture(scope="module")
def items(make_pairs) -> list[AuditItem]:
    return audit_items(read_pairs(make_pairs(40)), 40)


def test_every_kind_is_asked_and_its_answer_is_a_as_often_as_b(items: list[AuditItem]):
    kinds = [item.kind for item in items]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == dict.fromkeys(
        ("as it is", "same clip", "silence", "noise", "other prompt"), 40
    )
    silence = [item.pair.known["musicality"] for item in items if item.kind == "silence"]
    assert 10 < silence.count("a") < 30


def test_a_judge_that_hears_is_fit(tmp_path: Path, items: list[AuditItem]):
    found = audited(tmp_path, items, hearing)
    assert not found.faults
    assert {one.kind for one in found.hearing} == {"silence", "noise", "flawed"}
    assert all(one.youden > 0.9 for one in found.hearing)
    assert found.specificity["musicality"] == Share(40, 40)
    assert found.position[0].value == 0.5 and found.consistency["musicality"].value == 1.0


@pytest.mark.parametrize(
    ("choose", "fault"),
    [
        (lambda a, b: "a", "first take in 100%"),
        (lambda a, b: "both", "music from silence"),
        (lambda a, b: None, "not a verdict"),
        (lambda a, b: hearing(b, a), "music from noise"),
        (lambda a, b: "b" if a == b else np.random.default_rng(int(1e6 * (a + b))).choice(["a", "b"]), "music from"),
    ],
)
def test_a_judge_that_is_deaf_or_biased_is_named_unfit(tmp_path: Path, items: list[AuditItem], choose, fault: str):
    found = audited(tmp_path, items, choose)
    assert any(fault in text for text in found.faults), found.faults
    assert "UNFIT" in audit_table(found).notes[0]
    assert audit_record(found)["fit"] is False


def test_a_steady_but_deaf_judge_is_consistent_and_unfit(tmp_path: Path, items: list[AuditItem]):
    """It always prefers the take with the smaller hash: the same in both orders, whatever is heard."""
    deaf = audited(tmp_path, items, lambda a, b: "both" if a == b else "a" if hash(a) % 97 < hash(b) % 97 else "b")
    assert deaf.consistency["musicality"].value > 0.8
    assert deaf.faults


def test_repeats_that_differ_are_counted(tmp_path: Path, items: list[AuditItem]):
    rng = np.random.default_rng(0)
    found = audited(tmp_path, items, lambda a, b: rng.choice(["a", "b"]))
    assert found.self_consistency["musicality"].n == 80
    assert 0.3 < found.self_consistency["musicality"].value < 0.7
    assert found.at_odds["musicality"].hits > 0
    assert any("repeats itself" in text for text in found.faults)
    to_json(audit_record(found))


def test_youdens_interval_holds_its_value():
    value, interval = youden(Share(30, 40), Share(38, 40))
    assert value == pytest.approx(0.7) and interval.low < value < interval.high
    assert youden(Share(0, 40), Share(40, 40))[0] == 0 and youden(Share(0, 40), Share(40, 40))[1].low < 0
    assert isinstance(interval, Interval)


def test_a_few_pairs_do_not_make_a_judge_certain_to_be_biased():
    pairs = [Pair(Prompt(str(i)), Path("a.wav"), Path("b.wav")) for i in range(4)]
    items = [AuditItem("as it is", NamedPair(str(i), pair, {}, {})) for i, pair in enumerate(pairs)]
    judged = Judged("always the first")
    for item in items:
        for order, first in (("forward", "a"), ("reverse", "b")):
            judged.verdicts[Asking(item.pair.id, order)] = Verdict({"musicality": Opinion(first)})  # type: ignore[arg-type]
    [position] = audit(judged, items).position
    assert position.value == 1.0 and position.interval.low < 0.7


@pytest.mark.parametrize("bias", [0.1, 0.4])
def test_the_interval_of_the_position_bias_holds_that_of_a_known_judge(bias: float):
    pairs = [Pair(Prompt(str(i)), Path("a.wav"), Path("b.wav")) for i in range(200)]
    items = [AuditItem("as it is", NamedPair(str(i), pair, {}, {})) for i, pair in enumerate(pairs)]
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(40):
        judged = Judged("known")
        for item in items:
            winner = rng.choice(["a", "b"])
            for order, first in (("forward", "a"), ("reverse", "b")):
                said = first if rng.random() < bias else winner
                judged.verdicts[Asking(item.pair.id, order)] = Verdict({"musicality": Opinion(said)})  # type: ignore[arg-type]
        [position] = audit(judged, items).position
        covered += position.interval.low <= 0.5 + bias / 2 <= position.interval.high
    assert covered >= 34  # 38 are expected
