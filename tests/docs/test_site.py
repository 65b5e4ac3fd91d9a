"""The site's contents hold every page once, and its checker of built pages finds what is broken."""

import importlib.util
from collections import Counter
from pathlib import Path
from types import ModuleType

from .commands import ROOT

DOCS = ROOT / "docs"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_the_contents_once():
    below = load("contents").sort_pages(DOCS)
    counts = Counter(page for pages in below.values() for page in pages)
    assert set(counts.values()) == {1}
    assert set(counts) == {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")} - {"index"}


def test_a_page_that_nobody_links_to_is_listed_with_the_guides(tmp_path: Path):
    for name in ("index", "tutorials/index", "guides", "reference/index", "explanation/index", "replication/README"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.md").write_text("# A page\n\n[one](../one.md#part)\n")
    for name in ("install", "one", "two"):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n")
    below = load("contents").sort_pages(tmp_path)
    assert below["tutorials/index"] == ["one"]
    assert below["guides"] == ["replication/README", "two"]


def test_links_to_files_and_anchors_that_are_gone_are_found_in_a_built_site(tmp_path: Path):
    (tmp_path / "a").mkdir()
    (tmp_path / "index.html").write_text(
        '<p id="x"><a href="a/b.html#y">1</a><a href="a/b.html#z">2</a><img src="c.png">'
    )
    (tmp_path / "a/b.html").write_text('<p id="y"><a href="../index.html#x">1</a><a href="https://example.org/">2</a>')
    assert list(load("check_site").broken_links(tmp_path)) == [
        "index.html: a/b.html#z: no such anchor",
        "index.html: c.png: no such file",
    ]
