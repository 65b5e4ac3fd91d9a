"""Music generators: takes for prompts, from the studio, models in this process, worker processes and services.

    class Mine:
        name = "mine"                   # in tables and file names
        version = "1.0"
        accepts = ("text", "lyrics")    # the parts of a prompt that it uses: text, lyrics, reference
        licence = "CC-BY-4.0"           # or the terms that its takes come under
        settings = {"steps": 50}        # recorded with each take

        def generate(self, prompt: Prompt, seed: int, seconds: float | None) -> Waveform: ...

`cmi generate PROMPTS OUT --system my_module:Mine` runs this class. `seconds` is the length that was asked for, or None
for the system's own. It returns a `Waveform`, or a `GeneratedSound` to keep stereo. It may also have

    concurrency   how many calls it takes at once, from threads (1)
    price         what a call costs, in the currency of --max-cost (0); `GeneratedSound.cost` says it more exactly
    keep_in       keep_in(folder) is called once; what it writes there (submitted jobs) survives a kill
    stop_waiting  called after Ctrl-C: `generate` then raises `JobGoesOn` for what a service goes on with
    close         called at the end

Any exception makes the take a failure, which is kept with its reason. A `GenerationError` names the kind of failure
itself; `GeneratorStopped` ends the system's run, and its takes are kept.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi.audio import Waveform
from cmi.take import Prompt

Part = Literal["text", "lyrics", "reference"]
PARTS: tuple[Part, ...] = get_args(Part)


@dataclass(frozen=True, eq=False)
class GeneratedSound:
    """Sound of several channels: float32 `samples` of shape (n, channels), full scale 1.0, at `rate` hertz."""

    samples: NDArray[np.float32]
    rate: int
    cost: float | None = None  # of this take, if it is known


class Generator(Protocol):
    """A system that makes music for prompts."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def accepts(self) -> Collection[Part]: ...
    @property
    def licence(self) -> str: ...
    @property
    def settings(self) -> Mapping[str, Any]: ...

    def generate(self, prompt: Prompt, seed: int, seconds: float | None) -> Waveform | GeneratedSound:
        """Return a take for a prompt that has no other parts than those in `accepts`."""


class GenerationError(InputError):
    """A take failed; `kind` is the reason under which it is counted, such as 'refused', and `cost` what it cost."""

    def __init__(self, kind: str, message: str, cost: float = 0.0) -> None:
        super().__init__(message)
        self.kind, self.cost = kind, cost

    def __reduce__(self) -> tuple[type["GenerationError"], tuple[str, str, float]]:
        return GenerationError, (self.kind, str(self), self.cost)  # worker processes pickle it


class GeneratorStopped(InputError):
    """The system cannot generate any more: no budget, no permission, or a worker that does not start."""


class JobGoesOn(GeneratorStopped):
    """We were stopped while a service works on the take; the next run picks it up."""
