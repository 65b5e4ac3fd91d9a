"""What tests may use if it is there: the shared folder beside the checkout, and WordNet.

With CMI_NOTHING_SKIPPED=1, as in CI, a test that is skipped fails, unless the reason is one that CI cannot help.
"""

import io
import os
import warnings
from collections.abc import Generator
from pathlib import Path

import nltk
import pytest
from hypothesis import settings
from nltk.corpus.reader import WordNetCorpusReader

from cmi._util.errors import InputError
from cmi.bench.metrics.tools import Tools
from cmi.bench.metrics.wordnet import DEBIAN, HOW_TO_GET

settings.register_profile("any machine", deadline=None)  # one that is busy takes longer; pytest's timeout stops a hang
settings.load_profile("any machine")

NOTHING_SKIPPED = os.environ.get("CMI_NOTHING_SKIPPED") == "1"
MAY_BE_SKIPPED = (
    "no connection",  # CI may have no network
    "could not be fetched",
    "can't be fetched",
    "no apt-get",  # another system than Debian
    "apt-get does not answer",
    "apt-get knows no package",
    "there is no Firefox here",  # which .ci/run installs where it can
    "there is no PulseAudio here",
    "does not run as root",  # PostgreSQL, on a machine without its user
    "got empty parameter set",
)


def pytest_configure(config: pytest.Config) -> None:
    """Workers of pytest-xdist, which inherit the environment, share the cores instead of fighting for them."""
    workers = getattr(config.option, "numprocesses", None)
    if workers:
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ.setdefault(name, str(max(1, (os.cpu_count() or 1) // workers)))


SLOW_FIXTURES = {"browser", "wheel", "lazy_postgres", "golden", "golden_folder", "apt"}
SLOW_FILES = """
_util/test_columns.py _util/test_pretrained.py _util/test_quiet_stderr.py arena/store/test_restore.py
arena/web/browser bench/ask/test_local.py bench/ask/test_ray.py bench/ask/test_real_server.py
bench/ask/test_reference.py bench/ask/test_remote_code.py bench/browser bench/metrics/test_wordnet.py
bench/scoring/test_published_numbers.py bench/scoring/test_perfect_answers.py bench/scoring/test_responses.py
cli/test_arena_full_disk.py cli/test_bench_run.py cli/test_current_folder.py cli/test_demo.py cli/test_full_disk.py
cli/test_hostile_names.py cli/test_probe.py cli/test_progress.py cli/test_rewardbench.py cli/test_score.py
cli/test_score_many.py cli/test_stopping.py cli/test_studio.py cli/test_threads.py cli/test_waiting.py demo
docs/test_commands_run.py judge/test_language_model_judge.py judge/test_ray.py judge/test_stopped.py llm/test_local.py
recipes/ablations/test_ablations.py recipes/generators/test_workers.py recipes/listeners/test_workers.py
recipes/nano/test_train_ear.py recipes/nano/test_train_nano.py reward/model/encoders probe
reward/scoring/test_scorer.py reward/train/test_embeddings.py reward/train/test_loop.py reward/scoring/baselines
reward/train/test_mirex_folds.py cli/test_mirex.py rewardbench/runs/test_on_ray.py cli/test_score_s3.py
cli/test_feedback.py
rewardbench/data/test_download_hub.py studio/test_corpus.py studio/test_generate.py studio/test_make.py
studio/test_mir.py studio/test_show.py studio/test_test_splits.py studio/test_truth.py studio/test_vocals.py
studio/test_vocoder.py test_lock_file.py reward/model/test_hub.py llm/test_keys.py llm/test_limits.py
llm/test_hearing.py distance/test_command.py report/test_pages_in_browser.py
generator_report/test_report.py plugs report/test_metric_writers.py
generate/test_service.py generate/test_worker.py rewardbench/data/test_download.py rewardbench/data/test_recipes.py
""".split()  # files and folders whose tests take a second or more each, or start processes or servers
HERE = Path(__file__).parent
SLOW_TESTS = set((HERE / "slow_tests.txt").read_text("utf-8").split())  # functions that take a second or so


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what stands above; a single slow test in a fast file has the mark itself."""
    for item in items:
        place = item.path.relative_to(HERE) if item.path.is_relative_to(HERE) else item.path
        names = {place.as_posix(), *(folder.as_posix() for folder in place.parents)}
        names.add(f"{place.as_posix()}::{getattr(item, 'originalname', '')}")
        needs = {*getattr(item, "fixturenames", ()), *(["lazy_postgres"] if "postgres" in item.name else [])}
        if names & SLOW_TESTS.union(SLOW_FILES) or SLOW_FIXTURES & needs:
            item.add_marker("slow")


def _is_allowed(reason: str) -> bool:
    return any(part in reason for part in MAY_BE_SKIPPED)


def _fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not NOTHING_SKIPPED or report.outcome != "skipped" or hasattr(report, "wasxfail"):
        return
    reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    if not _is_allowed(reason):
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid}: {reason}. With CMI_NOTHING_SKIPPED=1 every test has to run."


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _fail_if_skipped(report)
    return report


@pytest.fixture(scope="session")
def shared() -> Path:
    """Released answers and annotations of CMI-Bench, which are not ours to commit."""
    folder = Path(os.environ.get("CMI_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    if not (folder / "cmi-bench").is_dir():
        pytest.skip("no shared folder with the released CMI-Bench answers (set CMI_SHARED)")
    return folder


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    return Tools(cache=tmp_path_factory.mktemp("cache"))


@pytest.fixture
def wordnet(tools: Tools) -> object:
    if isinstance(tools.thesaurus, InputError):
        pytest.skip(str(tools.thesaurus))
    return tools.thesaurus


@pytest.fixture(scope="session", autouse=True)
def own_data(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """What modules and sessions prepare by commands adds no look to the user's log of looks at test sets."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CMI_DATA", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(autouse=True)
def own_cache(own_data: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's cache, or what another test has left in the folder of data sets."""
    monkeypatch.setenv("CMI_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CMI_DATA", raising=False)


@pytest.fixture(scope="session")
def wheel() -> Path:
    """musicnn's, the one thing that tests share with the user's cache: 29 MB need not be downloaded for every run."""
    from cmi._util.wheels import find_wheel
    from cmi.reward.model.encoders.musicnn import WHEEL  # torch, which most tests do not need

    try:
        return find_wheel(WHEEL)
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def debian() -> Path:
    """WordNet's files as Debian installs them."""
    if not (DEBIAN / "data.noun").exists():
        pytest.skip(HOW_TO_GET)
    return DEBIAN


@pytest.fixture(scope="session")
def nltk_wordnet(debian: Path) -> WordNetCorpusReader:
    """NLTK's reader on the same files. Debian leaves out `lexnames`, which synonyms do not need."""

    class Reader(WordNetCorpusReader):
        def open(self, file):
            if file == "lexnames":
                return io.StringIO("".join(f"{i:02d}\tfile\t1\n" for i in range(45)))
            return (debian / file).open(encoding="utf-8")

        def map_wn(self, version="wordnet"):
            """Only other languages need it."""

    nltk.data.path.append(str(debian))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Reader(str(debian), None)
