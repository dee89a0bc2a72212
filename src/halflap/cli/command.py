"""What all commands share: options, the gateway, and errors as messages and exit codes."""

from __future__ import annotations

import asyncio
import errno
import functools
import inspect
import signal
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from copy import copy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, get_args

import typer

from halflap.cli.output import (
    Table,
    note,
    outline,
    print_json,
    print_lines,
    set_up_logging,
    stop_writing,
    visible,
)
from halflap.core.errors import ConfigError, HalflapError, ToolNotFoundError, UsageError, WorkflowError

if TYPE_CHECKING:
    from halflap.config import Config
    from halflap.core.codes import OtherCode
    from halflap.gateway import Gateway

_USAGE_CODES = frozenset(
    [
        "config",
        "dspy-program-broken",
        "dspy-program-inputs",
        "dspy-program-not-found",
        "invalid-arguments",
        "run-not-found",
        "script",
        "tool-not-found",
        "workflow",
    ]
)
"""These exit with 2, like `UsageError`; all others exit with 1."""
_UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
_NOT_WRITTEN: OtherCode = "output-not-written"
INTERRUPTED = 128 + signal.SIGINT

CONFIG_AND_JSON = ("config", "json")
"""The shared options of commands that start no server."""
_SHARED: Mapping[str, Any] = {
    "config": Annotated[
        Path | None, typer.Option("--config", "-c", help="Use this configuration file.", metavar="FILE")
    ],
    "json": Annotated[bool, typer.Option("--json", help="Print JSON.")],
    "verbose": Annotated[bool, typer.Option("--verbose", "-v", help="Log to stderr.")],
}


@dataclass(frozen=True, slots=True)
class Invocation:
    """The shared options of a running command, and what they do."""

    config_file: Path | None = None
    as_json: bool = False
    verbose: bool = False

    def config(self) -> Config:
        """Load the configuration, and print its warnings."""
        from halflap.config import load_config

        config = load_config(self.config_file)
        for warning in config.warnings:
            note(f"Note: {warning}")
        for file in config.pending:
            what = "is not trusted" if file.state == "new" else "has changed since you trusted it"
            note(
                f"Note: {file.path.name} in this folder {what}; its servers are not used. Review it: halflap trust"
            )
        return config

    @asynccontextmanager
    async def gateway(self, config: Config | None = None) -> AsyncIterator[Gateway]:
        from halflap.gateway import Gateway

        async with Gateway.open(config or self.config(), refresh_stale=False) as gateway:
            yield gateway

    def show(self, data: Any, view: Table | Iterable[str] | None = None) -> None:
        """Print data as JSON, or a table or lines for people, by default an outline of the data."""
        if self.as_json:
            print_json(data)
        elif isinstance(view, Table):
            view.print()
        else:
            print_lines(outline(data) if view is None else view)

    def report(self, data: Any, message: str) -> None:
        """Print data as JSON, or a message to stderr."""
        if self.as_json:
            print_json(data)
        else:
            note(message)


def group(name: str, text: str, *, has_default: bool = False) -> typer.Typer:
    """Return a group of commands; without a subcommand it prints help, unless `has_default`."""
    found = typer.Typer(
        name=name, help=text, no_args_is_help=not has_default, add_completion=False, rich_markup_mode=None
    )
    found.callback()(lambda: None)
    return found


def command(
    group: typer.Typer | None = None,
    name: str | None = None,
    *,
    shared: Collection[str] = ("config", "json", "verbose"),
    is_default: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Make a function or coroutine function a command with the shared options.

    Its first parameter is the `Invocation`. Errors become messages and exit codes: 1 failed, 2 wrong usage. With
    `is_default`, it is also what the group does without a subcommand.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., None]:
        found = _decorated(function, shared)
        if group is not None:
            group.command(name)(found)
            if is_default:
                group.callback(invoke_without_command=True)(_decorated(function, shared, with_context=True))
        return found

    return decorate


def _decorated(
    function: Callable[..., Any], shared: Collection[str], *, with_context: bool = False
) -> Callable[..., None]:
    own = [_named(one) for one in inspect.signature(function, eval_str=True).parameters.values()][1:]
    defaults = {one.name: one.default for one in own}

    @functools.wraps(function)
    def run(**options: Any) -> None:
        context = options.pop("context", None)
        invocation = Invocation(
            options.pop("config", None), options.pop("json", False), options.pop("verbose", False)
        )
        if context is not None and context.invoked_subcommand is not None:
            if invocation != Invocation() or options != defaults:
                raise typer.BadParameter(f"Put options after {context.invoked_subcommand}.")
            return
        set_up_logging(verbose=invocation.verbose)
        _reported(functools.partial(function, invocation, **options), as_json=invocation.as_json)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    if with_context:
        own.insert(0, inspect.Parameter("context", kind, annotation=typer.Context))
    own += [
        inspect.Parameter(one, kind, default=None if one == "config" else False, annotation=annotation)
        for one, annotation in _SHARED.items()
        if one in shared
    ]
    run.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in own}
    return run


def _named(parameter: inspect.Parameter) -> inspect.Parameter:
    """Show an option or argument with its name in capitals as the value, unless it is a flag or a choice."""
    kind, *infos = get_args(parameter.annotation) or [parameter.annotation]
    if not infos or infos[0].metavar is not None or bool in {kind, *get_args(kind)} or "Literal" in str(kind):
        return parameter
    info = copy(infos[0])
    info.metavar = parameter.name.upper()
    return parameter.replace(annotation=Annotated[kind, info])


def _reported(work: Callable[[], Any], *, as_json: bool) -> None:
    try:
        found = work()
        if inspect.iscoroutine(found):
            # SIGTERM works like Ctrl-C, so that the command can still report what was done.
            signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
            asyncio.run(found)
    except HalflapError as error:
        _fail(error, as_json=as_json)
    except BrokenPipeError:
        # For example `halflap list | head`.
        stop_writing()
        raise typer.Exit(0) from None
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        stop_writing()
        note(f"Error [{_NOT_WRITTEN}]: The output can't be written: {error.strerror}.")
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def on_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` on the first Ctrl-C, so that results so far are reported; the second one interrupts."""
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        stop()
        loop.remove_signal_handler(signal.SIGINT)

    loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _fail(error: HalflapError, *, as_json: bool) -> NoReturn:
    if as_json:
        print_json(_error_data(error))
    else:
        # Invisible characters are escaped: they may be what is wrong.
        shown = visible(str(error), kept="\n\t")
        note(f"Error [{error.code}]: {shown}")
    # The name may be right if its server is down.
    is_down = isinstance(error, ToolNotFoundError) and error.unavailable_reason is not None
    is_usage = isinstance(error, UsageError) or (error.code in _USAGE_CODES and not is_down)
    raise typer.Exit(2 if is_usage else 1)


def _error_data(error: HalflapError) -> dict[str, Any]:
    """Return an error as JSON, with all problems of a configuration or workflow."""
    data: dict[str, Any] = {"error": True, "code": error.code, "message": str(error)}
    if isinstance(error, ConfigError):
        data["problems"] = [
            {**asdict(one), "file": None if one.file is None else str(one.file)} for one in error.problems
        ]
    if isinstance(error, WorkflowError):
        data["problems"] = [one._asdict() for one in error.problems]
    return data
