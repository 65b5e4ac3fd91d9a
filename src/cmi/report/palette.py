"""The colours of every page and picture: one palette, light and dark. The arena's style sheet has the same values."""

PALETTE = {  # name: (on light paper, on dark paper)
    "paper": ("#f8f6f2", "#14161a"),
    "surface": ("#ffffff", "#1c1f25"),
    "line": ("#e2ddd3", "#31363f"),
    "line-strong": ("#8b8578", "#767d8a"),
    "ink": ("#20242b", "#ebe8e2"),
    "quiet": ("#5a606b", "#a9aeb9"),
    "accent": ("#0c675f", "#74d3c5"),
    "accent-soft": ("#e1f0ee", "#1c3734"),
    "take-a": ("#4149b0", "#a4adff"),
    "take-b": ("#a8431b", "#ffb08c"),
}
# Okabe and Ito's colours, which people with any colour vision can tell apart.
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b5b95", "#4d4d4d")
QUIET = PALETTE["line-strong"][0]  # axes and reference lines of pictures


def css_variables() -> str:
    """The palette as CSS; a browser picks the column of the reader's theme."""
    lines = (f"--{name}: light-dark({light}, {dark});" for name, (light, dark) in PALETTE.items())
    return ":root { color-scheme: light dark; " + " ".join(lines) + " }\n"


def colours(names: list[str]) -> dict[str, str]:
    """A colour for each name, the same for the same list."""
    return {name: SERIES[i % len(SERIES)] for i, name in enumerate(dict.fromkeys(names))}
