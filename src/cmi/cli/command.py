"""What every command of `cmi` has: -q and -v, and one line after Ctrl-C that says whether the same command resumes."""

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from cmi.cli.output import set_verbosity

RESUMES = "the same command resumes"  # in the help of a command, or of an option that makes it resume
KEPT = f"stopped; what was finished is kept, and {RESUMES}"

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print results and errors only.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print more; errors with their causes.")]


class StoppedByUser(Exception):
    """The user stopped a command; the message says what happens next."""


class StoppableCommand(TyperCommand):
    """A command that says how to go on when it is stopped."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            given = [param.help for param in self.params if ctx.params.get(param.name) is not None]  # type: ignore[attr-defined]
            resumes = any(RESUMES in (text or "").lower() for text in [self.help, *given])
            raise StoppedByUser(KEPT if resumes else "stopped") from error


def prepare_commands(app: typer.Typer) -> None:
    """Give every command of an app, and of the apps in it, -q, -v and a last line after Ctrl-C."""
    for each in _apps(app):
        for info in each.registered_commands:
            info.cls = StoppableCommand
            if info.callback is not None:
                info.name = info.name or info.callback.__name__.replace("_", "-")
                info.callback = _with_verbosity(info.callback)


def _with_verbosity(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def run(*args: Any, quiet: bool = False, verbose: bool = False, **kwargs: Any) -> Any:
        set_verbosity(verbose - quiet)
        return function(*args, **kwargs)

    added = {"quiet": Quiet, "verbose": Verbose}
    signature = inspect.signature(function)
    keywords = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        for name, annotation in added.items()
    ]
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *keywords])  # type: ignore[attr-defined]
    run.__annotations__ = {**inspect.get_annotations(function), **added}
    return run


def _apps(app: typer.Typer) -> Iterator[typer.Typer]:
    yield app
    for group in app.registered_groups:
        if group.typer_instance is not None:
            yield from _apps(group.typer_instance)
