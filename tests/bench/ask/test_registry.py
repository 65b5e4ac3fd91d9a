"""Listeners by name, and what is refused."""

import re
from pathlib import Path

import pytest

from cmi._util.errors import InputError
from cmi.bench.ask import Question
from cmi.bench.ask.registry import Options, load_listener


def _ask(spec: str, text: str, dataset: str) -> str:
    named = load_listener(spec, Options())
    (answer,) = named.listener.answer([Question("1", text, Path("none.wav"), dataset=dataset)])
    return str(answer)


def test_nulls_hear_nothing_and_know_no_truth():
    assert _ask("null:empty", "Which genre?", "GTZAN") == ""
    assert _ask("null:example", "Which genre?\nExample 1: blues\nExample 2: jazz", "GTZAN") == "blues"
    assert _ask("null:constant", "Which key?", "GS_key") == "C minor"
    assert _ask("null:constant", "Beats?", "gtzan_beat").startswith("0.0s,0.5s,1.0s")
    assert _ask("null:constant", "Which genre?", "GTZAN") == ""


def test_a_class_of_the_users_is_found_in_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "my_ears.py").write_text(
        "class Mine:\n    def answer(self, questions):\n        return [q.dataset for q in questions]\n"
    )
    monkeypatch.chdir(tmp_path)
    assert _ask("my_ears:Mine", "?", "GTZAN") == "GTZAN"
    assert load_listener("my_ears:Mine", Options()).short == "Mine"


def test_a_class_in_another_file_is_another_listener(tmp_path, monkeypatch):
    code = "class Mine:\n    name = 'mine'\n    def answer(self, questions):\n        return ['' for _ in questions]\n"
    monkeypatch.chdir(tmp_path)
    names = []
    for module, text in (("ears_one", code), ("ears_two", code), ("ears_three", f"{code}# mended\n")):
        (tmp_path / f"{module}.py").write_text(text)
        names.append(load_listener(f"{module}:Mine", Options()).full)
    hashes = [name.partition("@")[2] for name in names]
    assert hashes[0] == hashes[1] != hashes[2]
    assert re.fullmatch(r"ears_one:Mine@[0-9a-f]{12}: mine", names[0])


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("qwen9-audio", "is not a listener: choose from reference"),
        ("no_such_module:Mine", "no module 'no_such_module'"),
        ("json:JSONDecoder", "has no method answer"),
        ("'unclosed", "is not a listener"),
        ("openai", "an endpoint needs --url"),
    ],
)
def test_what_is_no_listener_is_one_sentence(spec, why):
    with pytest.raises(InputError, match=why):
        load_listener(spec, Options())


def test_a_command_is_a_worker_named_for_its_script(tmp_path):
    script = tmp_path / "ltu_worker.py"
    script.touch()
    named = load_listener(f"python3 {script} --fast", Options())
    assert (named.short, named.full) == ("ltu_worker", f"python3 {script} --fast")


def test_remote_code_takes_two_words():
    with pytest.raises(InputError, match="--trust-remote-code"):
        load_listener("qwen-audio", Options())
    with pytest.raises(InputError, match="pin the code you read with --revision"):
        load_listener("musilingo", Options(trust_remote_code=True))
    with pytest.raises(InputError, match="40 digits"):
        load_listener("musilingo", Options(trust_remote_code=True, revision="main"))
