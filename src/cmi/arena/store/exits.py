"""Exits: where a participant goes at the end, and the completion code.

An exit is an address, or only a code. In an address, {NAME} stands for a parameter that came with the participant's
link, and the value of `cc` is the code. A code alone becomes Prolific's address if participants come from there.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple
from urllib.parse import parse_qs, quote, urlsplit

from pydantic import AfterValidator

Outcome = Literal["complete", "screened out", "returned"]

PROLIFIC = "PROLIFIC_PID"  # the parameter that Prolific adds to a link
PROLIFIC_EXIT = "https://app.prolific.com/submissions/complete?cc="
STUDY, SIGNATURE = "study", "signature"  # parameters of our own
LONGEST_ADDRESS = 2000  # characters
MOST_PARAMETERS = 20
_CODE = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
_GAP = re.compile(r"\{([A-Za-z0-9_.-]{1,64})\}", re.ASCII)


class Exit(NamedTuple):
    """Either may be missing."""

    url: str | None
    code: str | None


def read_exit(setting: str, parameters: Mapping[str, str], participant: str) -> Exit:
    """The exit that a setting stands for; `participant` is the name of the parameter that names the participant.

    >>> read_exit("C1ABC", {}, "PROLIFIC_PID")
    Exit(url='https://app.prolific.com/submissions/complete?cc=C1ABC', code='C1ABC')
    >>> read_exit("https://pool.example/credit?id={id}", {"id": "a b"}, "id")
    Exit(url='https://pool.example/credit?id=a%20b', code=None)
    """
    if not setting:
        return Exit(None, None)
    if _CODE.fullmatch(setting):
        return Exit(PROLIFIC_EXIT + setting if participant == PROLIFIC else None, setting)
    codes = parse_qs(urlsplit(setting).query).get("cc")
    return Exit(_GAP.sub(lambda gap: quote(parameters.get(gap[1], ""), safe=""), setting), codes[0] if codes else None)


def parameter_names(setting: str) -> list[str]:
    """The names in a setting with commas."""
    return [name for part in setting.split(",") if (name := part.strip())]


def _check_exit(setting: str) -> str:
    setting = setting.strip()
    if not setting or _CODE.fullmatch(setting):
        return setting
    expected = "expected a code of letters and digits, or https://host/..., with parameters as {NAME} after the host"
    try:
        parts = urlsplit(setting)
        _ = parts.port
    except ValueError as error:
        raise ValueError(f"is not an address ({error}), {expected}") from error
    is_plain = setting.isascii() and setting.isprintable() and not re.search(r"[\s\\<>\"]", setting)
    is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    if len(setting) > LONGEST_ADDRESS or not is_plain or not is_web or "{" in parts.netloc:
        raise ValueError(f"is not an address, {expected}")
    return setting


def _check_name(name: str) -> str:
    if name and (not _NAME.fullmatch(name) or name in (STUDY, SIGNATURE)):
        raise ValueError(
            f"is {name[:64]!r}, expected the name of a parameter: up to 64 letters, digits, _, . and -, and neither "
            f"{STUDY} nor {SIGNATURE}, which are the arena's own"
        )
    return name


def _check_names(setting: str) -> str:
    names = [_check_name(name) for name in parameter_names(setting)]
    if len(names) > MOST_PARAMETERS:
        raise ValueError(f"has {len(names)} names, expected {MOST_PARAMETERS} at most")
    return ",".join(dict.fromkeys(names))


ExitAddress = Annotated[str, AfterValidator(_check_exit)]
ParameterName = Annotated[str, AfterValidator(_check_name)]
ParameterNames = Annotated[str, AfterValidator(_check_names)]
