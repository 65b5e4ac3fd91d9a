"""The reward server's model on a Ray cluster: Ray Serve starts, finds, counts and replaces the processes that hold it.

The web server and its queue stay in the command's process, so that routes, limits, token and errors are those of
`cmi serve` without Ray. Each batch of the queue is one request to Ray Serve. A batch whose process is lost is sent
again, because scoring a take twice gives the same score; if that fails too, clients are told to come back (503).
"""

import asyncio
import logging
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from cmi._util.errors import HttpRefusal, InputError, require_extra
from cmi._util.workers import ray_cluster
from cmi.reward.scoring.on_ray import ScorerAbout, count_gpus, describe_scorer, load_there
from cmi.reward.scoring.scorers import NOTHING_READ, NamedScorer, ReadTake, ScoredTake, require_scores
from cmi.take import Score, Take

ATTEMPTS = 3  # for a batch whose process is lost
PATIENCE = 900.0  # seconds for a batch
COME_BACK = 5  # seconds, told to clients
BATCHES = 2  # sent to a process at once: one is read while the other is scored
SCALING = {"target_ongoing_requests": 1, "upscale_delay_s": 3.0, "metrics_interval_s": 1.0, "look_back_period_s": 5.0}


class RayReplicas:
    """The model in the processes of a deployment. Files in the `shared` folders are named to them, others are sent."""

    def __init__(self, handle: Any, shared: Sequence[Path]) -> None:
        self._handle = handle
        self._shared = [folder.resolve() for folder in shared]

    def read(self, take: Take) -> ReadTake:
        return {path: path.read_bytes() for path in _paths(take) if not any(map(path.is_relative_to, self._shared))}

    def score(self, takes: Sequence[Take]) -> list[Score]:
        return require_scores(self.judge(takes))

    def judge(self, takes: Sequence[Take], read: ReadTake = NOTHING_READ) -> Iterator[ScoredTake | InputError]:
        yield from self._ask(takes, read)

    def _ask(self, takes: Sequence[Take], files: ReadTake) -> list[ScoredTake | InputError]:
        from ray.exceptions import RayError, RayTaskError

        for _ in range(ATTEMPTS):
            try:
                return self._handle.judge.remote(list(takes), dict(files)).result(timeout_s=PATIENCE)
            except RayTaskError:  # raised by the model
                raise
            except (RayError, TimeoutError) as error:
                logging.getLogger("cmi.serve").warning("a batch of %d is lost (%s)", len(takes), type(error).__name__)
        message = f"the process that scored this was lost: try again in {COME_BACK} s"
        raise HttpRefusal("unavailable", message, 503, {"retry-after": str(COME_BACK)})


class RewardReplica:
    """The model in one process of Ray Serve."""

    def __init__(self, folder: str, options: Sequence[Any]) -> None:
        self._scorer = load_there(folder, options)
        self._model = ThreadPoolExecutor(1)  # the thread that owns the model

    def describe(self) -> ScorerAbout | InputError:
        return describe_scorer(self._scorer)

    async def judge(self, takes: Sequence[Take], files: Mapping[Path, bytes]) -> list[ScoredTake | InputError]:
        scorer = self._scorer
        if isinstance(scorer, InputError):
            raise scorer
        with tempfile.TemporaryDirectory(prefix="cmi-serve-") as folder:
            copies = {path: Path(folder, str(i)) for i, path in enumerate(files)}
            moved = [_moved(take, copies) for take in takes]

            def read() -> ReadTake:
                for path, copy in copies.items():
                    copy.write_bytes(files[path])
                return {job: sound for take in moved for job, sound in scorer.read(take).items()}

            heard = await asyncio.to_thread(read)
            judging = asyncio.get_running_loop().run_in_executor(self._model, lambda: list(scorer.judge(moved, heard)))
            return [_named(answer, copies) for answer in await judging]


@contextmanager
def scorer_on_ray_serve(most: int, shared: Sequence[Path], *options: Any) -> Iterator[NamedScorer]:
    """The scorer that `load_scorer(*options)` gives, in 1 to `most` processes as the load demands, each with a GPU
    if the cluster has any."""
    with require_extra("serving on Ray", "ray"):
        from ray import serve
    with ray_cluster("serving on Ray") as ray:
        app = f"cmi-{uuid.uuid4().hex[:12]}"  # the cluster may serve others
        deployment = serve.deployment(
            RewardReplica,
            name="reward",
            max_ongoing_requests=BATCHES,
            ray_actor_options={"num_cpus": 1, "num_gpus": count_gpus(ray)},
            autoscaling_config={"min_replicas": 1, "max_replicas": most, **SCALING},
        )
        serve.start(proxy_location="Disabled", logging_config={"log_level": "ERROR"})
        logging.getLogger("ray.serve").setLevel(logging.CRITICAL)  # of a process that dies we tell ourselves
        try:
            handle = serve.run(deployment.bind(str(Path.cwd()), options), name=app, route_prefix=None)
            about = handle.describe.remote().result()
            if isinstance(about, InputError):
                raise about
            name, axes, settings = about
            replicas = RayReplicas(handle, shared)
            yield NamedScorer(name, replicas, replicas, axes=axes, settings=settings)
        finally:
            serve.delete(app)


def _paths(take: Take) -> list[Path]:
    return [sound for sound in (take.audio, take.prompt.reference) if isinstance(sound, Path)]


def _moved(take: Take, copies: Mapping[Path, Path]) -> Take:
    audio, reference = (
        copies.get(sound, sound) if isinstance(sound, Path) else sound for sound in (take.audio, take.prompt.reference)
    )
    assert audio is not None
    return Take(replace(take.prompt, reference=reference), audio)


def _named(answer: ScoredTake | InputError, copies: Mapping[Path, Path]) -> ScoredTake | InputError:
    """An error names the file by the path that the server knows it by."""
    if isinstance(answer, ScoredTake):
        return answer
    sentence = str(answer)
    for path, copy in copies.items():
        sentence = sentence.replace(str(copy), str(path))
    return InputError(sentence)
