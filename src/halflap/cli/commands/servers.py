"""`halflap add`, `remove`, `enable`, `disable` and `trust`: which servers Halflap uses."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.command import Invocation, command
from halflap.cli.editing import Mode, write_change
from halflap.cli.options import YesOption, confirm, key_values, resolve, tool_names
from halflap.cli.output import note, one_line, outline, plural, print_json, visible
from halflap.clients import CannotEditError, open_document, read_entry, read_own_config, yaml_block
from halflap.config import (
    PROJECT_FILES,
    Scope,
    find_project_files,
    forget_project_file,
    is_halflap,
    preview,
    trust_project_file,
    user_config_dir,
    user_file,
    working_folder,
)
from halflap.core.errors import ClientFileError, ServerNotFoundError, UsageError
from halflap.core.text import join
from halflap.core.values import OWN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from halflap.catalog import Snapshot
    from halflap.clients import Document, OwnConfig
    from halflap.config import ProjectFile, ServerConfig
    from halflap.gateway import Gateway

__all__ = ["add", "disable", "enable", "remove", "trust"]

_SHARED = ("config", "json")
_MAX_PART = 20_000
_URL = re.compile(r"https?://", re.IGNORECASE)
_VARIABLE = re.compile(r"(?<!\$)\$\{(?:env:)?(\w+)")
_PREDEFINED = {"workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator"}
NameArgument = Annotated[str, typer.Argument(help="The server's name.")]


@command(shared=_SHARED)
def add(
    invocation: Invocation,
    name: NameArgument,
    target: Annotated[
        list[str],
        typer.Argument(metavar="URL | -- COMMAND...", help="A URL, or after -- the command that starts it."),
    ],
    env: Annotated[
        list[str] | None, typer.Option("--env", "-e", metavar="KEY=VALUE", help="An environment variable.")
    ] = None,
    headers: Annotated[
        list[str] | None, typer.Option("--header", "-H", metavar="NAME=VALUE", help="A header, for a URL.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a server of the same name.")] = False,
) -> None:
    """Add a server to the configuration.

    For example `halflap add time -- uvx mcp-server-time` or `halflap add docs https://mcp.example.com/mcp`.
    """
    own, entry = _own(invocation), _entry(target, env, headers)
    if name in OWN or not re.fullmatch(r"[\w .-]{1,64}", name):
        raise UsageError(f"{name!r} can't be a server's name. Use up to 64 letters, digits, - and _.")
    if name in own.servers and not force:
        raise UsageError(
            f"There is a server {name!r} already. Choose another name, or replace it with --force."
        )
    if is_halflap(entry.get("command"), entry.get("args", ())):
        raise UsageError("This command starts Halflap itself, which can't be one of its own servers.")
    _, problem = read_entry(entry)
    if problem:
        raise UsageError(problem)
    path = _path(own, name) or ("mcpServers", name)
    listed = {"name": name, **entry} if isinstance(path[-1], int) else entry
    _write(own, lambda document: document.put(path, listed), {"mcpServers": {name: entry}})
    note(f"Added {name!r} to {own.file.path}. Check it: halflap doctor {name}")
    if invocation.as_json:
        print_json({"file": str(own.file.path), "name": name, "entry": entry})


def _entry(target: list[str], env: list[str] | None, headers: list[str] | None) -> dict[str, Any]:
    if len(target) == 1 and _URL.match(target[0]):
        if env:
            raise UsageError("--env is for commands; a URL has --header.")
        return {"url": target[0], **({"headers": key_values("--header", headers)} if headers else {})}
    if headers:
        raise UsageError("--header is for URLs; a command has --env.")
    entry: dict[str, Any] = {"command": target[0]}
    if target[1:]:
        entry["args"] = target[1:]
    if env:
        entry["env"] = key_values("--env", env)
    return entry


@command(shared=_SHARED)
def remove(invocation: Invocation, name: NameArgument) -> None:
    """Remove a server from the configuration. A backup of the file is kept."""
    own = _own(invocation)
    path = _known(own, name)
    _write(own, lambda document: document.remove(path))
    invocation.report(
        {"file": str(own.file.path), "name": name, "removed": True}, f"Removed {name!r} from {own.file.path}."
    )


@command(shared=_SHARED)
def enable(invocation: Invocation, name: NameArgument) -> None:
    """Enable a server that is disabled."""
    _switch(invocation, name, disabled=False)


@command(shared=_SHARED)
def disable(invocation: Invocation, name: NameArgument) -> None:
    """Disable a server, and keep its entry."""
    _switch(invocation, name, disabled=True)


def _switch(invocation: Invocation, name: str, *, disabled: bool) -> None:
    own = _own(invocation)
    path = _known(own, name)

    def edit(document: Document) -> None:
        entry = document.at(path)
        if "enabled" in entry:
            document.remove((*path, "enabled"))
        if disabled:
            document.put((*path, "disabled"), value=True)
        elif "disabled" in entry:
            document.remove((*path, "disabled"))

    word = "disabled" if disabled else "enabled"
    if own.servers[name].disabled is disabled:
        message = f"{name!r} is {word} already."
    else:
        _write(own, edit)
        message = f"{word.capitalize()} {name!r} in {own.file.path}."
    invocation.report({"file": str(own.file.path), "name": name, "disabled": disabled}, message)


def _own(invocation: Invocation) -> OwnConfig:
    scope = Scope.of(os.environ, working_folder())
    return read_own_config(user_file(invocation.config_file, scope)[0] or user_config_dir() / "config.yaml")


def _known(own: OwnConfig, name: str) -> tuple[str | int, ...]:
    path = _path(own, name)
    if path is None:
        raise ServerNotFoundError(name, list(own.servers))
    return path


def _path(own: OwnConfig, name: str) -> tuple[str | int, ...] | None:
    """Return where a server's entry is: under `mcpServers` or `servers`, which may be a list."""
    for form in ("mcpServers", "servers"):
        servers = own.document().value.get(form)
        if isinstance(servers, dict) and name in servers:
            return (form, name)
        for index, entry in enumerate(servers if isinstance(servers, list) else ()):
            if isinstance(entry, dict) and entry.get("name") == name:
                return (form, index)
    return None


