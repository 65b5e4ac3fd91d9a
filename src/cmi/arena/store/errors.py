"""The arena's errors: a sentence for people, and a kind or code for the web page."""

from cmi._util.errors import InputError


class NotFound(InputError):
    """No such id, or none that the caller may see: HTTP 404."""


class Refused(InputError):
    """Not allowed now: HTTP 403 or 409. `code` is stable, the sentence may change.

    invite      unknown, used, expired or revoked: the same sentence for all, so nothing can be probed
    consent     the project's consent text has not been agreed to
    role        the person's role may not do that
    begin       the view has not been begun, so the takes were never shown
    heard       a take has not been heard for long enough
    ballot      a choice that is not a or b, a confidence that is not 1 to 5, or feedback that is too long
    paused, closed    the project or the person is
    final       the vote was corrected too often, or is too old to be corrected
    skip        nothing is wrong with the pair, so it cannot be skipped
    last owner  nobody but this person can run the study
    withdrawn   the person has withdrawn from the study
    """

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code

    def __reduce__(self) -> tuple[type["Refused"], tuple[str, str]]:
        return Refused, (self.code, str(self))


class Unavailable(InputError):
    """The database is locked, full, damaged or unreachable: HTTP 503."""


class DiskFull(Unavailable):
    """The disk is full and nothing was written: HTTP 503."""
