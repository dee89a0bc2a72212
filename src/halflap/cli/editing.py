"""Change a file: show how, ask, back it up and write it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from halflap.cli.options import confirm
from halflap.cli.output import note, print_lines
from halflap.clients.files import FileText, back_up, read_file, replace_file
from halflap.clients.imports import OwnConfig, read_own_config
from halflap.config import Scope, user_config_dir, user_data_dir, user_file

if TYPE_CHECKING:
    from halflap.cli.command import Invocation


def write_change(
    before: FileText,
    edit: Callable[[FileText], str | None],
    *,
    yes: bool,
    dry_run: bool = False,
    preview: Iterable[str] = (),
) -> bool:
    """Write what `edit` makes of a file, if that is confirmed; None deletes it. Return whether it was written.

    Clients write their files at any time. If one did while the question was open, the edit is made again.
    """
    after = edit(before)
    if lines := list(preview):
        print_lines(lines)
    if dry_run:
        note("Nothing was written.")
        return False
    confirm(f"Write {before.path}?", "Nothing was written.", yes=yes)
    now = read_file(before.path)
    if now.data != before.data:
        before, after = now, edit(now)
    if before.data is not None:
        note(f"Backup: {back_up(before, user_data_dir() / 'backups')}")
    replace_file(before, None if after is None else after.encode())
    return True


def own_config(invocation: Invocation) -> OwnConfig:
    """Read the configuration file that commands change; it need not exist yet."""
    scope = Scope.of()
    path = user_file(invocation.config_file, scope)[0] or user_config_dir() / "config.yaml"
    return read_own_config(path, scope)
