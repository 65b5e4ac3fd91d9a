"""Generate takes: every prompt with every system and seed, resumably.

Systems run one after the other. Each is loaded once, or once in each of `workers` processes. What is in flight is
bounded, results are logged as they come, and a run that is stopped logs what was finished.
"""

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError, MissingExtra, reason_of
from cmi._util.files import make_folder
from cmi._util.workers import process_pool
from cmi.generate import GenerationError, Generator, GeneratorStopped, JobGoesOn
from cmi.generate.checks import check_sound
from cmi.generate.fit import fit_prompt
from cmi.generate.load import TIMEOUT, AboutGenerator, describe_generator, find_generator, load_generator
from cmi.generate.sound_file import write_take
from cmi.generate.take_log import (
    TakeJob,
    TakeLog,
    TakeOutcome,
    audio_file,
    count_failures,
    file_name,
    take_id,
)
from cmi.take import Prompt, PromptRow

JOBS = "jobs"  # subfolder for what systems keep themselves
MOST_FAILURES = 25  # in a row; then the system is stopped


@dataclass(frozen=True)
class GenerationPlan:
    """What to generate with which systems, and where to write it."""

    prompts: Sequence[PromptRow]
    folder: Path
    systems: Sequence[str]  # as on the command line
    seeds: Sequence[int] = (0,)
    seconds: float | None = None
    drop_unsupported: bool = False
    retry_failed: bool = False
    workers: int = 1
    max_takes: int | None = None  # in the folder
    max_cost: float | None = None  # of everything in the folder
    timeout: float = TIMEOUT  # of workers


@dataclass
class SystemSummary:
    """The state of a system's takes after a run."""

    system: str
    version: str
    takes: int = 0  # in the folder
    made: int = 0  # by this run
    failed: dict[str, int] = field(default_factory=dict)  # by reason
    skipped: dict[str, int] = field(default_factory=dict)  # prompts, by reason
    left: int = 0  # neither made nor tried
    seconds: float = 0.0  # of sound
    cost: float = 0.0
    first_failure: str = ""
    limit: str = ""  # the budget that ended the run
    stopped: str = ""  # why the system could not continue


def run_generation(
    plan: GenerationPlan,
    on_progress: Callable[[str, int, int], None] = lambda system, done, total: None,
    dry_run: bool = False,
) -> list[SystemSummary]:
    """Make all takes that are missing. `on_progress` gets a system's name, how many are done, and of how many.

    A dry run loads the systems and counts, and leaves the folder as it is.
    """
    _check_plan(plan)
    if dry_run and not (plan.folder.is_dir() and any(plan.folder.iterdir())):
        with tempfile.TemporaryDirectory() as folder:
            return _run_systems(replace(plan, folder=Path(folder)), on_progress, dry_run)
    return _run_systems(plan, on_progress, dry_run)


def _run_systems(
    plan: GenerationPlan, on_progress: Callable[[str, int, int], None], dry_run: bool
) -> list[SystemSummary]:
    summaries: list[SystemSummary] = []
    skipped: list[dict[str, str]] = []
    with TakeLog(plan.folder, plan.seconds, plan.prompts) as log:
        for spec in plan.systems:
            with ExitStack() as stack:
                try:
                    maker = _TakeMaker(spec, plan, stack)
                except InputError as error:  # it does not start; the others may
                    wanted = len(plan.prompts) * len(plan.seeds)
                    summaries.append(SystemSummary(spec, "", left=wanted, stopped=str(error)))
                    continue
                if maker.about.name in [summary.system for summary in summaries]:
                    raise InputError(f"two systems are called {maker.about.name}; generate them into two folders")
                log.require_same_system(maker.about)
                run = _SystemRun(plan, log, maker, on_progress)
                skipped += run.skipped
                if not dry_run:
                    run.generate()
                summaries.append(run.summary())
        if not dry_run:
            log.write_skipped([summary.system for summary in summaries], skipped)
            log.finish()
    return summaries


