"""Run an arena server.

It serves on the loopback interface. Other interfaces need a public https URL of a reverse proxy that terminates TLS,
because anyone on the network could read cookies and links over http. The demonstration is served on loopback only.
"""

import logging
import socket
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvicorn

from cmi._util.errors import InputError
from cmi._util.printable import printable
from cmi._util.web_requests import LOOPBACK_HOSTS, host_name
from cmi._util.web_server import is_loopback, listen, local_url, make_server, start_logging, stopped_by_sigterm
from cmi.arena.audio import sounds
from cmi.arena.exchange.demo import demo_project
from cmi.arena.store import people, projects
from cmi.arena.store.database import Database, open_database
from cmi.arena.store.database_url import parse_url
from cmi.arena.web.app import create_app
from cmi.arena.web.limits import SharedState
from cmi.arena.web.processes import run_processes
from cmi.arena.web.routes.pages import read_player
from cmi.arena.web.security import normal_url
from cmi.arena.web.state import ServerSettings

OWNER_DAYS = 7.0  # validity of the printed links
FIRST_TITLE = "First study"


@stopped_by_sigterm()
def serve(
    db: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8008,
    public_url: str | None = None,
    demo: bool = False,
    folder: Path | None = None,
    log: bool = False,
    open_browser: bool = False,
    processes: int = 1,
) -> None:
    """Open or create the database `db`, print the first links, and serve until stopped.

    Uploads go to `folder`: by default beside an SQLite file, else in the cache folder.
    """
    check_address(host, public_url, demo)
    if processes > 1 and parse_url(db).drivername == "sqlite":
        raise InputError(
            f"--processes {processes}: SQLite allows one writer at a time, so more processes would not be faster; "
            "use --db postgresql://…, or leave out --processes"
        )
    database = open_database(db)
    try:
        # a server started in the background, with interrupts ignored, stops without raising
        with suppress(KeyboardInterrupt), listen(host, port) as listening:
            url = normal_url(public_url or local_url(host, listening.getsockname()[1]))
            folder = folder or sounds.sounds_folder(db)
            settings: dict[str, Any] = {"public_url": url, "folder": folder, "player": _read_player()}
            if processes == 1:
                server = _server(database, ServerSettings(**settings), log)
            projects.set_address(database, url)
            _show_links(database, url, demo, open_browser)
            if processes == 1:
                server.run(sockets=[listening])
            else:
                database.close()
                run_processes(processes, _serve_in_process, db, settings, log, listening, processes)
        print("The arena is closed.", flush=True)
    finally:
        database.close()


@stopped_by_sigterm()
def _serve_in_process(
    shared: SharedState, db: str, settings: dict[str, Any], log: bool, listening: socket.socket, processes: int
) -> None:
    database = open_database(db, processes)
    try:
        with suppress(KeyboardInterrupt):
            _server(database, ServerSettings(**settings, shared=shared), log).run(sockets=[listening])
    finally:
        database.close()


def check_address(host: str, public_url: str | None, demo: bool) -> None:
    """InputError for an address that would expose sessions or the demonstration to others."""
    if public_url is not None:
        _check_public_url(public_url)
    if is_loopback(host) and (public_url is None or not demo):
        return
    if demo:
        raise InputError("--demo serves this machine only: leave out --host and --public-url")
    if public_url is None:
        raise InputError(
            f"--host {host} lets other machines in: give --public-url https://..., the address under which a reverse "
            "proxy with a certificate serves it, or leave --host out"
        )


def _check_public_url(public_url: str) -> None:
    try:
        parts = urlsplit(public_url)
        normal_url(public_url)
    except ValueError as error:  # an invalid port or host
        raise InputError(f"--public-url {public_url}: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or "@" in parts.netloc:
        raise InputError(f"--public-url {public_url}: expected https://host, without a path or a user")
    if parts.query or parts.fragment:
        raise InputError(f"--public-url {public_url}: expected https://host, without a query or a fragment")
    if parts.scheme == "http" and host_name(parts.netloc) not in LOOPBACK_HOSTS:
        raise InputError(f"--public-url {public_url}: others could read the sessions over http; use https")


def _show_links(database: Database, url: str, demo: bool, open_browser: bool) -> None:
    """Print an owner's link for each project without an active owner, and a link to vote in the demonstration."""
    shown, lost = None, 0
    if demo:
        print("Generating music for the demo (some seconds, the first time only) ...", flush=True)
        project = demo_project(database)
        shown = people.invite(database, project, "annotator", OWNER_DAYS)[0].link(url)
        print(f"Vote in the demo:  {shown}", flush=True)
    elif not projects.list_all(database):
        projects.create(database, FIRST_TITLE)
    for project_row in projects.list_all(database):
        if not people.has_owner(database, project_row.id):
            link = people.invite(database, project_row.id, "owner", OWNER_DAYS)[0].link(url)
            print(f"Own '{printable(project_row.title)}':  {link}", flush=True)
            shown = shown or link
        lost += len(sounds.troubles(database, project_row.id))
    if lost:
        print(f"{lost} recordings are missing or have changed; `cmi arena check` lists them.", flush=True)
    print(f"The arena is open at {url} (stop it with Ctrl-C).", flush=True)
    if open_browser:
        webbrowser.open(shown or url)


def _server(database: Database, settings: ServerSettings, log: bool) -> uvicorn.Server:
    start_logging("cmi.arena.access", requests=log)
    app = create_app(database, settings)
    app.state.arena.uploads.claim()
    return make_server(app)


def _read_player() -> dict[str, bytes]:
    try:
        return read_player()
    except InputError as error:
        logging.getLogger("cmi.arena").warning("the waveform player is not available, using plain waveforms: %s", error)
        return {}
