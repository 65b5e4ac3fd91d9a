"""Pages of commands and the arena look alike: one palette, readable on light and on dark paper."""

import re
from importlib.resources import files
from itertools import pairwise

import pytest

from cmi.report.html import page
from cmi.report.pictures import PALETTE, SCORES, score_styles

ARENA = re.compile(r"--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);")


def luminance(colour: str) -> float:
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_arena_has_the_same_colours():
    css = files("cmi.arena").joinpath("web/pages/css/base.css").read_text(encoding="utf-8")
    arena = {name: (light, dark) for name, light, dark in ARENA.findall(css)}
    assert {name: arena[name] for name in PALETTE} == PALETTE


@pytest.mark.parametrize("ground", ["paper", "surface"])
@pytest.mark.parametrize("text", ["ink", "quiet", "accent", "take-a", "take-b"])
@pytest.mark.parametrize("theme", [0, 1])
def test_text_is_readable_on_every_ground(text: str, ground: str, theme: int):
    first, second = sorted(luminance(PALETTE[name][theme]) for name in (text, ground))
    assert (second + 0.05) / (first + 0.05) >= 4.5  # WCAG 2.2, AA


def test_a_page_has_the_palette_and_lets_no_other_script_run():
    html = page("<title>", "<h1>Body</h1>")
    assert "--ink: light-dark(#20242b, #ebe8e2)" in html
    assert "<title>&lt;title&gt;</title>" in html
    assert "default-src 'none'; script-src 'sha256-" in html


def test_scores_get_lighter_from_0_to_100_and_their_text_is_readable():
    """Lightness alone gives the order, so that it does not depend on seeing hues."""
    lights = [luminance(colour) for colour in SCORES]
    assert all(after / before > 1.15 for before, after in pairwise(lights))
    styles = re.findall(r"background: (#\w{6}); color: (#\w{6})", score_styles())
    assert [background for background, _ in styles] == list(SCORES)
    for pair in styles:
        first, second = sorted(map(luminance, pair))
        assert (second + 0.05) / (first + 0.05) >= 4.5
