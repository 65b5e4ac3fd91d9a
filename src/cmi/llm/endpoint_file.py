"""Read an endpoint's settings from a TOML file.

    url = "https://example.com/v1"      model = "some-audio-model"      key_env = "EXAMPLE_KEY"
    concurrency = 32                    timeout = 120                   extra = {modalities = ["text"]}
    stream = true
    [sending]                           # format, rate, seconds, megabytes, sound_as
    format = "mp3"
    seconds = 60
    [prices]                            # money for a million tokens
    input = 0.3
    output = 2.5

Names are the fields of Endpoint, Sending and Prices. The key itself stays in the environment.
"""

from dataclasses import dataclass, field
from pathlib import Path

from cmi._util.config import check_config, read_table
from cmi.llm.budget import Prices
from cmi.llm.endpoint import Endpoint, Sending


@dataclass(frozen=True)
class EndpointFile(Endpoint):
    prices: Prices = field(default_factory=Prices)


def read_endpoint(path: Path) -> tuple[Endpoint, Prices]:
    table = read_table(path)
    check_config(table, EndpointFile, str(path))
    # Numbers keep the type they were written in: they are part of the identity of stored answers.
    sending, prices = Sending(**table.pop("sending", {})), Prices(**table.pop("prices", {}))
    return Endpoint(**table, sending=sending), prices
