"""What the arena says no to: one sentence for people, and a kind that the web page can tell apart."""

from cmi._util.errors import InputError


class NotFound(InputError):
    """Nothing of that id, or nothing that the asker may see: HTTP 404."""


class Refused(InputError):
    """Understood, and not done: HTTP 403 or 409. `code` is one word that stays the same when the sentence changes.

    invite      unknown, used, expired or revoked: the same sentence for all, so that nothing can be probed
    consent     the project's consent text has not been agreed to
    role        the person's role may not do that
    begin       the view has not been begun, so that the takes were never shown
    heard       a take has not been heard for long enough
    ballot      a choice that is not a or b, a confidence that is not 1 to 5, or feedback that is too long
    paused, closed    the project or the person is
    final       the vote was corrected often enough, or is too old to be corrected
    skip        nothing is wrong with the pair, so that it is not to be skipped
    last owner  nobody but this person can run the study
    withdrawn   the person has withdrawn from the study
    """

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code

    def __reduce__(self) -> tuple[type["Refused"], tuple[str, str]]:
        return Refused, (self.code, str(self))


class Unavailable(InputError):
    """The database can't be used just now: locked, full, damaged or out of reach: HTTP 503."""


class DiskFull(Unavailable):
    """There is no room for what was to be written, and none of it was: HTTP 503."""
