"""Settings of an arena's server."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from cmi.arena.web.rate_limit import Rate

PAGES = Path(__file__).parent / "pages"


class Limits(NamedTuple):
    """Limits per client; a class of thirty behind one address must be able to join and vote."""

    body_bytes: int = 64 * 1024
    body_seconds: float = 15.0
    upload_bytes: int = 50 * 1024 * 1024
    upload_transfer_seconds: float = 300.0
    upload_sound_seconds: float = 600.0
    uploads_at_once: int = 2
    address: Rate = Rate(100, 1000)
    person: Rate = Rate(20, 200)
    sign_in: Rate = Rate(1, 60)
    uploads: Rate = Rate(1, 30)


@dataclass(frozen=True)
class ServerSettings:
    """`public_url` is the address in browsers, `folder` holds uploaded sounds.

    `player` has the files of wavesurfer.js by name; without them the pages fall back on a plain seek bar.
    """

    public_url: str
    folder: Path
    pages: Path = PAGES
    player: Mapping[str, bytes] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
