"""Change a file: show how, ask, back it up and write it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from halflap.cli.options import confirm
from halflap.cli.output import note, print_lines
from halflap.clients.files import back_up, delete, read_file, replace_file
from halflap.clients.imports import OwnConfig, read_own_config
from halflap.config import Scope, user_config_dir, user_data_dir, user_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from halflap.cli.command import Invocation
    from halflap.clients.files import FileText


@dataclass(frozen=True, slots=True)
class Written:
    """A file before it was written, and its backup."""

    before: FileText
    backup: Path | None


Edit: TypeAlias = "Callable[[FileText], bytes | None]"
"""Returns what a file becomes; None deletes it."""


def write_change(
    before: FileText, edit: Edit, *, yes: bool, dry_run: bool = False, preview: Iterable[str] = ()
) -> Written | None:
    """Write a file if that is confirmed; None if it was not written.

    Clients write their files at any time. If one did while the question was open, the edit is made again.
    """
    after = edit(before)
    if lines := list(preview):
        print_lines(lines)
    if dry_run:
        note("Nothing was written.")
        return None
    confirm(f"Write {before.path}?", "Nothing was written.", yes=yes)
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


def own_config(invocation: Invocation) -> OwnConfig:
    """Read the configuration file that commands change; it need not exist yet."""
    scope = Scope.of()
    path = user_file(invocation.config_file, scope)[0] or user_config_dir() / "config.yaml"
    return read_own_config(path, scope)
