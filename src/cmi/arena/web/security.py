"""Security checks of requests, and security headers of responses.

Host      a request must name a host of ours, against DNS rebinding.
Origin    a request that changes something must come from our pages, by its Origin or else Sec-Fetch-Site header. With
          neither it is refused: every browser that runs the pages sends one.
CSRF      such a request also carries the session's token in a header, which no other site can read or send.
Cookie    HttpOnly, SameSite=Strict and, over https, Secure with `__Host-`, so no other host of the domain can set it.
          Its name contains the server's id, because browsers share cookies between the ports of a host.
"""

import hmac
from collections.abc import Mapping
from typing import TypeGuard
from urllib.parse import urlsplit

import idna
from starlette.responses import Response

from cmi._util.web_requests import LOOPBACK_HOSTS, host_name

COOKIE = "cmi_arena"  # followed by the id of the server
CSRF_HEADER = "x-csrf-token"
DEFAULT_PORTS = {"http": 80, "https": 443}
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
LONGEST_TOKEN = 128  # characters; ours have 22 to 43
COOKIE_SECONDS = 60 * 24 * 3600  # the store decides when a session ends

# the hash allows the one constant <style> that wavesurfer.js puts into its shadow root
WAVESURFER_STYLE = "'sha256-XGW/cX2BkTPWNNT3NdyASrPEWZfPnKdPJaJ2aN7R+v8='"
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        f"style-src 'self' {WAVESURFER_STYLE}",
        "img-src 'self' data:",
        "media-src 'self' blob:",
        "connect-src 'self'",
        "font-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=(), browsing-topics=()",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
HTTPS_ONLY = {"strict-transport-security": "max-age=31536000"}


def is_https(url: str) -> bool:
    return urlsplit(url).scheme == "https"


def response_headers(public_url: str) -> dict[str, str]:
    return HEADERS | HTTPS_ONLY if is_https(public_url) else dict(HEADERS)


def normal_url(url: str) -> str:
    """Normalize an address as browsers do: host in lower case and Punycode, no default port.

    ValueError for an invalid host or port.

    >>> normal_url("https://Bücher.example:443/")
    'https://xn--bcher-kva.example'
    """
    parts = urlsplit(url)
    host, scheme = parts.hostname or "", parts.scheme.lower()
    if ":" in host:
        host = f"[{host}]"
    elif not host.isascii():
        host = idna.encode(host, uts46=True).decode("ascii")
    port = "" if parts.port in (None, DEFAULT_PORTS.get(scheme)) else f":{parts.port}"
    return f"{scheme}://{host}{port}"


def own_hosts(public_url: str) -> frozenset[str]:
    """Allowed host names: the public one and the loopback names."""
    return frozenset({*LOOPBACK_HOSTS, host_name(urlsplit(normal_url(public_url)).netloc)})


def own_origins(public_url: str) -> frozenset[str]:
    """Origins of our pages; on the loopback interface, all of its names."""
    origin = normal_url(public_url)
    parts = urlsplit(origin)
    if host_name(parts.netloc) not in LOOPBACK_HOSTS:
        return frozenset({origin})
    port = f":{parts.port}" if parts.port else ""
    return frozenset(f"{parts.scheme}://{host}{port}" for host in LOOPBACK_HOSTS)


def own_address(host: str, public_url: str) -> str:
    """The address for links: that by which the caller reaches us if it is one of ours, else the public one.

    >>> own_address("localhost:8008", "http://127.0.0.1:8008"), own_address("evil.example", "http://127.0.0.1:8008")
    ('http://localhost:8008', 'http://127.0.0.1:8008')
    """
    asked = f"{urlsplit(public_url).scheme}://{host.lower()}"
    return asked if asked in own_origins(public_url) else normal_url(public_url)


def is_own_origin(headers: Mapping[str, str], origins: frozenset[str]) -> bool:
    """Whether a request that would change something comes from one of our pages."""
    site = headers.get("sec-fetch-site")
    if site is not None and site != "same-origin":
        return False
    origin = headers.get("origin")
    return site is not None if origin is None else origin in origins


def equal(given: str | None, known: str) -> bool:
    """Compare secrets in constant time."""
    return given is not None and hmac.compare_digest(given.encode(), known.encode())


def plausible_token(token: str | None) -> TypeGuard[str]:
    """Whether a token is short printable ASCII, and so worth a database lookup."""
    return token is not None and 0 < len(token) <= LONGEST_TOKEN and token.isascii() and token.isprintable()


def cookie_name(public_url: str, server: str) -> str:
    return f"{'__Host-' if is_https(public_url) else ''}{COOKIE}_{server}"


def set_cookie(response: Response, name: str, token: str, public_url: str) -> None:
    secure = is_https(public_url)
    response.set_cookie(name, token, COOKIE_SECONDS, path="/", secure=secure, httponly=True, samesite="strict")


def clear_cookie(response: Response, name: str, public_url: str) -> None:
    response.delete_cookie(name, path="/", secure=is_https(public_url), httponly=True, samesite="strict")
