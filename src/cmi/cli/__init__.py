"""The `cmi` command: one module per command group; heavy imports happen only when a command runs."""

import io
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer

from cmi import __version__
from cmi._util.cores import usable_cores
from cmi._util.errors import InputError
from cmi._util.files import DISK_FULL, cannot_write
from cmi._util.printable import ESCAPE
from cmi.cli.command import PlainGroup, StoppedByUser, prepare_commands
from cmi.cli.output import print_warnings_as_notes, show_error

# In the order of `cmi --help`. Each name is a module here with a function of that name, or with a command group `app`.
PANELS = {
    "Start here": ("demo", "doctor"),
    "What is my generator worth? Give my trainer a reward": ("report", "score", "pick", "probe", "distance", "serve"),
    "Does a model agree with people? Does it understand music?": (
        "data",
        "rewardbench",
        "calibrate",
        "drift",
        "mirex",
        "bench",
        "card",
    ),
    "Preferences: make them, ask a judge, ask people": ("prompts", "generate", "pairs", "studio", "judge", "arena"),
    "Train a reward model": ("train", "ablate"),
}


class CommandsInOrder(PlainGroup):
    """Lists commands as PANELS does; Typer itself would put single commands before groups."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for names in PANELS.values() for name in names]


app = typer.Typer(
    cls=CommandsInOrder,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for panel, names in PANELS.items():
    for name in names:
        module = import_module(f"{__name__}.{name}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=name, rich_help_panel=panel)
        else:
            app.command(rich_help_panel=panel)(getattr(module, name))
prepare_commands(app)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"cmi {__version__}")
        raise typer.Exit


@app.callback()
def cmi(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Evaluate music generators, reward models and audio language models, with text, lyrics and reference audio.

    Results go to standard output, progress to standard error. Bad input gives an error message and exit code 2.
    """


def main() -> None:
    _share_cores()
    print_warnings_as_notes()
    run_plainly(app)


def _share_cores() -> None:
    """Limit torch to the cores that this process may use, and shorten the time that its idle threads spin.

    torch ignores a container's CPU quota, and spinning threads make scoring many times slower if the cores have other
    work (figures in docs/performance.md). Variables that the user has set are kept. torch reads them when it is
    imported, which no command has done yet.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    if usable_cores() < (os.cpu_count() or 1):
        os.environ.setdefault("OMP_NUM_THREADS", str(usable_cores()))


def run_plainly(command: Callable[[], object]) -> None:
    """Run a command; bad input ends it with a one-line message and exit code 2, Ctrl-C with one and exit code 130."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=ESCAPE)  # do not fail on names that are not UTF-8 or on an ASCII terminal
    try:
        try:
            command()
        finally:
            sys.stdout.flush()
    except InputError as error:
        _fail(str(error), error)
    except (KeyboardInterrupt, StoppedByUser) as error:
        show_error(str(error) or "stopped")
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output left, as `head` does
        _drop_output()
        sys.exit(0)
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        _drop_output()
        _fail(str(cannot_write(error.filename or "standard output or a file in use", error)))


def _drop_output() -> None:
    """Discard unwritten output, so that Python does not try to write it again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(sentence: str, error: BaseException | None = None) -> NoReturn:
    show_error(sentence, error)
    sys.exit(2)
