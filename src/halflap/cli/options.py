"""Options that several commands share, and what they do with them: configuration, arguments, names, files."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.output import note, one_line, write
from halflap.core.errors import (
    ConfirmationNeededError,
    FileError,
    HalflapError,
    ServerNotFoundError,
    ToolRefusedError,
    UsageError,
    WorkflowError,
)
from halflap.core.values import CallContext

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.config import Config
    from halflap.core.values import Tool
    from halflap.gateway import Gateway
    from halflap.store import Store
    from halflap.workflows.model.net import Specification

__all__ = [
    "ArgumentsOption",
    "JsonArgumentsOption",
    "LimitOption",
    "ServerOption",
    "ToolArgument",
    "YesOption",
    "check_server",
    "confirm",
    "confirmed",
    "given_arguments",
    "key_values",
    "naming",
    "program_names",
    "read_at_most",
    "read_workflow",
    "resolve",
    "run_ids",
    "script_names",
    "tool_names",
    "write_text",
]

_MAX_RUNS = 200
_MAX_WORKFLOW = 10_000_000
_NO_TERMINAL = "no terminal to confirm on; use --yes"


def tool_names(context: typer.Context, incomplete: str) -> list[str]:
    async def names(config: Config, store: Store) -> Sequence[str]:
        from halflap.catalog import Catalog

        catalog = Catalog(config, store)
        await catalog.load()
        return catalog.snapshot.callable

    return _completed(context, incomplete, names)


def run_ids(context: typer.Context, incomplete: str) -> list[str]:
    async def ids(_config: Config, store: Store) -> Sequence[str]:
        return [run.id for run in await store.runs(_MAX_RUNS)]

    return _completed(context, incomplete, ids)


def script_names(context: typer.Context, incomplete: str) -> list[str]:
    from halflap.config import load_config
    from halflap.scripts import ScriptFolder

    with contextlib.suppress(HalflapError, OSError):
        folder = ScriptFolder(load_config(context.params.get("config")).data_dir / "scripts")
        return [name for name in folder.read().scripts if name.startswith(incomplete)]
    return []


def program_names(context: typer.Context, incomplete: str) -> list[str]:
    from halflap.config import load_config
    from halflap.dspy.library import Library

    with contextlib.suppress(HalflapError, OSError):
        library = Library(load_config(context.params.get("config")).programs.root)
        return [name for name in library.read().programs if name.startswith(incomplete)]
    return []


def _completed(
    context: typer.Context, incomplete: str, question: Callable[[Config, Store], Awaitable[Sequence[str]]]
) -> list[str]:
    """Answer from the store alone: completion starts no server."""
    from halflap.config import load_config
    from halflap.store import open_store

    async def ask(config: Config) -> Sequence[str]:
        place = config.store.url or config.store.path or config.data_dir / "halflap.db"
        if isinstance(place, Path) and not place.exists():
            return ()
        store = await open_store(place)
        try:
            return await question(config, store)
        finally:
            await store.close()

    with contextlib.suppress(HalflapError, OSError):
        found = asyncio.run(ask(load_config(context.params.get("config"))))
        return [name for name in found if name.startswith(incomplete)]
    return []


YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")]
ServerOption = Annotated[str | None, typer.Option("--server", "-s", help="Only the tools of this server.")]
LimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="Maximum number of results.")]
ToolArgument = Annotated[
    str,
    typer.Argument(
        help="The tool's name; the short name if only one tool has it.", autocompletion=tool_names
    ),
]
ArgumentsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--arg",
        "-a",
        metavar="KEY=VALUE",
        help="One argument; the value is read as JSON where the tool doesn't expect text.",
    ),
]
JsonArgumentsOption = Annotated[
    str | None,
    typer.Option("--json-args", metavar="JSON", help="All arguments as a JSON object; - reads stdin."),
]


def check_server(config: Config, server: str | None) -> None:
    """Raise `ServerNotFoundError` unless the server is configured, or one of Halflap's own."""
    from halflap.core.values import OWN

    names = [one.name for one in config.servers]
    if server is not None and server not in {*names, *OWN}:
        raise ServerNotFoundError(server, names)


async def resolve(gateway: Gateway, name: str) -> str:
    """Return the full name of a tool that may be given by its short name."""
    if name in gateway.snapshot.tools or name.startswith("mcp__"):
        return name

    def meant() -> list[str]:
        tools = gateway.snapshot.tools.values()
        return sorted(
            tool.name for tool in tools if name in {tool.original_name, tool.name.split("__", 2)[-1]}
        )

    found = meant()
    if not found and any(one.name not in gateway.snapshot.servers for one in gateway.config.servers):
        await gateway.settle()
        found = meant()
    if len(found) > 1:
        raise UsageError(f"Several tools are named {name!r}: {', '.join(found)}. Use the full name.")
    return found[0] if found else name


