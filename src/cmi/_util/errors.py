"""Errors that a user can act on: one sentence that says where, what and what now."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

LONGEST_REASON = 300  # characters


class InputError(Exception):
    """Bad input. The command line prints the sentence and exits with code 2."""


class MissingExtra(InputError):
    """An optional dependency is not installed. The sentence says how to install it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the {extra} extra: pip install 'cmi[{extra}]'")
        self.what = what
        self.extra = extra

    def __reduce__(self) -> tuple[type["MissingExtra"], tuple[str, str]]:
        return MissingExtra, (self.what, self.extra)  # worker processes pickle it


class HttpRefusal(InputError):
    """A request that is not served: a stable `code` for programs, a sentence for people, `status` and `headers`."""

    def __init__(self, code: str, sentence: str, status: int, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.code = code
        self.status = status
        self.headers = headers

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), (self.code, str(self), self.status, self.headers)


@contextmanager
def require_extra(what: str, extra: str) -> Iterator[None]:
    """Import what an extra installs inside the block; MissingExtra if it is not there."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtra(what, extra) from error


def reason_of(error: BaseException) -> str:
    """Return what a library's error says, on one line; the name of its type if it says nothing."""
    return " ".join(str(error).split())[:LONGEST_REASON] or type(error).__name__
