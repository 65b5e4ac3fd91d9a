"""A real arena, served over HTTP from a fresh database, and a real Chromium to use it with.

Takes are 2.4 s long, half of which has to be heard. Chromium keeps its autoplay policy: no sound without a gesture.
Screenshots go to build/screenshots, to be looked at.
"""

import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("playwright", reason="playwright is not installed: pip install 'cmi[test]'")
pytest.importorskip("fastapi", reason="the arena is not installed: pip install 'cmi[arena]'")

import soundfile
import uvicorn
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from cmi._util.errors import InputError
from cmi.arena.audio import sounds
from cmi.arena.exchange.trial_import import import_trials, measure_trials
from cmi.arena.store import assign, pairs, people, projects, ratings, trials, votes
from cmi.arena.store.assign import View
from cmi.arena.store.database import Database, open_database
from cmi.arena.web.app import create_app
from cmi.arena.web.routes.pages import read_player
from cmi.arena.web.security import cookie_name
from cmi.arena.web.state import ServerSettings, server_id

SECONDS = 2.4
PATIENCE = 60_000  # milliseconds that a condition may take to come true: a busy machine is no failure
RATE = 22_050
SCREENSHOTS = Path(__file__).parents[4] / "build" / "screenshots"
CHROMIUM = os.environ.get("CMI_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--autoplay-policy=user-gesture-required",
]
CONSENT = "Your votes are kept without your name.\nYou can withdraw at any time."
TEXT = "A slow, sad piano piece with rain in the background"
LYRICS = "\n".join(f"Line {number} of a song about the sea" for number in range(1, 31))
ATTACK = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'


