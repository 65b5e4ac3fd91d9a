"""An endpoint in a file, for whatever an address and a model's name do not say.

    url = "https://example.com/v1"      model = "some-audio-model"      key_env = "EXAMPLE_KEY"
    concurrency = 32                    timeout = 120                   extra = {modalities = ["text"]}
    stream = true
    [sending]                           # format, rate, seconds, megabytes, sound_as
    format = "mp3"
    seconds = 60
    [prices]                            # money for a million tokens
    input = 0.3
    output = 2.5

Names are the fields of Endpoint, Sending and Prices. A key itself has no place in it.
"""

from dataclasses import dataclass, field
from pathlib import Path

from cmi._util.config import check_config, read_table
from cmi.llm.budget import Prices
from cmi.llm.endpoint import Endpoint, Sending


@dataclass(frozen=True)
class EndpointFile(Endpoint):
    """What a file may state."""

    prices: Prices = field(default_factory=Prices)


def read_endpoint(path: Path) -> tuple[Endpoint, Prices]:
    """The endpoint of a file; InputError for what is unknown, missing or of the wrong type."""
    table = read_table(path)
    check_config(table, EndpointFile, str(path))
    # Numbers stay as they are written: they are part of the keys by which earlier answers are found.
    sending, prices = Sending(**table.pop("sending", {})), Prices(**table.pop("prices", {}))
    return Endpoint(**table, sending=sending), prices
