import pytest

from cmi._util.web_requests import host_name
from cmi.arena.web import security


@pytest.mark.parametrize(
    ("headers", "own"),
    [
        ({"origin": "https://arena.example"}, True),
        ({"origin": "https://arena.example", "sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "same-origin"}, True),
        ({}, False),
        ({"origin": "null"}, False),
        ({"origin": "https://evil.example"}, False),
        ({"origin": "http://arena.example"}, False),
        ({"origin": "https://arena.example:444"}, False),
        ({"origin": "https://arena.example.evil.example"}, False),
        ({"origin": "https://arena.example", "sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "same-site"}, False),
        ({"sec-fetch-site": "none"}, False),
    ],
)
def test_only_our_own_pages_may_change_things(headers, own):
    assert security.is_own_origin(headers, security.own_origins("https://arena.example")) is own


def test_on_this_machine_every_loopback_name_is_ours_at_our_port_only():
    origins = security.own_origins("http://127.0.0.1:8008")
    assert {"http://127.0.0.1:8008", "http://localhost:8008", "http://[::1]:8008"} == origins


@pytest.mark.parametrize(
    ("public_url", "origin", "host"),
    [
        ("https://arena.example:443", "https://arena.example", "arena.example"),
        ("HTTPS://Arena.Example:443/", "https://arena.example", "arena.example:443"),
        ("https://bücher.example", "https://xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("https://BÜCHER.example:8443", "https://xn--bcher-kva.example:8443", "xn--bcher-kva.example:8443"),
        ("https://straße.example", "https://xn--strae-oqa.example", "xn--strae-oqa.example"),
        ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("http://localhost:80", "http://localhost", "localhost"),
        ("http://[::1]:80", "http://[::1]", "[::1]"),
    ],
)
def test_an_address_is_ours_however_it_was_written(public_url, origin, host):
    """Browsers leave the scheme's own port out, and send hosts in lower case and Punycode."""
    assert security.is_own_origin({"origin": origin}, security.own_origins(public_url))
    assert host_name(host) in security.own_hosts(public_url)
    assert not security.is_own_origin({"origin": f"{origin}.evil.example"}, security.own_origins(public_url))


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("Arena.Example:443", "arena.example"),
        ("127.0.0.1:8008", "127.0.0.1"),
        ("[::1]:8008", "[::1]"),
        ("[::1", ""),
        ("", ""),
        ("localhost:evil.example", "localhost"),
    ],
)
def test_host_names_are_read_without_their_port(host, name):
    assert host_name(host) == name


def test_hosts_are_the_public_one_and_loopback():
    hosts = security.own_hosts("https://arena.example/")
    assert "arena.example" in hosts
    assert "localhost" in hosts
    assert "evil.example" not in hosts
    assert "" not in hosts


def test_secrets_are_compared_whole():
    assert security.equal("abc", "abc")
    assert not security.equal("abcd", "abc")
    assert not security.equal("", "abc")
    assert not security.equal(None, "abc")
    assert not security.equal("äbc", "abc")


def test_the_policy_lets_no_inline_script_in():
    policy = dict(part.split(" ", 1) for part in security.CONTENT_SECURITY_POLICY.split("; "))
    assert policy["script-src"] == "'self'"
    assert policy["default-src"] == "'none'"
    assert "unsafe" not in security.CONTENT_SECURITY_POLICY
