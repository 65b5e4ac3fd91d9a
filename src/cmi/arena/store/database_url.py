"""The URL or path of an arena's database: parse it, and show it without its password."""

import re

from sqlalchemy import make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError

from cmi._util.errors import InputError

_POSTGRES = "postgresql+psycopg"
_DRIVERS = {"sqlite": "sqlite", "postgresql": _POSTGRES, "postgres": _POSTGRES, _POSTGRES: _POSTGRES}
_HIDDEN = "***"
_URL_SECRETS = ("password", "sslpassword")  # of a URL's query
_PASSWORDS = (
    (re.compile(r"([?&\s](?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*'|[^&\s'\"]+)", re.IGNORECASE), rf"\g<1>{_HIDDEN}"),
    (re.compile(r"(:/+[^:/@\s]*:)[^/\s]*(?=@)"), rf"\g<1>{_HIDDEN}"),
)


def parse_url(text: str) -> URL:
    """Parse a URL and add its driver; text without a scheme is the path of an SQLite file."""
    scheme, _, rest = text.partition(":")
    if "://" not in text and not (scheme in _DRIVERS and rest):  # a mistyped URL must not become a path with a password
        return URL.create("sqlite", database=text)
    try:
        url = make_url(text)
        driver = _DRIVERS[url.drivername]
    except (ArgumentError, KeyError, ValueError) as error:
        raise InputError(f"{scheme}://…: expected a path, sqlite:///path or postgresql://user@host/database") from error
    return url.set(drivername=driver)


def shown_url(url: URL) -> str:
    """For messages: an SQLite file's path, or the URL without its password."""
    if url.drivername == "sqlite":
        return without_passwords(str(url.database))  # it may be a mistyped URL
    hidden = {name: _HIDDEN for name in url.query if name.lower() in _URL_SECRETS}
    return without_passwords(url.update_query_dict(hidden).render_as_string(hide_password=True))


def without_passwords(text: str) -> str:
    """Hide passwords in a text that contains URLs or connection strings.

    >>> without_passwords("postgres:/ann:s3cret@host/arena?password=s3cret&x=1 failed")
    'postgres:/ann:***@host/arena?password=***&x=1 failed'
    """
    for pattern, replacement in _PASSWORDS:
        text = pattern.sub(replacement, text)
    return text
