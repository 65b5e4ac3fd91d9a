"""How Sphinx makes a site of these pages: `make docs`.

The pages are plain Markdown, which reads well without Sphinx too; `contents.py` derives the contents from their links.
"""

import re
import sys
import textwrap
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

from contents import sort_pages  # noqa: E402 - of this folder
from reference_pages import CommandReference, PythonReference  # noqa: E402

project = "cmi"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}

html_theme = "furo"
html_title = "cmi"
html_copy_source = False
html_show_copyright = False
SMALL_CODE = {"code-font-size": "0.78rem"}
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {"light_css_variables": SMALL_CODE, "dark_css_variables": SMALL_CODE}

myst_heading_anchors = 6
highlight_language = "none"

default_role = "code"  # of docstrings
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 100

WIDEST = 100  # columns of prose in an output; tables may be wider, and scroll
BEYOND = re.compile(r"\]\((?=(?:\.\./)+(?:recipes|benchmarks)/[\w./-]+\.md\))")  # pages that are not on the site


def wrap_output(text: str) -> str:
    """Break the long notes that commands print below their tables, which would be cut off at the page's edge."""
    lines, language = [], None
    for line in text.split("\n"):
        if line.startswith("```"):
            language = line.removeprefix("```") if language is None else None
        is_note = language in ("", "console") and len(line) > WIDEST and not re.search(r"^[ ${]| {2}", line)
        lines += textwrap.wrap(line, WIDEST, break_long_words=False) if is_note else [line]
    return "\n".join(lines)


def prepare_page(app: Any, page: str, source: list[str]) -> None:
    source[0] = BEYOND.sub("](path:", wrap_output(source[0]))  # as files to download
    below = sort_pages(HERE).get(page)
    if below:
        source[0] += "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(f"/{name}" for name in below) + "\n```\n"


def mark_code(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """In docstrings, an indented paragraph is code; reStructuredText would quote it."""
    for place in range(len(lines) - 1, 1, -1):
        if lines[place].startswith("    ") and not lines[place - 1] and not lines[place - 2].startswith(" "):
            lines[place:place] = ["::", ""]


def setup(app: Any) -> None:
    app.connect("source-read", prepare_page)
    app.connect("autodoc-process-docstring", mark_code)
    app.add_directive("cmi-commands", CommandReference)
    app.add_directive("cmi-names", PythonReference)
