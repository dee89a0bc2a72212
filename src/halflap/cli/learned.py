"""`halflap schema show` and `halflap schema drift`."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.complete import tool_names
from halflap.cli.learned_text import field_lines, field_rows, history_lines
from halflap.cli.output import (
    ConfigOption,
    JsonOption,
    VerboseOption,
    note,
    one_line,
    print_json,
    reported,
    set_up_logging,
)
from halflap.cli.progress import working
from halflap.cli.setting import opened, read_config
from halflap.cli.wrapping import print_lines
from halflap.core.errors import ToolNotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.config import Config
    from halflap.core.values import Tool
    from halflap.gateway import Gateway
    from halflap.observe import Known
    from halflap.store import Breach, DriftEvent, StoredShape

__all__ = ["drift", "drift_line", "show"]


@reported
def show(
    name: Annotated[str, typer.Argument(help="The tool's namespaced name.", autocompletion=tool_names)],
    history: Annotated[
        bool, typer.Option("--history", help="Show what was learned of it as it was defined before, too.")
    ] = False,
    python: Annotated[bool, typer.Option("--python", help="Show it as a typed Python function.")] = False,
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="Show what was learned as JSON Schema, with counts.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Show what a tool returns: what it declares, what was learned from its results, and how sure that is."""
    set_up_logging(verbose=verbose, tells_of_servers=True)
    if sum((history, python, json_schema)) > 1:
        raise UsageError("Give one of --history, --python and --json-schema.")
    asyncio.run(
        _show(
            read_config(config),
            name,
            history=history,
            python=python,
            json_schema=json_schema,
            as_json=as_json,
        )
    )


async def _show(
    config: Config, name: str, *, history: bool, python: bool, json_schema: bool, as_json: bool
) -> None:
    async with opened(config) as gateway:
        with working(f"Looking for {one_line(name)}"):
            described = await _inspected(gateway, name)
        tool = gateway.snapshot.find(name)
        if python:
            _write((await gateway.stubs(name=name)).rstrip("\n") + "\n")
            return
        known = await gateway.known(tool)
        if json_schema:
            if known is None:
                note(f"Nothing was learned of {one_line(name)} yet.")
                raise typer.Exit(1)
            _write(json.dumps(_whole_schema(gateway, known), indent=2, ensure_ascii=False) + "\n")
            return
        rows = await gateway.learned_rows(tool.server, tool.original_name)
    if as_json:
        print_json(_as_json(described, tool, known, rows, history=history))
    elif history:
        print_lines(history_lines(tool, rows))
    else:
        _draw(_lines(described, known), field_rows(tool, known))


async def _inspected(gateway: Gateway, name: str) -> dict[str, Any]:
    try:
        return await gateway.inspect(name)
    except ToolNotFoundError:
        rows = await gateway.unlisted(name)
        if not rows:
            raise
        results = sum(row.learned.observations for row in rows)
        raise UsageError(
            f"{name} is not in the catalogue. Something was learned of it ({results} results), which waits for its "
            f"server {rows[0].server!r} to be listed: configure that, and run `halflap list`. `halflap schema export` "
            "has it; `halflap schema forget` forgets it."
        ) from None


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _whole_schema(gateway: Gateway, known: Known) -> dict[str, Any]:
    from halflap.learn import schema_of  # noqa: PLC0415 -- the commands beside this one do without
    from halflap.observe import whole  # noqa: PLC0415 -- as above

    return schema_of(whole(known.learned), enums=gateway.config.learning.values)


def _as_json(
    described: dict[str, Any], tool: Tool, known: Known | None, rows: Sequence[StoredShape], *, history: bool
) -> dict[str, Any]:
    from halflap.cli.learned_text import versions  # noqa: PLC0415 -- as above

    shown = ("outputSchema", "observedSchema", "observations", "confidence", "lastObserved", "drift")
    told = {"name": tool.name, **{key: described[key] for key in shown if key in described}}
    if known is not None:
        told |= {"texts": known.texts, "errors": known.errors}
    if history:
        told["history"] = versions(tool, rows)
    return told


def _draw(lines: list[str], fields: list[tuple[str, ...]]) -> None:
    """Show the places as a tree in a terminal, and each with its whole path for whoever reads line by line."""
    if not fields:
        print_lines(lines)
    elif sys.stdout.isatty():
        from halflap.cli.trees import print_places  # noqa: PLC0415 -- only a terminal needs it

        print_lines([*lines, ""])
        print_places("It returns", fields)
    else:
        print_lines([*lines, "", *field_lines(fields)])


def _lines(described: dict[str, Any], known: Known | None) -> list[str]:
    lines = [described["name"]]
    lines += [f"  {described['note']}"] if "note" in described else []
    if known is not None:
        failed = f"; {known.errors} more failed" if known.errors else ""
        when = described.get("lastObserved") or "unknown"
        lines.append(
            f"  {known.observations} results{failed}. Confidence {known.confidence:.2f}. Last: {when}"
        )
    for one in described.get("drift", ()):
        when = f"Since {one['since']}" if one["since"] else "In logs"
        lines.append(f"  {when}: {drift_line(one)}")
    return lines


def drift_line(told: dict[str, Any]) -> str:
    """Say in a line what drifted, or what breaks a declaration."""
    where = one_line(told["path"], 200) or "the result"
    if "now" in told:
        return f"{where}: {told['what'].replace('-', ' ')}, was {told['before']}, is {told['now']}"
    source = ", in logs" if "origin" in told else ""
    expected = one_line(told["before"], 200)
    often = "once" if told["times"] == 1 else f"{told['times']} times"
    return f"{where}: breaks what is declared, expected {expected} ({often}{source})"


@reported
def drift(
    name: Annotated[
        str | None,
        typer.Argument(
            help="The namespaced name of the only tool to look at.",
            autocompletion=tool_names,
            show_default=False,
        ),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """List what tools return otherwise than they did, and where results break what is declared."""
    set_up_logging(verbose=verbose, tells_of_servers=True)
    found = asyncio.run(_drift(read_config(config), name))
    if as_json:
        print_json(found)
        return
    if not found:
        note("Nothing has drifted.")
        return
    print_lines(f"{one['since'] or 'in logs':<25}  {one['tool']}  {drift_line(one)}" for one in found)


async def _drift(config: Config, name: str | None) -> list[dict[str, Any]]:
    async with opened(config) as gateway:
        await gateway.prepare()
        tools = gateway.snapshot.tools
        wanted = None if name is None else gateway.snapshot.find(name)
        events, breaches = (
            await gateway.drift()
            if wanted is None
            else await gateway.drift(wanted.server, wanted.original_name)
        )
        names = {(tool.server, tool.original_name): tool for tool in tools.values()}
        found: list[DriftEvent | Breach] = [*events, *breaches]
        return [_told(one, names) for one in found]


def _told(one: DriftEvent | Breach, names: dict[tuple[str, str], Tool]) -> dict[str, Any]:
    from halflap.observe import drift_told  # noqa: PLC0415 -- as above
    from halflap.store import Breach  # noqa: PLC0415 -- as above

    (told,) = drift_told([], [one]) if isinstance(one, Breach) else drift_told([one], [])
    tool = names.get((one.server, one.tool))
    return {
        "tool": f"{one.server}.{one.tool}" if tool is None else tool.name,
        **told,
        # Of a definition that is no more, it is history.
        "current": tool is not None and one.definition_hash in {tool.schema_hash, ""},
    }
