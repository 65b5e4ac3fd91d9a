"""The server as a process: where it may listen, what it prints, how it stops."""

import re
import signal
import socket
import urllib.request

import httpx
import pytest

from cmi._util.errors import InputError
from cmi._util.web_server import is_loopback, local_url
from cmi.arena.web.serve import check_address, serve

PATIENCE = 300.0  # seconds: only a server that hangs takes as long, however busy the machine is


@pytest.mark.parametrize(
    ("host", "public_url", "demo"),
    [
        ("127.0.0.1", None, False),
        ("127.0.0.1", None, True),
        ("::1", None, False),
        ("localhost", None, True),
        ("127.0.0.1", "https://arena.example", False),
        ("0.0.0.0", "https://arena.example", False),
        ("0.0.0.0", "https://arena.example:8443/", False),
        ("0.0.0.0", "https://arena.example:443", False),
        ("0.0.0.0", "https://bücher.example", False),
        ("127.0.0.1", "http://localhost:9000", False),
    ],
)
def test_addresses_that_may_be_served(host, public_url, demo):
    check_address(host, public_url, demo)


@pytest.mark.parametrize(
    ("host", "public_url", "demo", "says"),
    [
        ("0.0.0.0", None, False, "give --public-url https://"),
        ("::", None, False, "give --public-url https://"),
        ("192.168.1.5", None, False, "give --public-url https://"),
        ("myhost", None, False, "give --public-url https://"),
        ("0.0.0.0", "http://arena.example", False, "use https"),
        ("127.0.0.1", "http://arena.example", False, "use https"),
        ("0.0.0.0", None, True, "--demo serves this machine only"),
        ("0.0.0.0", "https://arena.example", True, "--demo serves this machine only"),
        ("127.0.0.1", "https://arena.example", True, "--demo serves this machine only"),
        ("0.0.0.0", "ftp://arena.example", False, "expected https://host"),
        ("0.0.0.0", "arena.example", False, "expected https://host"),
        ("0.0.0.0", "https://user:secret@arena.example", False, "expected https://host"),
        ("0.0.0.0", "https://arena.example/path", False, "expected https://host"),
        ("0.0.0.0", "https://arena.example?x=1", False, "without a query"),
        ("0.0.0.0", "https://arena.example:port", False, "--public-url"),
        ("0.0.0.0", "https://[", False, "--public-url"),
        ("0.0.0.0", "https://bü cher.example", False, "--public-url"),
    ],
)
def test_addresses_that_would_let_others_read_along_are_refused(host, public_url, demo, says, tmp_path):
    with pytest.raises(InputError, match=re.escape(says)) as caught:
        serve(str(tmp_path / "arena.db"), host=host, public_url=public_url, demo=demo)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_loopback_is_what_only_this_machine_reaches():
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost", "LOCALHOST")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "localhost.evil.example", "")))
    assert local_url("::1", 80) == "http://[::1]:80"


def test_a_port_that_is_taken_is_named(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"127.0.0.1 port {port}: .*; choose another with --port"):
            serve(str(tmp_path / "arena.db"), port=port)


@pytest.mark.parametrize("before", ["trap - INT", "trap '' INT"], ids=["in front", "in the background"])
def test_from_the_first_start_to_the_owners_page_and_a_clean_stop(tmp_path, before, running):
    """A shell that starts something in the background has it ignore interrupts; Python then raises none."""
    path = tmp_path / "arena.db"
    with running(path, before, log=True) as process:
        own, opened = process.stdout.readline(), process.stdout.readline()
        url, token = re.search(r"(http://127\.0\.0\.1:\d+)/join#(\S+)", own).groups()
        assert url in opened
        with httpx.Client(base_url=url, headers={"origin": url}, timeout=PATIENCE) as client:
            joined = client.post("/api/join", json={"token": token, "consent": True})
            assert joined.status_code == 200, joined.text
            assert client.get("/api/owner/project").json()["title"] == "First study"
            assert "server" not in joined.headers
            assert client.get(f"/join?token={token}").status_code == 200
        assert urllib.request.urlopen(f"{url}/healthz", timeout=PATIENCE).status == 200
        process.send_signal(signal.SIGINT)
        said, logged = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, logged
    assert "The arena is closed." in said
    assert "Traceback" not in logged
    assert "POST /api/join 200" in logged
    assert token not in said + logged
    assert "127.0.0.1" not in logged
    with running(path) as again:
        assert "The arena is open" in again.stdout.readline()  # it has an owner: no further link
        again.send_signal(signal.SIGTERM)
        again.wait(timeout=PATIENCE)
