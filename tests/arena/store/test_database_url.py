"""Passwords in database URLs are in nothing that is printed or logged."""

import pytest
from sqlalchemy.exc import OperationalError

from cmi._util.errors import InputError
from cmi.arena.store.database import open_database, reason
from cmi.arena.store.database_url import parse_url, shown_url, without_passwords

SECRET = "s3cr3t!"
URLS = [
    f"postgresql://ann:{SECRET}@127.0.0.1:1/arena",
    f"postgresql://ann@127.0.0.1:1/arena?password={SECRET}",
    f"postgresql://127.0.0.1:1/arena?user=ann&password={SECRET}&connect_timeout=2",
    f"postgresql://ann:x{SECRET}@127.0.0.1:1/arena?password={SECRET}&sslpassword={SECRET}",
    f"postgresql://127.0.0.1:1/arena?PASSWORD={SECRET}",
    f"postgresql://ann:p%40{SECRET}@127.0.0.1:1/arena",
    f"postgresql://ann@127.0.0.1:port/arena?password={SECRET}",
    f"mysql://ann:{SECRET}@127.0.0.1/arena",
    f"postgres:/ann:{SECRET}@127.0.0.1/arena",
    f"postgresql:ann:{SECRET}@127.0.0.1/arena",
    f"sqlite:////nowhere/at/all?password={SECRET}",
]


@pytest.mark.parametrize("url", URLS)
def test_a_database_that_cannot_be_opened_is_named_without_its_password(url):
    with pytest.raises(InputError) as caught:
        open_database(url)
    assert SECRET not in str(caught.value)
    assert "SECRET" not in str(caught.value).upper().replace(SECRET.upper(), "SECRET")


@pytest.mark.parametrize("url", [url for url in URLS if "127.0.0.1:1/" in url or "sqlite" in url])
def test_the_name_says_where_and_hides_the_password(url):
    shown = shown_url(parse_url(url))
    assert SECRET not in shown and "%21" not in shown
    assert "127.0.0.1" in shown or "nowhere" in shown


@pytest.mark.parametrize(
    "said",
    [
        f'connection to "postgresql://ann:{SECRET}@host/arena" failed',
        f"could not use host=127.0.0.1 password={SECRET} user=ann",
        f"could not use password='a {SECRET}' user=ann",
        f"bad URL postgresql://host/arena?password={SECRET}&sslmode=x",
    ],
)
def test_what_a_driver_says_is_passed_on_without_passwords(said):
    assert SECRET in said and SECRET not in without_passwords(said)
    assert SECRET not in reason(OperationalError("SELECT 1", {}, Exception(said)))
