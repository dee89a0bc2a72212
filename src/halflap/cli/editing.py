"""Show how a file would change, ask, back it up and write it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from halflap.cli.options import confirm
from halflap.cli.output import data_console, note, visible
from halflap.clients import back_up, delete, open_document, read_file, replace_file
from halflap.config import Config, ServerConfig, user_data_dir
from halflap.core.errors import ClientFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from halflap.clients import FileText

__all__ = ["Mode", "Written", "write_change"]

_MAX_LINE = 400
_MAX_DEPTH = 4
"""As deep as servers are in clients' files: projects, a folder, mcpServers, the server."""
_MIN_SECRET = 4
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


@dataclass(frozen=True, slots=True)
class Mode:
    """How a command that changes a file was asked to do it."""

    yes: bool = False
    only_show: bool = False
    quiet: bool = False
    """Don't show the change."""


@dataclass(frozen=True, slots=True)
class Written:
    """A file before it was written, and its backup."""

    before: FileText
    backup: Path | None


Edit: TypeAlias = "Callable[[FileText], bytes | None]"
"""Returns what a file becomes; None deletes it."""


def write_change(before: FileText, edit: Edit, mode: Mode) -> Written | None:
    """Show what a file would become, and write it if that is confirmed; None if it was not written.

    Clients write their files at any time. If one did while the question was open, the edit is made again.
    """
    after = edit(before)
    if not mode.quiet:
        _show_change(before, after)
    if mode.only_show:
        note("Nothing was written.")
        return None
    confirm(f"Write {before.path}?", "Nothing was written.", yes=mode.yes)
    now = read_file(before.path)
    if now.data != before.data:
        before, after = now, edit(now)
    backup = None if before.data is None else back_up(before, user_data_dir() / "backups")
    if after is None:
        delete(before)
    else:
        replace_file(before, after)
    if backup is not None:
        note(f"Backup: {backup}")
    return Written(before, backup)


def _show_change(before: FileText, after: bytes | None) -> None:
    """Print a unified diff, with what looks secret redacted."""
    from halflap.calls import MARK, Redactor

    old = "" if before.data is None else before.text
    new = "" if after is None else after.decode()
    secrets = dict.fromkeys([*_secrets_in(before.path, old), *_secrets_in(before.path, new)])
    was, becomes = ("/dev/null" if one is None else str(before.path) for one in (before.data, after))
    text = "\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), was, becomes, lineterm=""))
    shown = Redactor(tuple(one for one in secrets if len(one) >= _MIN_SECRET)).text(text)
    console = data_console()
    for line in shown.split("\n"):
        one = visible(line.replace("\t", "    "))[:_MAX_LINE]
        console.print(one, style=_STYLES.get(line[:1], ""), soft_wrap=True)
    if MARK in shown and MARK not in text:
        note(f"{MARK} hides what looks secret; the file has the real value.")


def _secrets_in(path: Path, text: str) -> Iterator[str]:
    """Yield the secrets among a file's servers: what is known as secret, and all headers."""
    from halflap.calls import configured_secrets

    try:
        value = open_document(path, text).value
    except ClientFileError:
        return
    for server in _servers_within(value, 0):
        yield from (one for one in configured_secrets(Config(servers=(server,))) if "${" not in one)
        yield from (one.rpartition(" ")[2] for one in server.headers.values() if "${" not in one)


def _servers_within(value: Any, depth: int) -> Iterator[ServerConfig]:
    if not isinstance(value, dict) or depth > _MAX_DEPTH:
        return
    command, url = value.get("command", value.get("cmd")), value.get("url", value.get("serverUrl"))
    if isinstance(command, str) or isinstance(url, str):
        args = value.get("args")
        yield ServerConfig(
            name="server",
            transport="stdio" if isinstance(command, str) else "auto",
            command=str(command or ""),
            args=tuple(map(str, args)) if isinstance(args, list) else (),
            env=_texts(value.get("env", value.get("envs"))),
            url=url if isinstance(url, str) else None,
            headers=_texts(value.get("headers", value.get("http_headers"))),
        )
    for member in value.values():
        yield from _servers_within(member, depth + 1)


def _texts(value: Any) -> dict[str, str]:
    return {str(key): str(text) for key, text in value.items()} if isinstance(value, dict) else {}
