"""What people write never reaches a terminal or a log as anything but text."""

import logging
import re
import socket

import pytest

from cmi._util.web_server import PrintableFormatter

NASTY = "\x1b[2J\x1b]0;owned\x07\n2026-01-01 POST /api/join 200 1 ms\r\x9b31m\u202e"
UNSAFE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]")


def formatted(message, *arguments, error=None) -> str:
    info = None if error is None else (type(error), error, None)
    record = logging.LogRecord("cmi.arena", logging.ERROR, "", 0, message, arguments, info)
    return PrintableFormatter("%(asctime)s %(message)s").format(record)


def test_an_entry_of_the_log_is_one_line():
    line = formatted("%s failed", NASTY)
    assert not UNSAFE.search(line) and "\n" not in line
    assert r"\x1b[2J" in line


def test_an_error_in_the_log_forges_no_entry():
    text = formatted("it failed", error=ValueError(NASTY))
    assert not UNSAFE.search(text)
    first, *rest = text.split("\n")
    assert first.endswith("it failed") and rest and all(line.startswith("  | ") for line in rest)


@pytest.mark.parametrize("path", ["/%1b[2J%0aFAKE%20ENTRY%9b", "/api/%e2%80%aeowner", "/media/%0d%0aFAKE"])
def test_a_request_line_is_logged_as_text(client, path, caplog):
    with caplog.at_level(logging.INFO, "cmi.arena.access"):
        client.get(path)
    formatter = PrintableFormatter("%(message)s")
    lines = [formatter.format(record) for record in caplog.records if record.name.startswith("cmi.arena")]
    assert lines and not any(UNSAFE.search(line) or "\n" in line for line in lines)


def test_the_server_logs_a_raw_request_line_as_text(tmp_path, running):
    with running(tmp_path / "arena.db", log=True) as process:
        opened = ""
        while "The arena is open" not in opened:
            opened = process.stdout.readline()
        port = int(re.search(r":(\d+)", opened).group(1))
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"GET /%1b[2J%0aFAKE HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            while connection.recv(4096):
                pass
        process.terminate()
        _, logged = process.communicate()
    assert r"GET /\x1b[2J\nFAKE 404" in logged
    assert not UNSAFE.search(logged)