def _write(own: OwnConfig, edit: Callable[[Document], None], by_hand: dict[str, Any] | None = None) -> None:
    document = own.document()
    try:
        edit(document)
    except CannotEditError as error:
        more = f" Add this:\n\n{yaml_block(by_hand)}" if by_hand else ""
        raise ClientFileError(f"{error}{more}") from None
    text = document.text
    open_document(own.file.path, text)
    write_change(own.file, lambda _: text.encode(), Mode(yes=True, quiet=True))


@command(shared=_SHARED)
async def trust(
    invocation: Invocation,
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
) -> None:
    """Trust this folder's project file, so that its servers can start.

    Shows what the file would start, asks, and records its hash: a changed file has to be trusted again. With --tool,
    accepts a tool's changed definition.
    """
    if tools or all_tools:
        if file is not None or revoke:
            raise UsageError("--tool and --all-tools can't be combined with a file or --revoke.")
        async with invocation.gateway() as gateway:
            done = await _accept(gateway, tools or [], all_tools=all_tools, yes=yes)
    elif revoke:
        done = [_revoke(path) for path in ([file] if file is not None else _here())]
    else:
        done = [_trust(one, yes=yes) for one in _project_files(file)]
    if invocation.as_json:
        print_json(done)


def _here() -> list[Path]:
    found = [Path.cwd() / name for name in PROJECT_FILES if os.path.lexists(name)]
    if not found:
        raise UsageError(f"There is no {join(PROJECT_FILES, 'or')} in this folder. Name the file.")
    return found


def _project_files(file: Path | None) -> Sequence[ProjectFile]:
    if file is not None and file.name not in PROJECT_FILES:
        raise UsageError(
            f"{file} is not a project file; those are named {join(PROJECT_FILES, 'or')}. Your own file needs no trust: "
            "pass it with --config."
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
    changed = "has changed; it " if file.state == "changed" else ""
    note(f"{file.path} {changed}would add {plural(len(servers), 'server')}:")
    for server in servers:
        note("\n".join([f"  {one_line(server.name)}", *outline(_effects(server), "    ")]))
    confirm("Trust it?", "Not trusted.", yes=yes)
    trust_project_file(file.path, digest=file.digest)
    note("Trusted.")
    return done


def _effects(server: ServerConfig) -> dict[str, Any]:
    """Return everything a server would do, in full: something may be hidden in what is cut off or invisible."""
    command = None if server.command is None else shlex.join((server.command, *server.args))
    sets = [f"{name}={shlex.quote(value)}" for name, value in server.env.items()]
    sends = [f"{name}: {value}" for name, value in server.headers.items()]
    texts = {
        "runs": command,
        "connects to": server.url,
        "in folder": server.cwd,
        "with variables of": server.env_file,
    }
    every = " ".join([*(text or "" for text in texts.values()), *server.args, *sets, *sends])
    return {
        **{key: None if text is None else visible(text) for key, text in texts.items()},
        "sets": [visible(one) for one in sets],
        "sends": [visible(one) for one in sends],
        "reads your variables": sorted(set(_VARIABLE.findall(every)) - _PREDEFINED),
        "its annotations are believed": server.trust_annotations or None,
        "disabled": server.disabled or None,
    }


async def _accept(gateway: Gateway, names: list[str], *, all_tools: bool, yes: bool) -> list[dict[str, Any]]:
    changed = gateway.snapshot.changed
    wanted = [await resolve(gateway, name) for name in dict.fromkeys(names)]
    wanted = sorted(changed) if all_tools else wanted
    for name in wanted:
        if name not in gateway.snapshot.prompts:
            gateway.snapshot.find(name)
        if name in changed:
            _show_definition(name, gateway.snapshot)
    if any(name in changed for name in wanted):
        confirm("Accept it?" if len(wanted) == 1 else "Accept them?", "Not accepted.", yes=yes)
    accepted = await gateway.accept(wanted)
    for name in wanted:
        note(f"{name}: {'accepted' if name in accepted else 'has not changed'}.")
    if not wanted:
        note("No definitions have changed.")
    return [{"tool": name, "accepted": name in accepted} for name in wanted]


def _show_definition(name: str, snapshot: Snapshot) -> None:
    """Show each changed part before and after, invisible characters escaped: they may be all that changed."""
    from halflap.catalog import PARTS

    changed, accepted = snapshot.changed[name], snapshot.accepted[name]
    tool = snapshot.tools.get(name) or snapshot.prompts[name]
    claims = tool.annotations
    now = {
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": {
            "title": claims.title,
            "readOnlyHint": claims.read_only,
            "destructiveHint": claims.destructive,
            "idempotentHint": claims.idempotent,
            "openWorldHint": claims.open_world,
        },
    }
    note(f"{name} has changed: {', '.join(changed)}")
    for key in (key for key, word in PARTS.items() if word in changed):
        for word, value in (("was", accepted.get(key)), ("is", now[key])):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            note(f"  {key} {word}: {visible(text[:_MAX_PART])}")
