"""`cmi demo` as a user meets it; what it makes is tested in tests/demo/test_demo.py."""

import subprocess
import sys


def cmi(*arguments):
    command = [sys.executable, "-m", "cmi", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=100)


def test_help_says_where_the_page_will_be():
    shown = cmi("demo", "--help")
    assert shown.returncode == 0
    assert "build/demo/index.html" in shown.stdout


def test_a_place_that_is_no_folder_is_one_sentence_and_exit_code_2(tmp_path):
    (tmp_path / "taken").write_text("")
    refused = cmi("demo", tmp_path / "taken")
    assert refused.returncode == 2
    assert refused.stderr.strip() == f"cmi: {tmp_path / 'taken'}: Not a directory; choose another folder"