def make_take(generator: Generator, given: Prompt, seed: int, seconds: float | None, path: Path) -> TakeOutcome:
    """Generate, check and write one take; anything that the system does wrong is an outcome with a reason."""
    begun = time.monotonic()
    cost = 0.0  # of a call that returned nothing
    try:
        made = generator.generate(given, seed, seconds)
        told = getattr(made, "cost", None)
        cost = float(getattr(generator, "price", 0.0) if told is None else told)
        sound = check_sound(made, seconds)
    except (GeneratorStopped, MissingExtra):
        raise
    except Exception as error:  # a system may raise anything
        reason, lost = (error.kind, error.cost) if isinstance(error, GenerationError) else ("error", 0.0)
        named = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        message = f"{named}{reason_of(error)}"
        return TakeOutcome(time.monotonic() - begun, max(cost, lost), reason=reason, message=message)
    took = time.monotonic() - begun
    return TakeOutcome(took, cost, len(sound.samples) / sound.rate, write_take(sound, path))


class _TakeMaker:
    """Makes a system's takes, in threads of this process or in processes that each load the system."""

    about: AboutGenerator

    def __init__(self, spec: str, plan: GenerationPlan, stack: ExitStack) -> None:
        self._plan, self._spec = plan, spec
        self._generator: Generator | None = None
        self._executor: Executor
        if plan.workers > 1:
            self._executor = stack.enter_context(process_pool(plan.workers))
            try:
                self.about = self._executor.submit(_about_in_process, spec, plan.timeout).result()
            except BrokenProcessPool as error:
                raise _process_died(spec) from error
            self.parallel = plan.workers
            if self.about.concurrency == 1:
                return
        self._generator = load_generator(spec, plan.timeout)
        close = getattr(self._generator, "close", None)
        if callable(close):
            stack.callback(close)
        self.about = describe_generator(self._generator)
        self.parallel = self.about.concurrency
        self._executor = stack.enter_context(ThreadPoolExecutor(self.parallel))

    def begin(self) -> None:
        """Give the system a folder for what it keeps itself, if it wants one."""
        keep_in = getattr(self._generator, "keep_in", None)
        if callable(keep_in):
            folder = self._plan.folder / JOBS / file_name(self.about.name)
            make_folder(folder)
            keep_in(folder)

    def stop_waiting(self) -> None:
        """Call the system's `stop_waiting`, if it has one: jobs that a service continues are not waited for."""
        stop = getattr(self._generator, "stop_waiting", None)
        if callable(stop):
            stop()

    def submit(self, job: TakeJob) -> "Future[TakeOutcome]":
        path = self._plan.folder / audio_file(self.about.name, job.asked.id, job.seed)
        how = (job.given, job.seed, self._plan.seconds, path)
        if self._generator is not None:
            return self._executor.submit(make_take, self._generator, *how)
        return self._executor.submit(_make_in_process, self._spec, self._plan.timeout, *how)


