"""The picture of README, the first take of a report: `python docs/screenshot.py report.html picture.png`."""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
    page = browser.new_page(viewport={"width": 1000, "height": 590})
    page.goto(Path(sys.argv[1]).resolve().as_uri())
    page.wait_for_load_state("networkidle")
    page.locator("h2").first.evaluate("(heading) => heading.scrollIntoView()")
    page.screenshot(path=sys.argv[2])
    browser.close()
