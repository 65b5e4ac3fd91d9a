"""Lines that install something name extras of the project, and `make` is given targets that exist."""

import re
import tomllib

import pytest

from .commands import PAGES, ROOT, read_blocks

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text("utf-8") for page in PAGES}


@pytest.mark.parametrize("page", TEXTS)
def test_extras_and_targets_exist(page: str):
    asked = {extra for found in re.findall(r"(?:\bcmi|'\.)\[([a-z,-]+)\]", TEXTS[page]) for extra in found.split(",")}
    assert asked <= set(EXTRAS)
    blocks = "\n".join(block.text for block in read_blocks(ROOT / page))
    targets = {*re.findall(r"^make ([a-z-]+) *(?:#|$)", blocks, re.M), *re.findall(r"`make ([a-z-]+)", TEXTS[page])}
    for target in targets:
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), f"make {target}"


def test_readme_opens_with_its_two_commands_and_installs_torch_for_the_cpu():
    lines = TEXTS["README.md"].splitlines()
    assert [line.split("#")[0].strip() for line in lines[3:5]] == ["make demo", "make test"]
    installing = [line for line in lines if re.search(r"\b(pip|uv|pipx) .*install", line)]
    assert len(installing) == 4 and all("/whl/cpu" in line or "--torch-backend=cpu" in line for line in installing)
    assert all("-c constraints.txt" in line for line in installing)
