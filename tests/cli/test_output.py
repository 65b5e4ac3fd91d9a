"""What is printed beside the results."""

import warnings
from pathlib import Path

import pytest

import cmi
from cmi.cli.output import print_warnings_as_notes


def test_our_warnings_are_one_line_and_others_keep_pythons_form(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(warnings, "showwarning", lambda message, *_: print(f"theirs: {message}"))
    print_warnings_as_notes()
    ours = Path(cmi.__file__).parent / "audio.py"
    warnings.showwarning("the cache cannot be written", UserWarning, str(ours), 1)
    warnings.showwarning("deprecated", UserWarning, "other/package.py", 1)
    printed = capsys.readouterr()
    assert printed.err == "cmi: the cache cannot be written\n"
    assert printed.out == "theirs: deprecated\n"