class Arena:
    """A study with six ordinary pairs (two of them with lyrics, one with a reference), on its own port."""

    def __init__(self, folder: Path, player: dict[str, bytes], settings: dict[str, object], kind: str = "pairs"):
        self.database: Database = open_database(str(folder / "arena.sqlite"))
        defaults = {"overlap_share": 1.0, "gold_share": 0.0, "repeat_share": 0.0, "quota": 6}
        self.project = projects.create(self.database, "Rainy day study", defaults | settings, CONSENT, kind).id
        if kind == "pairs":
            self._add_pairs(folder)
        else:
            self._add_trials(folder, kind)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        app = create_app(self.database, ServerSettings(public_url=self.url, folder=folder / "sounds", player=player))
        self._server = uvicorn.Server(uvicorn.Config(app, lifespan="off", ws="none", log_level="error"))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listening]})
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)

    def _add_pairs(self, folder: Path) -> None:
        study = projects.get(self.database, self.project).settings
        with self.database.writing() as connection:
            takes = [sounds.register(connection, self.project, _tone(folder, n)) for n in range(4)]
            for number in range(6):
                new = pairs.NewPair(
                    source_id=f"pair {number}",
                    text=TEXT if number else ATTACK,
                    lyrics=LYRICS if number % 3 == 1 else ATTACK if number == 0 else "",
                    reference=takes[3] if number % 3 == 1 else None,
                    a=takes[number % 2],
                    b=takes[2],
                    system_a=("piano", "organ")[number % 2],
                    system_b="harp",
                )
                pairs.add(connection, self.project, study, new)

    def _add_trials(self, folder: Path, kind: str) -> None:
        """Two prompts with a reference and three systems each."""
        rows = ["id,audio,text,lyrics,reference,generator"]
        for number in range(2):
            reference = _tone(folder, 10 + number)
            for system, name in enumerate(("piano", "organ", "harp")):
                take = _tone(folder, 4 * number + system)
                rows.append(f'{number}-{name},{take.name},"{TEXT}, {number}",,{reference.name},{name}')
        manifest = folder / "takes.csv"
        manifest.write_text("\n".join(rows))
        import_trials(self.database, self.project, measure_trials(manifest, kind, folder / "sounds"))

    def simulate(self, listeners: int) -> None:
        """Votes of people who prefer the harp most of the time, cast in no time by a clock of their own."""
        real, passed = self.database.now, [0.0]
        self.database.now = lambda: real() - 3600 + passed[0]  # type: ignore[method-assign]
        for listener in range(listeners):
            token = people.invite(self.database, self.project, "annotator", days=1)[0].token
            person = people.join(self.database, token, f"Listener {listener + 1}", True).person
            number = 0
            while isinstance(view := assign.next_page(self.database, person)[0], View):
                assign.begin(self.database, person, view.key)
                passed[0] += 10 + number
                side, other = ("a", "b") if (number + listener) % 4 else ("b", "a")
                heard = {"heard_a": view.needed_a, "heard_b": view.needed_b}
                ballot = votes.Ballot(side, 1 + number % 5, other if number % 3 == 0 else side, 4, "", **heard)
                votes.save(self.database, person, view.key, ballot)
                number += 1
        self.database.now = real  # type: ignore[method-assign]

    def rate(self, listeners: int) -> None:
        """Ratings of MUSHRA or MOS pages; the last listener does not recognise the hidden reference."""
        for listener in range(listeners):
            token = people.invite(self.database, self.project, "annotator", days=1)[0].token
            person = people.join(self.database, token, f"Listener {listener + 1}", True).person
            while isinstance(view := trials.next_trial(self.database, person)[0], trials.TrialView):
                trials.begin_trial(self.database, person, view.key)
                best = 40 if listener == listeners - 1 else 100
                take = 4 if view.kind == "mos" else 60 + listener
                scores = {"reference": best, "take": take, "anchor35": 20}
                answers = {name: scores[one.role] for name, one in view.stimuli.items()}
                ballot = ratings.RatingBallot(dict.fromkeys(trials.KINDS[view.kind].axes, answers), "muffled")
                ratings.save_rating(self.database, person, view.key, ballot)

    def link(self, role: people.Role = "annotator") -> str:
        return f"{self.url}/join#{self._token(role)}"

    def sign_in(self, context: BrowserContext, role: people.Role, name: str) -> None:
        """As the page /join does, in less time."""
        session = people.join(self.database, self._token(role), name, True).session_token
        cookie = cookie_name(self.url, server_id(self.database))
        context.add_cookies([{"name": cookie, "value": session, "url": self.url}])

    def _token(self, role: people.Role) -> str:
        return people.invite(self.database, self.project, role, days=1)[0].token

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._listening.close()
        self.database.close()


def _tone(folder: Path, number: int) -> Path:
    """Each a little different, so that none is taken for another, and swelling, so that its waveform shows."""
    t = np.arange(int(SECONDS * RATE)) / RATE
    wave = 0.2 * np.sin(2 * np.pi * 220 * (1 + number / 4) * t) * (0.4 + 0.6 * np.abs(np.sin(2 * np.pi * t)))
    path = folder / f"tone-{number}.wav"
    soundfile.write(path, wave, RATE)
    return path


class Annotator:
    """Somebody at the annotator's page, in a browser of their own."""

    def __init__(self, context: BrowserContext, arena: Arena, name: str = "Ada"):
        self.context = context
        self.page: Page = context.new_page()
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda line: line.type == "error" and self.errors.append(line.text))
        arena.sign_in(context, "annotator", name)
        self.page.goto(f"{arena.url}/annotate")
        expect(self.page.locator("#read")).to_be_visible()

    def hear_both(self) -> None:
        """Plays each take until it was heard enough."""
        self.hear("a", "b")
        self.page.locator('[data-player="b"] .take__play').click()

    def hear(self, *recordings: str) -> None:
        for side in recordings:
            card = self.page.locator(f'[data-player="{side}"]')
            card.locator(".take__play").click()
            expect(card.locator(".take__heard--enough")).to_be_visible()

    def answer(self, alignment: str = "a", musicality: str = "b") -> None:
        for axis, side in (("alignment", alignment), ("musicality", musicality)):
            self.page.locator(f'input[name="{axis}-choice"][value="{side}"]').check(force=True)

    def vote(self) -> None:
        """A whole vote with the mouse, and on to the next pair."""
        self.page.locator("#read").click()
        self.hear_both()
        self.answer()
        self.page.locator("#submit").click()
        expect(self.page.locator("#read, [data-state]:not([data-state=sending])")).to_be_visible()