class _SystemRun:
    """One system's part of a run."""

    def __init__(
        self, plan: GenerationPlan, log: TakeLog, maker: _TakeMaker, on_progress: Callable[[str, int, int], None]
    ) -> None:
        self._plan, self._log, self._maker = plan, log, maker
        self._on_progress = on_progress
        self._fitted: list[tuple[PromptRow, Prompt]] = []
        self.skipped: list[dict[str, str]] = []
        name = maker.about.name
        for asked in plan.prompts:
            given, reason = fit_prompt(asked, maker.about.accepts, plan.drop_unsupported)
            if given is None:
                self.skipped.append({"generator": name, "group": asked.id, "reason": reason})
            else:
                self._fitted.append((asked, given))
        self._before = log.counts(name).takes
        self._done = sum(not self._is_open(one) for one in self._ids())
        self._limit = self._stopped = ""

    def generate(self) -> None:
        """Make what is missing, until a budget is used up or the system is stopped."""
        total, about = len(self._fitted) * len(self._plan.seeds), self._maker.about
        self._on_progress(about.name, self._done, total)
        self._maker.begin()
        in_flight: dict[Future[TakeOutcome], TakeJob] = {}
        jobs = self._jobs()
        failures = 0

        def record(future: "Future[TakeOutcome]") -> TakeOutcome:
            job = in_flight.pop(future)
            outcome = future.result()
            self._log.append(about, job, outcome)
            self._done += 1
            self._on_progress(about.name, self._done, total)
            return outcome

        def finish() -> int:
            """Record results that are under way; return the number of jobs that the service continues."""
            going_on = 0
            for future in wait([future for future in in_flight if not future.cancel()]).done:
                try:
                    record(future)
                except JobGoesOn:
                    going_on += 1
                except (GeneratorStopped, MissingExtra, BrokenProcessPool):
                    pass
            return going_on

        try:
            while True:
                while not self._limit and not self._stopped and len(in_flight) < self._maker.parallel:
                    job = next(jobs, None)
                    self._limit = self._used_up(len(in_flight)) if job else ""
                    if job is None or self._limit:
                        break
                    in_flight[self._maker.submit(job)] = job
                if not in_flight:
                    break
                for future in wait(in_flight, return_when=FIRST_COMPLETED).done:
                    failures = failures + 1 if record(future).reason else 0
                    if failures >= MOST_FAILURES:
                        self._stopped = f"{failures} takes in a row failed"
        except GeneratorStopped as error:
            self._stopped = str(error)
        except BrokenProcessPool as error:
            raise _process_died(about.name) from error
        except KeyboardInterrupt:
            self._maker.stop_waiting()
            going_on = finish()
            told = (
                [f"{going_on} jobs are still running at {about.name}; the same command collects them"]
                if going_on
                else []
            )
            raise KeyboardInterrupt(*told) from None
        finally:  # what was paid for is kept
            finish()

    def summary(self) -> SystemSummary:
        about = self._maker.about
        counts = self._log.counts(about.name)
        ids = list(self._ids())
        failed = count_failures(self._log, ids)
        failure = next((found for one in ids if (found := self._log.failure(one))), ("", ""))
        return SystemSummary(
            about.name,
            about.version,
            counts.takes,
            counts.takes - self._before,
            dict(failed.most_common()),
            dict(Counter(row["reason"] for row in self.skipped).most_common()),
            sum(self._is_open(one) for one in ids) - (sum(failed.values()) if self._plan.retry_failed else 0),
            round(counts.seconds, 1),
            round(counts.cost, 6),
            failure[1],
            self._limit,
            self._stopped,
        )

    def _ids(self) -> Iterator[str]:
        name = self._maker.about.name
        return (take_id(name, asked.id, seed) for seed in self._plan.seeds for asked, _ in self._fitted)

    def _is_open(self, one: str) -> bool:
        if self._log.has_take(one):
            return False
        return self._plan.retry_failed or self._log.failure(one) is None

    def _jobs(self) -> Iterator[TakeJob]:
        """Yield the takes to make: the first seed for all prompts, then the second."""
        name = self._maker.about.name
        for seed in self._plan.seeds:
            for asked, given in self._fitted:
                one = take_id(name, asked.id, seed)
                if self._is_open(one):
                    yield TakeJob(one, asked, given, seed)

    def _used_up(self, in_flight: int) -> str:
        """Name the limit that another take would exceed; '' if none."""
        most, money, price = self._plan.max_takes, self._plan.max_cost, self._maker.about.price
        if most is not None and self._log.takes + in_flight >= most:
            return f"the limit of {most:,} takes is reached (--max-takes)"
        if money is not None and self._log.cost + (in_flight + 1) * price > money:
            return f"another take would cost more than --max-cost {money:g}"
        return ""


def _check_plan(plan: GenerationPlan) -> None:
    """InputError if a system does not exist or a reference is missing: before anything is loaded or paid for."""
    if not plan.prompts:
        raise InputError("no prompts to generate takes for")
    for spec in plan.systems:
        find_generator(spec, plan.timeout)
    for asked in plan.prompts:
        reference = asked.prompt.reference
        if isinstance(reference, Path) and not reference.is_file():
            raise InputError(f"prompt {asked.id!r}: its reference {reference} is not a file")


def _process_died(system: str) -> InputError:
    kept = "what was finished is kept: run the same command again, with fewer --workers"
    return InputError(f"{system}: one of its processes died, perhaps out of memory; {kept}")


@lru_cache(maxsize=1)
def _loaded(spec: str, timeout: float) -> Generator:
    """The generator of a process of a pool."""
    generator = load_generator(spec, timeout)
    close = getattr(generator, "close", None)
    if callable(close):
        Finalize(None, close, exitpriority=10)
    return generator


def _about_in_process(spec: str, timeout: float) -> AboutGenerator:
    return describe_generator(_loaded(spec, timeout))


def _make_in_process(spec: str, timeout: float, *how: Any) -> TakeOutcome:
    return make_take(_loaded(spec, timeout), *how)
