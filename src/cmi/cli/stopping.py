"""Ctrl-C ends a command with one line, which says whether the same command resumes."""

from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperCommand

PROMISE = "the same command resumes"  # in the help of a command, or of an option that makes it resume
KEPT = f"stopped; what was finished is kept, and {PROMISE}"


class Stopped(Exception):
    """The user stopped a command; what to say."""


class StoppableCommand(TyperCommand):
    """A command that says how to go on when it is stopped."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            given = [param.help for param in self.params if ctx.params.get(param.name) is not None]  # type: ignore[attr-defined]
            resumes = any(PROMISE in (text or "").lower() for text in [self.help, *given])
            raise Stopped(KEPT if resumes else "stopped") from error


def make_stoppable(app: typer.Typer) -> None:
    """All commands of an app, and of the apps in it."""
    for each in _apps(app):
        for info in each.registered_commands:
            info.cls = StoppableCommand


def _apps(app: typer.Typer) -> Iterator[typer.Typer]:
    yield app
    for group in app.registered_groups:
        if group.typer_instance is not None:
            yield from _apps(group.typer_instance)