def confirm(question: str, refusal: str, *, yes: bool) -> None:
    """Ask on the terminal, unless --yes was given. `refusal` says what was not done."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfirmationNeededError(f"{refusal} No terminal to confirm on; use --yes.")
    try:
        sys.stderr.write(f"{question} [y/N] ")
        sys.stderr.flush()
        answer = sys.stdin.readline().strip().lower()
    except KeyboardInterrupt:
        note(f"\n{refusal}")
        raise
    if answer not in {"y", "yes"}:
        note(refusal)
        raise typer.Exit(1)


def given_arguments(
    pairs: Sequence[str] | None, text: str | None, schema: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments given with --arg, read as the schema says, or with --json-args."""
    if text is None:
        properties = schema.get("properties")
        wanted = properties if isinstance(properties, dict) else {}
        texts = key_values("--arg", pairs or [])
        return {key: _value(value, wanted.get(key), schema) for key, value in texts.items()}
    if pairs:
        raise UsageError("Use --arg or --json-args, not both.")
    try:
        value = json.loads(sys.stdin.buffer.read() if text == "-" else text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--json-args is not JSON: {error}.") from None
    if not isinstance(value, dict):
        raise UsageError('--json-args must be a JSON object, like {"path": "README.md"}.')
    return value


def key_values(option: str, pairs: Sequence[str]) -> dict[str, str]:
    """Split KEY=VALUE pairs."""
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"{option} {pair!r} is not KEY=VALUE.")
        if key in found:
            raise UsageError(
                f"{option} {key!r} is given twice. A list is one value: {option} '{key}=[1, 2]'."
            )
        found[key] = value
    return found


def _value(text: str, wanted: Any, schema: Mapping[str, Any]) -> Any:
    from halflap.schema import compile_schema

    wanted = wanted if isinstance(wanted, dict) else {}
    if wanted.get("type") == "string":
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    definitions = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    fits = compile_schema({**definitions, **wanted})
    # Where text fits as well as something else, as for an optional name, 123 may be meant as text.
    is_text = fits is not None and fits.problems(value) and not fits.problems(text)
    return text if is_text else value


def read_at_most(file: Path, limit: int) -> bytes:
    """Read a file, or stdin for `-`; a larger one is refused."""
    where = "stdin" if str(file) == "-" else str(file)
    try:
        if str(file) == "-":
            data = sys.stdin.buffer.read(limit + 1)
        else:
            with file.open("rb") as stream:
                data = stream.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name is not valid"
        raise FileError(f"{where} can't be read: {reason}. Name a file that you may read.") from None
    if len(data) > limit:
        raise FileError(f"{where} is larger than {limit // 1_000_000} MB.")
    return data


def write_text(text: str, output: Path | None) -> None:
    """Write a text to a file, or to stdout."""
    text = text if text.endswith("\n") else f"{text}\n"
    if output is None or str(output) == "-":
        write(text, exact=True)
        return
    try:
        output.write_text(text, encoding="utf-8", errors="surrogatepass")
    except OSError as error:
        raise FileError(
            f"{output} can't be written: {error.strerror}. Name a file that you may write."
        ) from None
    note(f"Written to {output}.")


def read_workflow(file: Path, *, structure: bool = True) -> Specification:
    """Read a workflow with its sub-nets from JSON or YAWL's XML."""
    from halflap.workflows.model.form import read_specification
    from halflap.workflows.model.source import decoded, parse_json
    from halflap.workflows.yawl import read_yawl

    data = read_at_most(file, _MAX_WORKFLOW)
    with naming(file):
        text = decoded(data)
        if text.lstrip().startswith("<"):
            return read_yawl(text)
        return read_specification(parse_json(text), structure=structure)


@contextlib.contextmanager
def naming(file: Path) -> Iterator[None]:
    """Add the name of the file to problems of a workflow."""
    try:
        yield
    except WorkflowError as error:
        where = "stdin" if str(file) == "-" else file
        raise WorkflowError(error.problems, f"{where}: {error.what}") from None


def confirmed(tools: Sequence[Tool], code: str, *, yes: bool) -> CallContext:
    """Ask whether a program may call these destructive tools."""
    names = frozenset(tool.name for tool in tools)
    if not tools or yes:
        return CallContext(confirmations=names)
    if not sys.stdin.isatty():
        if code in names:
            raise ToolRefusedError(f"{code!r} is destructive and was not run: {_NO_TERMINAL}.")
        return CallContext(unconfirmed=_NO_TERMINAL)
    note("The program can call destructive tools:")
    for tool in tools:
        note(f"  {tool.name}: {one_line(tool.description)}" if tool.description else f"  {tool.name}")
    if not typer.confirm("Allow this once?", err=True):
        note("It was not run.")
        raise typer.Exit(1)
    return CallContext(confirmations=names)
