"""The interface's words: both languages have the same, and the pages ask for no others."""

import json
import re
from pathlib import Path

import pytest

import cmi.arena

PAGES = Path(cmi.arena.__file__).parent / "web" / "pages"
WORDS = {language: json.loads((PAGES / "words" / f"{language}.json").read_text("utf-8")) for language in ("en", "zh")}
SOURCES = "\n".join(
    path.read_text("utf-8") for pattern in ("*.html", "js/**/*.js") for path in sorted(PAGES.glob(pattern))
)
KEY = r"[a-z][a-z_-]*(?:\.[a-z0-9_-]+)+"


def test_both_languages_say_the_same_things():
    assert list(WORDS["en"]) == list(WORDS["zh"])
    assert all(sentence.strip() for words in WORDS.values() for sentence in words.values())


def test_both_languages_have_the_same_gaps():
    for key, sentence in WORDS["en"].items():
        assert sorted(re.findall(r"\{\w+\}", sentence)) == sorted(re.findall(r"\{\w+\}", WORDS["zh"][key])), key


def test_every_word_that_a_page_asks_for_is_there():
    asked = set(re.findall(rf'(?:word|label|placeholder|data-word(?:-label)?)(?::|=)\s*\[?"({KEY})"', SOURCES))
    asked |= set(re.findall(rf'\b(?:announce|confirmSaved|word|actionButton|openDialog)\("({KEY})"', SOURCES))
    asked |= set(re.findall(rf'\b(?:say|warn)\([^;]*?"({KEY})"', SOURCES))
    assert len(asked) > 100
    assert asked - WORDS["en"].keys() == set()


def test_no_word_is_left_over():
    """A key is used whole, or as the end of a template such as `state.${name}.more`."""
    templates = [part for part in re.findall(r"`([^`\s]*\$\{[^`]*)`", SOURCES) if not part.startswith("${")]
    patterns = [re.compile(re.sub(r"\\\$\\\{.*?\\\}", ".+", re.escape(part))) for part in templates]
    ends = {re.sub(r"^\$\{\w+\}", "", part) for part in re.findall(r"`(\$\{\w+\}\.\w+)`", SOURCES)}
    for key in WORDS["en"]:
        used = f'"{key}"' in SOURCES or any(pattern.fullmatch(key) for pattern in patterns)
        assert used or any(key.endswith(end) for end in ends), key


@pytest.mark.parametrize("path", sorted(PAGES.glob("*.html")), ids=lambda path: path.name)
def test_pages_have_nothing_inline_and_nothing_from_elsewhere(path):
    page = path.read_text("utf-8")
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=", page)
    assert all(address.startswith(("/", "#")) for address in re.findall(r'(?:src|href)="([^"]*)"', page))


def test_no_script_parses_html():
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", SOURCES)
