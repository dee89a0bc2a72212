"""Show what a file would become, ask, back it up and write it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from halflap.cli.options import confirm
from halflap.cli.output import data_console, note, visible
from halflap.clients import back_up, delete, read_file, replace_file
from halflap.config import Config, ServerConfig, user_data_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from halflap.clients import FileText

__all__ = ["Mode", "Written", "show_change", "write_change"]

_MAX_LINE = 400
_MIN_SECRET = 4
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


@dataclass(frozen=True, slots=True)
class Mode:
    """How a command that changes a file was asked to do it."""

    yes: bool = False
    only_show: bool = False
    as_json: bool = False
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
    if not (mode.as_json or mode.quiet):
        show_change(before, after)
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


def show_change(before: FileText, after: bytes | None) -> None:
    """Print a unified diff, with what looks secret redacted."""
    from halflap.calls import MARK, Redactor

    old = "" if before.data is None else before.text
    new = "" if after is None else after.decode()
    found = [*_secrets_in(before.path, old), *_secrets_in(before.path, new)]
    redactor = Redactor(tuple(dict.fromkeys(one for one in found if len(one) >= _MIN_SECRET)))
    lines = difflib.unified_diff(
        old.splitlines(),
        new.splitlines(),
        "/dev/null" if before.data is None else str(before.path),
        "/dev/null" if after is None else str(before.path),
        lineterm="",
    )
    console = data_console()
    text = "\n".join(lines)
    shown = redactor.text(text)
    for line in shown.split("\n"):
        one = visible(line.replace("\t", "    "))
        console.print(one[:_MAX_LINE], style=_STYLES.get(line[:1], ""), soft_wrap=True)
    if MARK in shown and MARK not in text:
        note(f"{MARK} hides what looks secret; the file has the real value.")


def _secrets_in(path: Path, text: str) -> Iterator[str]:
    """Yield the secrets among a file's servers: what is known as secret, and all headers."""
    from halflap.calls import configured_secrets
    from halflap.clients import open_document
    from halflap.core.errors import ClientFileError

    try:
        value = open_document(path, text).value
    except ClientFileError:
        return
    for server in _servers_within(value, 0):
        yield from (one for one in configured_secrets(Config(servers=(server,))) if "${" not in one)
        yield from (one.rpartition(" ")[2] for one in server.headers.values() if "${" not in one)


def _servers_within(value: Any, depth: int) -> Iterator[ServerConfig]:
    deepest = len(("projects", "folder", "mcpServers", "server"))
    if not isinstance(value, dict) or depth > deepest:
        return
    command, url = value.get("command", value.get("cmd")), value.get("url", value.get("serverUrl"))
    if isinstance(command, str) or isinstance(url, str):
        yield ServerConfig(
            name="server",
            transport="stdio" if isinstance(command, str) else "auto",
            command=str(command or ""),
            args=tuple(str(one) for one in value.get("args") or () if isinstance(one, str)),
            env=_texts(value.get("env", value.get("envs"))),
            url=url if isinstance(url, str) else None,
            headers=_texts(value.get("headers", value.get("http_headers"))),
        )
    for member in value.values():
        yield from _servers_within(member, depth + 1)


def _texts(value: Mapping[str, Any] | None) -> dict[str, str]:
    return {str(key): str(text) for key, text in value.items()} if isinstance(value, dict) else {}
