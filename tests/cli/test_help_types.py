"""Help says what a value is, and that a flag takes none."""

import pytest
from typer.testing import CliRunner

from cmi.cli import app


@pytest.mark.parametrize("command", [(), ("report",), ("judge",), ("judge", "pairs"), ("bench",), ("bench", "run")])
def test_flags_have_no_value_and_lists_name_their_items(command: tuple[str, ...]):
    shown = CliRunner().invoke(app, [*command, "--help"]).output
    assert "<bool>" not in shown
    assert "--help" in shown
    options = [line for line in shown.splitlines() if "--" in line]
    assert not any("<list" in line for line in options)
