"""A study voted on in Firefox, by mouse and by keyboard, with reloads, double clicks and two tabs.

Firefox is driven by its own protocol, Marionette (WebDriver's commands as JSON over a socket), so nothing else has to
be installed. Set CMI_FIREFOX to a Firefox that is not on the PATH. Without a sound device, Firefox stops an audio file
after half a second, so PulseAudio provides one that nobody hears.
"""

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cmi.arena.store import people, votes

PULSEAUDIO = shutil.which("pulseaudio")
FIREFOX = os.environ.get("CMI_FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")
PATIENCE = 60.0  # seconds that a condition may take to come true: a busy machine is no failure
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # what WebDriver calls a reference to an element
ENTER, ESCAPE, SHIFT = "\ue007", "\ue00c", "\ue008"
PREFERENCES = {"marionette.port": 0, "browser.shell.checkDefaultBrowser": False, "app.update.enabled": False}


class Firefox:
    """A headless Firefox with a profile and a sound device of its own; it keeps its autoplay policy."""

    def __init__(self, folder: Path) -> None:
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in PREFERENCES.items()]
        (folder / "user.js").write_text("\n".join(lines))
        sound = folder / "sound"
        native = f"module-native-protocol-unix socket={sound} auth-anonymous=1"
        pulse = [str(PULSEAUDIO), "-n", "--daemonize=no", "--use-pid-file=no", "--exit-idle-time=-1"]
        browse = [str(FIREFOX), "--headless", "--marionette", "--no-remote", "--profile", str(folder)]
        self._environment = {**os.environ, "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)}
        self._environment["PULSE_SERVER"] = f"unix:{sound}"
        self._sound = self._start([*pulse, "-L", native, "-L", "module-null-sink"])
        self._process = self._start(browse)
        try:
            self._socket = self._connect(folder / "MarionetteActivePort")
            self._stream = self._socket.makefile("rb")
            self._read()  # its greeting
            self.send("NewSession", capabilities={"alwaysMatch": {"unhandledPromptBehavior": "accept"}})
        except BaseException:
            self.stop()
            raise

    def _start(self, command: list[str]) -> subprocess.Popen[bytes]:
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, env=self._environment, stdout=quiet, stderr=quiet)

    def _connect(self, port: Path) -> socket.socket:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self._process.poll() is None:
            if port.exists() and port.read_text():
                return socket.create_connection(("127.0.0.1", int(port.read_text())))
            time.sleep(0.1)
        raise RuntimeError(f"{FIREFOX} does not start")

    def _read(self) -> Any:
        length = b""
        while not length.endswith(b":"):
            length += self._stream.read(1)
        return json.loads(self._stream.read(int(length[:-1])))

    def send(self, command: str, **values: Any) -> Any:
        message = json.dumps([0, 1, f"WebDriver:{command}", values])
        self._socket.sendall(f"{len(message.encode())}:{message}".encode())
        _, _, error, answer = self._read()
        if error is not None:
            raise RuntimeError(f"{command}: {error['error']}: {error['message']}")
        return answer["value"] if isinstance(answer, dict) and "value" in answer else answer

    def stop(self) -> None:
        for process in (self._process, self._sound):
            process.terminate()
            process.wait(PATIENCE)

    def run(self, script: str, *values: Any) -> Any:
        return self.send("ExecuteScript", script=script, args=list(values))

    def wait(self, script: str, *values: Any) -> Any:
        """Wait until the script returns something that is true."""
        deadline = time.monotonic() + PATIENCE
        while not (found := self.run(f"return {script}", *values)):
            assert time.monotonic() < deadline, (script, self.run("return document.body.innerText"))
            time.sleep(0.05)
        return found

    def find(self, selector: str) -> dict[str, str]:
        """Wait for an element that can be seen."""
        self.wait("document.querySelector(arguments[0])?.checkVisibility()", selector)
        found: dict[str, str] = self.send("FindElement", using="css selector", value=selector)
        return found

    def click(self, selector: str, times: int = 1) -> None:
        """Move the mouse there and click, without waiting for what a click does."""
        element = self.find(selector)
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        move = {"type": "pointerMove", "duration": 0, "origin": element, "x": 0, "y": 0}
        presses = [{"type": kind, "button": 0} for _ in range(times) for kind in ("pointerDown", "pointerUp")]
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [move, *presses]}
        self.send("PerformActions", actions=[mouse])

    def press(self, keys: str, held: str = "") -> None:
        presses = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        around = [{"type": "keyDown", "value": key} for key in held], [{"type": "keyUp", "value": key} for key in held]
        actions = [*around[0], *presses, *around[1]]
        self.send("PerformActions", actions=[{"type": "key", "id": "keys", "actions": actions}])

    def hear(self, side: str) -> None:
        self.wait(f"document.querySelector('[data-player=\"{side}\"] .take__heard--enough')?.checkVisibility()")


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    if FIREFOX is None:
        pytest.skip("there is no Firefox here: install it, or name one in CMI_FIREFOX")
    if PULSEAUDIO is None:
        pytest.skip("there is no PulseAudio here: Firefox plays nothing without a sound device")
    started = Firefox(tmp_path_factory.mktemp("firefox"))
    yield started
    started.stop()


