"""`halflap trust`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from halflap.cli.complete import tool_names
from halflap.cli.output import ConfigOption, note, one_line, reported, set_up_logging
from halflap.cli.setting import read_config
from halflap.config import find_project_files, forget_project_file, preview, trust_project_file
from halflap.errors import UsageError
from halflap.gateway import Gateway

if TYPE_CHECKING:
    from halflap.config import Config, ProjectFile, ServerConfig

__all__ = ["trust"]


@reported
def trust(
    file: Annotated[
        Path | None,
        typer.Argument(help="A project file; without it, those in this folder.", show_default=False),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Trust the file no longer.")] = False,
    tools: Annotated[
        list[str] | None,
        typer.Option(
            "--tool",
            metavar="NAME",
            help="Accept this tool's changed definition instead.",
            autocompletion=tool_names,
        ),
    ] = None,
    all_tools: Annotated[
        bool, typer.Option("--all-tools", help="Accept every changed definition instead.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Trust the project file of this folder, so that its servers may be started.

    Shows what the file would start, asks, and records the file's hash: when the file changes, it has to
    be trusted again. With --tool, accepts a tool's definition that changed since it was first seen.
    """
    set_up_logging(verbose=False)
    if tools or all_tools:
        asyncio.run(_accept(read_config(config), tools or [], all_tools=all_tools))
        return
    if revoke:
        for path in [file] if file is not None else [found.path for found in find_project_files()]:
            known = forget_project_file(path)
            note(f"{path} is {'no longer trusted' if known else 'not trusted anyway'}.")
        return
    found = find_project_files(file.parent if file is not None else None)
    if file is not None:
        found = tuple(one for one in found if one.path.name == file.name)
    if not found:
        raise UsageError(
            "There is no halflap.yaml and no .mcp.json here." if file is None else f"{file} is not there."
        )
    for one in found:
        _trust(one, yes=yes)


def _trust(file: ProjectFile, *, yes: bool) -> None:
    if file.state == "trusted":
        note(f"{file.path} is trusted already.")
        return
    servers = preview(file.path, digest=file.digest)
    note(
        f"{file.path} {'has changed; it would' if file.state == 'changed' else 'would'} add {_servers(len(servers))}:"
    )
    for server in servers:
        note(f"  {one_line(server.name)}: {_what_it_does(server)}")
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("Not trusted: there is nobody to ask here. Say --yes if you have looked at it.")
        if not typer.confirm("Trust it?", err=True):
            note("Not trusted.")
            raise typer.Exit(1)
    trust_project_file(file.path, digest=file.digest)
    note("Trusted, as it is now.")


def _servers(count: int) -> str:
    return "1 server" if count == 1 else f"{count} servers"


def _what_it_does(server: ServerConfig) -> str:
    claims = (
        ", and takes its word for what its tools do (trust_annotations)" if server.trust_annotations else ""
    )
    if server.command is not None:
        words = " ".join(one_line(word) for word in (server.command, *server.args))
        names = f" with {', '.join(sorted(server.env))} set" if server.env else ""
        folder = f" in {server.cwd}" if server.cwd is not None else ""
        return f"runs `{words}`{folder}{names}{claims}"
    return f"connects to {one_line(server.url or '')}{claims}"


async def _accept(config: Config, names: list[str], *, all_tools: bool) -> None:
    async with Gateway.open(config) as gateway:
        changed = gateway.snapshot.changed
        wanted = list(changed) if all_tools else names
        for name in wanted:
            gateway.snapshot.find(name)
        accepted = await gateway.accept(wanted)
        for name in wanted:
            note(f"{name}: {'accepted as it is now' if name in accepted else 'had not changed'}.")
        if not wanted:
            note("No definition has changed.")
