"""The demonstration's MIR set: what a listener hears stands beside nulls, and what it can't hear is said."""

import pytest

from cmi.bench.ask.reference.beat_network import read_weights
from cmi.bench.ask.run import read_data
from cmi.demo import mir
from cmi.demo.mir import answer_mir


@pytest.fixture
def constant(tmp_path, monkeypatch):
    """A listener of ours that needs no ears, in a module of its own."""
    (tmp_path / "constant_ears.py").write_text(
        "from cmi.bench.ask.nulls import NullListener\n"
        "class Ears(NullListener):\n"
        "    def __init__(self):\n"
        "        super().__init__('null:constant')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return "constant_ears:Ears"


def hear(folder, listener):
    steps = []
    part = answer_mir(folder, listener, 2, 4, 1, lambda *step: steps.append(step))
    return part, steps


def column(table, name):
    return {(row[0], row[1]): row[table.headers.index(name)] for row in table.rows}


def test_a_listener_stands_beside_nulls_with_n_and_intervals(tmp_path, constant):
    part, steps = hear(tmp_path / "mir", constant)
    main, table, *_ = part.tables
    assert ("MIR clips answered", 2, 2) in steps
    assert column(table, "Ears") == column(table, "constant")  # it is one of the nulls itself
    assert set(column(table, "n").values()) == {"2"}
    assert column(table, "unparsed")["pitch", "Acc."] == "2"
    assert column(table, "best null")["beat", "FM@70ms"] == "0.5 s grid"
    assert float(column(table, "constant")["beat", "FM@70ms"]) > 0 == float(column(table, "empty")["beat", "FM@70ms"])
    assert column(main, "best null")["beat", "F-measure within 70 ms"] != "0"
    assert main.notes[0].startswith(
        "The listener Ears is above the best null, which does not use the audio, on 0 of 6 tasks."
    )
    assert [len(clip.answers) for clip in part.clips] == [2, 2, 4, 4]  # of two notes and two pieces
    assert all(clip.audio.is_file() and answer.truth for clip in part.clips for answer in clip.answers)
    intervals = column(table, "95 %")  # of two clips: Wilson's for a share, none for anything else
    assert " – " in intervals["pitch", "Acc."] and intervals["key", "GES"] == "-"


def test_a_second_call_asks_nothing(tmp_path, monkeypatch, constant):
    first, _ = hear(tmp_path / "mir", constant)
    monkeypatch.setattr(mir, "process_pool", lambda: pytest.fail("asked again"))
    again, _ = hear(tmp_path / "mir", constant)
    assert again == first


def test_tasks_whose_packages_are_not_installed_are_named_with_what_to_install(tmp_path, monkeypatch):
    """As after a plain set-up: no package of the `listen` extra, and here no network for weights either."""
    monkeypatch.setattr("cmi.bench.ask.reference.version", lambda part: None)
    monkeypatch.setattr("cmi.bench.ask.reference.rhythm.version", lambda part: None)
    read_weights.cache_clear()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    part, _ = hear(tmp_path / "mir", "reference")
    main, table, *_ = part.tables
    assert any(note.startswith("Not answered: beat, downbeat; BeatNet's weights") for note in main.notes)
    assert any("Not answered: pitch, melody; " in note and "cmi[listen]" in note for note in main.notes)
    heard = column(table, "reference")
    assert heard.pop(("key", "GES")) != ""  # needs no package
    assert set(heard.values()) == {""}
    assert column(table, "failed") == {row: "0" if row[0] == "key" else "2" for row in column(table, "failed")}
    assert column(table, "constant")["beat", "FM@70ms"] != ""

    class Mended:
        batch = 1
        name = "reference: BeatNet 1.1.3 and key profiles"  # as it is called without any package

        def answer(self, questions):
            return ["C minor" for _ in questions]

    monkeypatch.setattr(mir, "_load", lambda listener: Mended())
    table = hear(tmp_path / "mir", "reference")[0].tables[1]  # what failed is asked again
    assert set(column(table, "failed").values()) == {"0"}
    assert len(read_data([tmp_path / "mir" / "annotations"])) == 6
