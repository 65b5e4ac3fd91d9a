"""What tests may use if it is there: the shared folder beside the checkout, and WordNet."""

import os
from pathlib import Path

import pytest

from cmi.bench.tools import Tools
from cmi.errors import InputError


@pytest.fixture(scope="session")
def shared() -> Path:
    """Released answers and annotations of CMI-Bench, which are not ours to commit."""
    folder = Path(os.environ.get("CMI_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    if not (folder / "cmi-bench").is_dir():
        pytest.skip("no shared folder with the released CMI-Bench answers (set CMI_SHARED)")
    return folder


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    return Tools(cache=tmp_path_factory.mktemp("cache"))


@pytest.fixture
def wordnet(tools: Tools) -> object:
    if isinstance(tools.thesaurus, InputError):
        pytest.skip(str(tools.thesaurus))
    return tools.thesaurus


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's cache."""
    monkeypatch.setenv("CMI_CACHE", str(tmp_path / "cache"))
