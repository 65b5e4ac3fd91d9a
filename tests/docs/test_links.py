"""Every relative link of README, docs and recipes' pages leads to a file, and to a heading if it names one."""

import re
from functools import cache
from pathlib import Path

import pytest

from .commands import PAGES, ROOT

LINK = re.compile(r"""(?:\]\(<?|<img src=")(?!https?:|mailto:)([^)\s>"]*)""")
FENCE = re.compile(r"^(```+).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")


def text_of(page: Path) -> str:
    """A page without its code."""
    return FENCE.sub("", page.read_text("utf-8"))


@cache
def anchors_of(page: Path) -> set[str]:
    """What GitHub and MyST make of a page's headings."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        count = next(n for n in range(1000) if (f"{slug}-{n}" if n else slug) not in found)
        found.add(f"{slug}-{count}" if count else slug)
    return found


def broken_links(page: Path) -> list[str]:
    broken = []
    for link in LINK.findall(CODE.sub("``", text_of(page))):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            broken.append(f"{link}: no such file")
        elif anchor and target.suffix == ".md" and anchor not in anchors_of(target):
            broken.append(f"{link}: no such heading")
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_links_of_a_page_lead_somewhere(page: Path):
    assert broken_links(page) == []


def test_a_missing_file_and_a_missing_heading_are_found(tmp_path: Path):
    (tmp_path / "other.md").write_text("# One `two`, three's\n\n## Same\n\n## Same\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md#one-two-threes) [b](other.md#same-1) [c](other.md#same-2) [d](gone.md) [e](#here)\n"
        "`[f](code.md)`\n"
    )
    assert broken_links(page) == ["other.md#same-2: no such heading", "gone.md: no such file", "#here: no such heading"]
