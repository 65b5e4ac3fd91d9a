"""What every `cmi` command shares: -q and -v, groups of options, and a message after Ctrl-C on how to resume.

A parameter whose type is a dataclass stands for one option per field: `def table(sources: Sources, how: ShowOptions)`
has the options of `ShowOptions`, and gets them as one object. Help shows them in the panel that the class names as its
PANEL, if any.
"""

import inspect
from collections.abc import Callable, Container, Iterator
from copy import copy
from dataclasses import astuple, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from cmi.cli.output import set_verbosity

RESUMES = "the same command resumes"  # help texts of commands and options that resume contain this phrase
KEPT = f"stopped; what was finished is kept, and {RESUMES}"

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print results and errors only.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print more, such as the causes of errors.")]


class StoppedByUser(Exception):
    """The user stopped a command; the message says how to resume it."""


class PlainHelp:
    """Names the type of an option's value in help; flags have none, although Typer would say <bool>."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
            elif getattr(param, "multiple", False) and param.metavar is None:
                (kind,) = get_args(param.type_descriptor.annotation)
                param.metavar = f"<{kind.__name__.lower()}>"
        return params


class PlainGroup(PlainHelp, TyperGroup):
    """A group of commands."""


class StoppableCommand(PlainHelp, TyperCommand):
    """A command that says how to resume it when it is stopped."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            given = [param.help for param in self.params if ctx.params.get(param.name) is not None]  # type: ignore[attr-defined]
            resumes = any(RESUMES in (text or "").lower() for text in [self.help, *given])
            raise StoppedByUser("; ".join([KEPT if resumes else "stopped", *map(str, error.args)])) from error


def prepare_commands(app: typer.Typer) -> None:
    """Add -q, -v, the groups of options and the message after Ctrl-C to every command of an app and its sub-apps."""
    for each in _apps(app):
        if not isinstance(each.info.cls, type):  # none was chosen
            each.info.cls = PlainGroup
        for info in each.registered_commands:
            info.cls = StoppableCommand
            if info.callback is not None:
                info.name = info.name or info.callback.__name__.replace("_", "-")
                info.callback = _with_options(info.callback)


def _with_options(function: Callable[..., Any]) -> Callable[..., Any]:
    parameters = inspect.signature(function).parameters
    groups: dict[str, Any] = {name: one.annotation for name, one in parameters.items() if is_dataclass(one.annotation)}

    @wraps(function)
    def run(*, quiet: bool, verbose: bool, **given: Any) -> Any:
        set_verbosity(verbose - quiet)
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        return function(**given)

    options: dict[str, tuple[Any, Any]] = {}
    for name, one in parameters.items():
        if name in groups:
            options |= _options_of(groups[name])
        else:
            options[name] = one.annotation, one.default
    options |= {"quiet": (Quiet, False), "verbose": (Verbose, False)}
    keywords = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        for name, (hint, default) in options.items()
    ]
    run.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    run.__annotations__ = {name: hint for name, (hint, _) in options.items()}
    return run


def _options_of(group: type[Any]) -> dict[str, tuple[Any, Any]]:
    """Return the type hint and default of each field."""
    found = {}
    for field in fields(group):
        kind, option = get_args(get_type_hints(group, include_extras=True)[field.name])
        option = copy(option)
        option.rich_help_panel = getattr(group, "PANEL", None)
        found[field.name] = Annotated[kind, option], field.default
    return found


def shard_options(context: typer.Context, shards: int, without: Container[str]) -> list[str]:
    """Return the options of this command for one of `shards` shards, each with an equal share of the budget."""
    from cmi.llm import Budget

    limits = ("max_calls", "max_total_tokens", "max_cost")
    share = astuple(Budget(*(context.params[name] for name in limits)).share(shards))
    given = context.params | dict(zip(limits, share, strict=True))
    words: list[str] = []
    for option in context.command.params:
        value, flag = given.get(option.name or ""), option.opts[0]
        if option.name in without or not flag.startswith("-") or value is None or value == option.default:
            continue
        if isinstance(value, bool):
            words.append(flag)
        elif option.nargs > 1:
            words += [flag, *map(str, value)]
        else:
            words += [f"{flag}={one}" for one in (value if isinstance(value, list | tuple) else [value])]
    return words


def _apps(app: typer.Typer) -> Iterator[typer.Typer]:
    yield app
    for group in app.registered_groups:
        if group.typer_instance is not None:
            yield from _apps(group.typer_instance)
