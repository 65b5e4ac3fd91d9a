"""requirements.lock is whole: every package that `make setup` asks for is there, by version and hash."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PINNED = re.compile(r"([a-z0-9-]+)==(\S+)(?: ; [^\\\n]+)?((?: \\?\s*--hash=sha256:[0-9a-f]{64})+)")
INSTALLED = ("dev", "listen")  # the extras of `make setup`
WITHOUT_HASH = {"torch"}  # its builds differ from machine to machine
BUILD = ("hatchling", "editables")


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.fixture(scope="module")
def pinned() -> dict[str, str]:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    found = PINNED.findall(text)
    assert PINNED.sub("", text).strip() == ""  # nothing else: no address, no option, no package without a hash
    assert len({name for name, _, _ in found}) == len(found)
    return {name: version for name, version, _ in found}


def wanted() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: [Requirement(line) for line in lines] for name, lines in project["optional-dependencies"].items()}
    found, todo = [Requirement(line) for line in project["dependencies"]], list(INSTALLED)
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += [extra for one in extras[name] if one.name == "cmi" for extra in one.extras]
            found += [one for one in extras[name] if one.name != "cmi"]
    return found


def test_everything_that_is_asked_for_is_pinned_as_asked(pinned: dict[str, str]):
    linux = {"python_version": "3.11", "python_full_version": "3.11.9", "sys_platform": "linux"}
    for one in wanted():
        if one.name not in WITHOUT_HASH and (one.marker is None or one.marker.evaluate(linux)):
            assert plain(one.name) in pinned, f"{one.name} is missing: make lock"
            assert one.specifier.contains(pinned[plain(one.name)], prereleases=True), f"{one}: make lock"


def test_what_builds_the_package_is_pinned_and_torch_is_not(pinned: dict[str, str]):
    assert set(BUILD) <= set(pinned) and not set(pinned) & WITHOUT_HASH
    assert pinned["basic-pitch"] == "0.4.0"