def test_a_whole_study_in_firefox(make_arena: Callable[..., Any], firefox: Firefox):
    arena = make_arena(quota=4)

    def count() -> int:
        return len(list(votes.counted(arena.database, arena.project)))

    def wait_for(done: int) -> None:
        firefox.wait("document.querySelector('#count')?.textContent.startsWith(arguments[0])", str(done))
        assert count() == done

    firefox.send("Navigate", url=arena.link())
    firefox.click("#name")
    firefox.press("Ada")
    firefox.click("#agree")
    firefox.click("button[type=submit]")
    firefox.click("#read")

    # by mouse: a reload in the middle keeps what was heard, and a double click is one vote
    firefox.click('[data-player="a"] .take__play')
    firefox.hear("a")
    firefox.send("Refresh")
    firefox.click('[data-player="b"] .take__play')
    firefox.hear("b")
    firefox.hear("a")
    for axis, side in (("alignment", "a"), ("musicality", "b")):
        firefox.click(f'label:has(input[name="{axis}-choice"][value="{side}"])')
    firefox.click("#submit", times=2)
    wait_for(1)

    # by keyboard alone
    firefox.find("#read")
    firefox.press(ENTER)
    firefox.find('[data-player="a"] .take__play')
    firefox.press(" ")
    firefox.hear("a")
    firefox.press("b")
    firefox.hear("b")
    firefox.press(" ")
    firefox.press("b", held=SHIFT)
    firefox.press("4" + ENTER)
    firefox.press("a", held=SHIFT)
    firefox.press("2f")
    firefox.press("a b 1 5 ? r l" + ESCAPE)
    firefox.press(ENTER)
    wait_for(2)
    latest = list(votes.counted(arena.database, arena.project))[-1]
    assert (latest.alignment_confidence, latest.musicality_confidence) == (4, 2)
    assert (latest.alignment == "a") == latest.swapped

    # two tabs have the same pair; whichever comes second neither doubles nor loses the vote
    firefox.click("#read")
    first = firefox.send("GetWindowHandle")
    second = firefox.send("NewWindow", type="tab", focus=True)["handle"]
    for tab in (second, first):
        firefox.send("SwitchToWindow", handle=tab)
        if tab == second:
            firefox.send("Navigate", url=f"{arena.url}/annotate")
        for side in "ab":
            firefox.click(f'[data-player="{side}"] .take__play')
            firefox.hear(side)
        for axis in ("alignment", "musicality"):
            firefox.click(f'label:has(input[name="{axis}-choice"][value="a"])')
    for tab in (first, second):
        firefox.send("SwitchToWindow", handle=tab)
        firefox.click("#submit")
        firefox.wait("document.querySelector('#count')?.textContent.startsWith('3')")
    assert count() == 3

    # the connection is lost while a vote is on its way: it is sent when the server can be reached again
    firefox.send("CloseWindow")
    firefox.send("SwitchToWindow", handle=first)
    firefox.click("#read")
    for side in "ab":
        firefox.click(f'[data-player="{side}"] .take__play')
        firefox.hear(side)
    for axis in ("alignment", "musicality"):
        firefox.click(f'label:has(input[name="{axis}-choice"][value="b"])')
    firefox.run("window.sent = window.fetch; window.fetch = () => Promise.reject(new TypeError('no network'))")
    firefox.click("#submit")
    firefox.wait("document.querySelector('[data-state]') || document.body.innerText.includes('Thank')")
    assert count() == 3
    firefox.run("window.fetch = window.sent; window.dispatchEvent(new Event('online'))")
    firefox.wait("document.body.innerText.includes('Thank')")
    assert count() == 4
    [person] = [one for one in people.list_people(arena.database, arena.project) if one.role == "annotator"]
    assert (person.name, person.votes) == ("Ada", 4)
