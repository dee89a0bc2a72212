"""`halflap trust`."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.options import (
    ConfigOption,
    JsonOption,
    YesOption,
    confirm,
    opened,
    read_config,
    resolve,
    tool_names,
)
from halflap.cli.output import note, one_line, plural, print_json, reported, visible
from halflap.config import (
    PROJECT_FILES,
    find_project_files,
    forget_project_file,
    preview,
    trust_project_file,
)
from halflap.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.catalog import Snapshot
    from halflap.config import Config, ProjectFile, ServerConfig

__all__ = ["trust"]

_LONGEST_PART = 20_000


@reported
def trust(
    file: Annotated[
        Path | None,
        typer.Argument(help="A project file; by default those in this folder.", show_default=False),
    ] = None,
    yes: YesOption = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Stop trusting the file.")] = False,
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
    as_json: JsonOption = False,
) -> None:
    """Trust this folder's project file, so that its servers can start.

    Shows what the file would start, asks, and records its hash: a changed file has to be trusted again. With --tool,
    accepts a tool's changed definition.
    """
    if tools or all_tools:
        if file is not None or revoke:
            raise UsageError("--tool and --all-tools can't be combined with a file or --revoke.")
        done = asyncio.run(_accept(read_config(config), tools or [], all_tools=all_tools, yes=yes))
    elif revoke:
        done = [_revoke(path) for path in ([file] if file is not None else _here())]
    else:
        done = [_trust(one, yes=yes) for one in _project_files(file)]
    if as_json:
        print_json(done)


def _here() -> list[Path]:
    there = [Path.cwd() / name for name in PROJECT_FILES if os.path.lexists(name)]
    if not there:
        raise UsageError(
            f"There is no {', '.join(PROJECT_FILES[:-1])} or {PROJECT_FILES[-1]} in this folder. Name the file."
        )
    return there


def _project_files(file: Path | None) -> Sequence[ProjectFile]:
    if file is not None and file.name not in PROJECT_FILES:
        raise UsageError(
            f"{file} is not a project file; those are named {', '.join(PROJECT_FILES[:-1])} or {PROJECT_FILES[-1]}. "
            "Your own file needs no trust: pass it with --config."
        )
    found = find_project_files(None if file is None else file.parent)
    named = [one for one in found if file is None or one.path.name == file.name]
    for path in [] if named else [file] if file is not None else _here():
        preview(path)  # Raises what is wrong with a file that can't be read.
    return named


def _revoke(path: Path) -> dict[str, Any]:
    known = forget_project_file(path)
    note(f"{path} {'is no longer trusted' if known else 'was not trusted'}.")
    return {"file": str(path), "state": "new", "revoked": known}


def _trust(file: ProjectFile, *, yes: bool) -> dict[str, Any]:
    servers = preview(file.path, digest=file.digest)
    done = {"file": str(file.path), "state": "trusted", "servers": [server.name for server in servers]}
    if file.state == "trusted":
        note(f"{file.path} is trusted already.")
        return done
    note(
        f"{file.path} {'has changed; it would' if file.state == 'changed' else 'would'} add {plural(len(servers), 'server')}:"
    )
    for server in servers:
        note(f"  {one_line(server.name)}: {_what_it_does(server)}")
    confirm("Trust it?", "Not trusted.", yes=yes)
    trust_project_file(file.path, digest=file.digest)
    note("Trusted.")
    return done


def _what_it_does(server: ServerConfig) -> str:
    """Describe a server in full: something may be hidden in what is cut off or invisible."""
    parts = []
    if server.command is not None:
        parts.append(f"runs `{visible(shlex.join((server.command, *server.args)))}`")
        if server.cwd is not None:
            parts.append(f"in {visible(server.cwd)}")
        parts += [f"with {visible(f'{name}={shlex.quote(value)}')} set" for name, value in server.env.items()]
        if server.env_file is not None:
            parts.append(f"with the variables of the file {visible(server.env_file)} set")
    else:
        parts.append(f"connects to {visible(server.url or '')}")
        parts += [f"sends {visible(f'{name}: {value}')}" for name, value in server.headers.items()]
    texts = [server.command or "", server.url or "", server.cwd or "", server.env_file or ""]
    read = re.findall(r"(?<!\$)\$\{(?:env:)?(\w+)", " ".join([*texts, *server.args, *_values(server)]))
    own = sorted(set(read) - {"workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator"})
    if own:
        parts.append(f"gets your environment variables {visible(', '.join(own))}")
    if server.trust_annotations:
        parts.append("is believed about what its tools do (trust_annotations)")
    if server.disabled:
        parts.append("once it is enabled")
    return "\n    ".join(parts)


def _values(server: ServerConfig) -> list[str]:
    return [*server.env.values(), *server.headers.values()]


async def _accept(config: Config, names: list[str], *, all_tools: bool, yes: bool) -> list[dict[str, Any]]:
    async with opened(config) as gateway:
        changed = gateway.snapshot.changed
        wanted = (
            sorted(changed) if all_tools else [await resolve(gateway, name) for name in dict.fromkeys(names)]
        )
        for name in wanted:
            gateway.snapshot.find(name)
            if name in changed:
                _show_change(name, gateway.snapshot)
        if any(name in changed for name in wanted):
            confirm("Accept it?" if len(wanted) == 1 else "Accept them?", "Not accepted.", yes=yes)
        accepted = await gateway.accept(wanted)
        for name in wanted:
            note(f"{name}: {'accepted' if name in accepted else 'has not changed'}.")
        if not wanted:
            note("No definitions have changed.")
        return [{"tool": name, "accepted": name in accepted} for name in wanted]


def _show_change(name: str, snapshot: Snapshot) -> None:
    """Show each changed part before and after, invisible characters escaped: they may be all that changed."""
    changed, accepted, tool = snapshot.changed[name], snapshot.accepted[name], snapshot.tools[name]
    note(f"{name} has changed: {', '.join(changed)}")
    now = {
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": {
            "title": tool.annotations.title,
            "readOnlyHint": tool.annotations.read_only,
            "destructiveHint": tool.annotations.destructive,
            "idempotentHint": tool.annotations.idempotent,
            "openWorldHint": tool.annotations.open_world,
        },
    }
    from halflap.catalog import PARTS

    for key in (key for key, word in PARTS.items() if word in changed):
        note(f"  {key} was: {visible(_text(accepted.get(key))[:_LONGEST_PART])}")
        note(f"  {key} is:  {visible(_text(now[key])[:_LONGEST_PART])}")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
