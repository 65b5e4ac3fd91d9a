"""Database URLs as they may be shown: without the passwords that are in them."""

import re

from sqlalchemy.engine import URL

HIDDEN = "***"
_SECRETS = ("password", "sslpassword")  # of a URL's query
_IN_TEXT = (
    (re.compile(r"([?&\s](?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*'|[^&\s'\"]+)", re.IGNORECASE), rf"\g<1>{HIDDEN}"),
    (re.compile(r"(:/+[^:/@\s]*:)[^/\s]*(?=@)"), rf"\g<1>{HIDDEN}"),
)


def shown_url(url: URL) -> str:
    """For messages: an SQLite file's path, or the URL without its password."""
    if url.drivername == "sqlite":
        return without_passwords(str(url.database))  # somebody may have mistyped a URL
    hidden = {name: HIDDEN for name in url.query if name.lower() in _SECRETS}
    return without_passwords(url.update_query_dict(hidden).render_as_string(hide_password=True))


def without_passwords(text: str) -> str:
    """Text with the passwords hidden that stand in it as they do in URLs and in a driver's connection strings.

    >>> without_passwords("postgres:/ann:s3cret@host/arena?password=s3cret&x=1 failed")
    'postgres:/ann:***@host/arena?password=***&x=1 failed'
    """
    for pattern, replacement in _IN_TEXT:
        text = pattern.sub(replacement, text)
    return text
