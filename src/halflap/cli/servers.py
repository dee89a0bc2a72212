"""`halflap add`, `remove`, `enable` and `disable`: change the servers in the configuration file."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.changes import Mode, write_change
from halflap.cli.options import ConfigOption, JsonOption
from halflap.cli.output import note, print_json, reported
from halflap.clients import CannotEditError, open_document, read_entry, read_own_config, yaml_block
from halflap.config import Scope, is_halflap, user_config_dir, user_file, working_folder
from halflap.core.errors import ClientFileError, ServerNotFoundError, UsageError
from halflap.core.values import OWN

if TYPE_CHECKING:
    from collections.abc import Callable

    from halflap.clients import Document, OwnConfig

__all__ = ["add", "disable", "enable", "remove"]

NameArgument = Annotated[str, typer.Argument(help="The server's name.")]
_URL = re.compile(r"https?://", re.IGNORECASE)


@reported
def add(
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
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a server to the configuration.

    For example `halflap add time -- uvx mcp-server-time` or `halflap add docs https://mcp.example.com/mcp`.
    """
    own = _own(config)
    entry = _entry(target, env or [], headers or [])
    _check_new(name, entry, own, force=force)
    path = _path(own, name) or ("mcpServers", name)
    listed = {"name": name, **entry} if isinstance(path[-1], int) else entry
    _write(own, lambda document: document.put(path, listed), {"mcpServers": {name: entry}})
    note(f"Added {name!r} to {own.file.path}. Check it: halflap doctor {name}")
    if as_json:
        print_json({"file": str(own.file.path), "name": name, "entry": entry})


def _entry(target: list[str], env: list[str], headers: list[str]) -> dict[str, Any]:
    if len(target) == 1 and _URL.match(target[0]):
        if env:
            raise UsageError("--env is for commands; a URL has --header.")
        return {"url": target[0], **({"headers": _pairs("--header", headers)} if headers else {})}
    if headers:
        raise UsageError("--header is for URLs; a command has --env.")
    command, *args = target
    entry: dict[str, Any] = {"command": command}
    if args:
        entry["args"] = args
    if env:
        entry["env"] = _pairs("--env", env)
    return entry


def _pairs(option: str, texts: list[str]) -> dict[str, str]:
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"{option} {text!r} is not NAME=VALUE.")
        found[key] = value
    return found


def _check_new(name: str, entry: dict[str, Any], own: OwnConfig, *, force: bool) -> None:
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


@reported
def remove(name: NameArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Remove a server from the configuration. A backup of the file is kept."""
    own = _own(config)
    path = _known(own, name)
    _write(own, lambda document: document.remove(path))
    note(f"Removed {name!r} from {own.file.path}.")
    if as_json:
        print_json({"file": str(own.file.path), "name": name, "removed": True})


@reported
def enable(name: NameArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Enable a server that is disabled."""
    _switch(name, config, as_json=as_json, disabled=False)


@reported
def disable(name: NameArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Disable a server, and keep its entry."""
    _switch(name, config, as_json=as_json, disabled=True)


def _switch(name: str, config: Path | None, *, as_json: bool, disabled: bool) -> None:
    own = _own(config)
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
        note(f"{name!r} is {word} already.")
    else:
        _write(own, edit)
        note(f"{word.capitalize()} {name!r} in {own.file.path}.")
    if as_json:
        print_json({"file": str(own.file.path), "name": name, "disabled": disabled})


def _own(config: Path | None) -> OwnConfig:
    scope = Scope.of(os.environ, working_folder())
    return read_own_config(user_file(config, scope)[0] or user_config_dir() / "config.yaml")


def _known(own: OwnConfig, name: str) -> tuple[str | int, ...]:
    path = _path(own, name)
    if path is None:
        raise ServerNotFoundError(name, list(own.servers))
    return path


def _path(own: OwnConfig, name: str) -> tuple[str | int, ...] | None:
    """Return where a server's entry is: under `mcpServers` or `servers`, which may be a list."""
    value = own.document().value
    for form in ("mcpServers", "servers"):
        servers = value.get(form)
        if isinstance(servers, dict) and name in servers:
            return (form, name)
        if isinstance(servers, list):
            for index, entry in enumerate(servers):
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
