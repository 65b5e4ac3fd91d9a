"""The Python of README and docs runs, and its imports exist where it needs weights or data that are not here."""

import ast
import doctest
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import soundfile

from .commands import PAGES, Block, read_blocks

BLOCKS = [block for page in PAGES for block in read_blocks(page) if block.language == "python"]
RUN = (
    "docs/arena.md",
    "docs/generate.md",
    "docs/pick.md",
    "docs/prompts.md",
    "docs/studio.md",
    "docs/reference/preferences.md",
)
VOTES = """id,text,a,b,axis,choice,rater,system_a,system_b
1,a song,1.flac,2.flac,musicality,a,ann,one,two
2,a song,1.flac,2.flac,alignment,both,ann,one,two
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The recordings and votes that pages take for granted."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for place in ("votes", "takes/march"):
        Path(place).mkdir(parents=True)
        for name in ("1", "2"):
            soundfile.write(f"{place}/{name}.flac", np.random.default_rng(0).uniform(-0.5, 0.5, 32_000), 16_000)
            soundfile.write(f"{name}.flac", np.zeros(1600), 16_000)
    for name in ("votes.csv", "votes/preferences.csv"):
        Path(name).write_text(VOTES)
    return tmp_path


def test_the_pages_have_python():
    assert {block.page for block in BLOCKS} >= set(RUN)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.page}:{block.line}")
def test_what_a_block_imports_exists(block: Block):
    code = "".join(example.source for example in doctest.DocTestParser().get_examples(block.text)) or block.text
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                assert hasattr(import_module(node.module), alias.name)


@pytest.mark.parametrize("page", RUN)
def test_the_blocks_of_a_page_run(page: str, folder: Path):
    for block in BLOCKS:
        if block.page != page:
            continue
        if ">>>" in block.text:
            found = doctest.DocTestParser().get_doctest(block.text, {}, page, page, block.line)
            assert doctest.DocTestRunner().run(found).failed == 0
            continue
        if "\nclass " in block.text:
            (folder / "my_models.py").write_text(block.text)
        exec(compile(block.text.replace("preferences.jsonl", "preferences.csv"), page, "exec"), {})
