"""The colours of all pages and pictures, light and dark. The arena's style sheet repeats the values."""

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
# Okabe and Ito's palette, which is safe for colour-blind readers.
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b5b95", "#4d4d4d")
QUIET = PALETTE["line-strong"][0]  # axes and reference lines of pictures


def css_variables() -> str:
    """Return the palette as CSS variables that follow the reader's light or dark theme."""
    lines = (f"--{name}: light-dark({light}, {dark});" for name, (light, dark) in PALETTE.items())
    return ":root { color-scheme: light dark; " + " ".join(lines) + " }\n"


def colours(names: list[str]) -> dict[str, str]:
    """Assign each distinct name a colour, in order."""
    return {name: SERIES[i % len(SERIES)] for i, name in enumerate(dict.fromkeys(names))}
