"""The arena's errors: a sentence for people, and a kind or code for the web page."""

from collections.abc import Mapping

from cmi._util.errors import HttpRefusal, InputError

STATUS = {"role": 403, "withdrawn": 403, "consent": 403, "ballot": 422}  # of refusals by their code; 409 otherwise


class NotFound(InputError):
    """No such id, or none that the caller may see: HTTP 404."""


class Refused(HttpRefusal):
    """Not allowed now. `code` is stable, the sentence may change; `status` and `headers` are for HTTP.

    invite      unknown, used, expired or revoked: the same sentence for all, so nothing can be probed
    consent     the project's consent text has not been agreed to
    role        the person's role may not do that
    begin       the view has not been opened, so the takes were never shown
    heard       a take has not been heard for long enough
    ballot      a choice that is not a or b, a confidence that is not 1 to 5, or feedback that is too long
    paused, closed    the project or the person is
    final       the vote was corrected too often, or is too old to be corrected
    skip        nothing is wrong with the pair, so it cannot be skipped
    last owner  nobody but this person can run the study
    withdrawn   the person has withdrawn from the study
    sound       it cannot be played, or an upload cannot be decoded
    study       a recruiting platform's link leads to no study that takes people
    participant    such a link has no id of a participant, or no signature
    place       the participant's place is taken by somebody else, as far as we can tell
    check       there is no sound check to start, or one has to be passed first

    and others that only requests can cause.
    """

    def __init__(
        self, code: str, sentence: str, status: int | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(code, sentence, status or STATUS.get(code, 409), headers)


class Unavailable(InputError):
    """The database is locked, full, damaged or unreachable: HTTP 503."""


class DiskFull(Unavailable):
    """The disk is full and nothing was written: HTTP 503."""


class Overtaken(Exception):
    """Another transaction has changed what this one read: nothing was written."""