@pytest.fixture(scope="module")  # no longer: while Playwright is open, no test in this thread can run an event loop
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE)
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here: install it, or name one in CMI_CHROMIUM")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def player() -> dict[str, bytes]:
    """wavesurfer.js where it can be had; without it the pages fall back on a seek bar and must work all the same."""
    try:
        return read_player()
    except InputError:
        return {}


@pytest.fixture
def make_arena(tmp_path: Path, player: dict[str, bytes]) -> Iterator[Callable[..., Arena]]:
    made: list[Arena] = []

    def make(player: dict[str, bytes] = player, kind: str = "pairs", **settings: object) -> Arena:
        made.append(Arena(tmp_path, player, settings, kind))
        return made[-1]

    yield make
    for arena in made:
        arena.stop()


@pytest.fixture
def arena(make_arena: Callable[..., Arena]) -> Arena:
    return make_arena()


@pytest.fixture
def new_context(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    contexts: list[BrowserContext] = []

    def new(**options: object) -> BrowserContext:
        defaults = {"viewport": {"width": 1100, "height": 900}, "locale": "en-GB", "reduced_motion": "reduce"}
        contexts.append(browser.new_context(**(defaults | options)))
        contexts[-1].set_default_timeout(PATIENCE)
        return contexts[-1]

    yield new
    for context in contexts:
        context.close()


@pytest.fixture
def annotator(arena: Arena, new_context: Callable[..., BrowserContext]) -> Annotator:
    return Annotator(new_context(), arena)


@pytest.fixture
def join(new_context: Callable[..., BrowserContext]) -> Callable[..., Annotator]:
    """join(arena, name, **context options): another annotator."""

    def one(arena: Arena, name: str = "Ada", **options: object) -> Annotator:
        return Annotator(new_context(**options), arena, name)

    return one


@pytest.fixture
def unworded() -> Callable[[Page], list[str]]:
    """The texts and labels on a page that are keys of words/*.json and not words: there should be none."""
    script = """() => [...document.querySelectorAll("[data-said]")]
      .flatMap((one) => [one.childElementCount ? "" : one.textContent, one.getAttribute("aria-label") ?? "", one.title])
      .filter((text) => /^[a-z_-]+(\\.[a-z0-9_-]+)+$/.test(text))"""
    return lambda page: page.evaluate(script)


@pytest.fixture
def screenshot() -> Callable[[Page, str], None]:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)

    def take(page: Page, name: str) -> None:
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)

    return take


@pytest.fixture(scope="session")
def attack() -> str:
    """Text that would be a script if a page took it for HTML; the study's first prompt is it."""
    return ATTACK


@pytest.fixture(scope="session")
def open_details() -> Callable[[Page], None]:
    """Opens all that a page has folded away."""
    script = "parts => parts.forEach((part) => (part.open = true))"
    return lambda page: page.locator("details").evaluate_all(script)


@pytest.fixture
def open_dashboard(new_context: Callable[..., BrowserContext]) -> Callable[..., Page]:
    """open_dashboard(arena, role, **context options): the overview, with its numbers."""

    def open_(arena: Arena, role: people.Role = "owner", **options: object) -> Page:
        context = new_context(**options)
        arena.sign_in(context, role, "Olga")
        page = context.new_page()
        page.goto(f"{arena.url}/owner")
        expect(page.locator("[data-updated]")).not_to_be_empty()
        return page

    return open_
