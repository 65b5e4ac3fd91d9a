"""Refused requests: a status, a code for the page and a sentence for the person."""

from starlette.responses import JSONResponse


class Refusal(Exception):
    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers

    def response(self) -> JSONResponse:
        return JSONResponse({"code": self.code, "message": self.message}, self.status, self.headers)


def not_found() -> Refusal:
    return Refusal(404, "not found", "There is nothing under this name.")


def too_large(most_bytes: int) -> Refusal:
    return Refusal(413, "too large", f"This is larger than {most_bytes:,} bytes, the maximum.", {"connection": "close"})


def too_slow() -> Refusal:
    return Refusal(408, "too slow", "The request took too long to arrive; try again.", {"connection": "close"})


def too_often(seconds: int) -> Refusal:
    message = f"Too many requests: try again in {seconds} s."
    return Refusal(429, "rate", message, {"retry-after": str(seconds)})
