"""musicnn's wheel, once for all tests and all runs."""

from pathlib import Path

import pytest

from cmi.errors import InputError
from cmi.reward.encoders.musicnn_wheel import find_wheel


@pytest.fixture(scope="session")
def wheel() -> Path:
    """The one thing that tests share with the user's cache: 29 MB need not be downloaded for every run."""
    try:
        return find_wheel()
    except InputError as error:
        pytest.skip(str(error))
