"""The picture of README, a take of a report: `python docs/screenshot.py report.html 010/01.flac picture.png`."""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

_, report, take, picture = sys.argv
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    page.goto(Path(report).resolve().as_uri())
    page.wait_for_load_state("networkidle")
    page.locator(".take", has=page.get_by_role("heading", name=take, exact=True)).first.screenshot(path=picture)
    browser.close()
