"""The contents of the site: how to install, then the pages of SECTIONS, which list others by ordinary links.

A page that none of them links to is listed at the end of the guides, so that no page is lost.
"""

import re
from pathlib import Path

FIRST = "install"
SECTIONS = ("tutorials/index", "guides", "reference/index", "explanation/index")
GUIDES = "guides"  # placed last: it may link to a page of any other section
LINK = re.compile(r"\]\(([\w./-]+)\.md(?:#[\w-]*)?\)")


def pages_linked_from(folder: Path, page: str) -> list[str]:
    """The pages of the folder that a page links to, in its order."""
    path = folder / f"{page}.md"
    linked = [(path.parent / name).resolve() for name in LINK.findall(path.read_text("utf-8"))]
    return [one.relative_to(folder).as_posix() for one in dict.fromkeys(linked) if one.is_relative_to(folder)]


def sort_pages(folder: Path) -> dict[str, list[str]]:
    """The pages below each index page; a page is below the first that links to it."""
    below = {"index": [FIRST, *SECTIONS]}
    placed = {"index", FIRST, *SECTIONS}
    for index in (*sorted(SECTIONS, key=lambda name: name == GUIDES), "replication/README"):
        below[index] = [page for page in pages_linked_from(folder, index) if page not in placed]
        placed.update(below[index])
    every = {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.md")}
    below[GUIDES] += sorted(every - placed)
    return below
