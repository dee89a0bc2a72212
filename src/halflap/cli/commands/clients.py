"""`halflap init` and `halflap install`: import servers from other clients, and add Halflap to them."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Exit, Option

from halflap.cli.command import Invocation, command
from halflap.cli.editing import own_config, write_change
from halflap.cli.options import YesOption
from halflap.cli.output import note, one_line, print_json, visible, write
from halflap.clients.documents import CannotEditError, yaml_block
from halflap.clients.files import read_file
from halflap.clients.imports import plan_import
from halflap.clients.install import (
    entry_for,
    install_into,
    is_temporary,
    own_command,
    own_variables,
    read_receipt,
    undo,
    write_receipt,
)
from halflap.clients.places import CLIENTS, project_places, user_places
from halflap.clients.read import gather
from halflap.clients.translate import read_entry
from halflap.config import Config, Scope, load_config, user_data_dir
from halflap.core.errors import ClientFileError, UsageError
from halflap.core.text import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halflap.clients.files import FileText
    from halflap.clients.imports import Import, OwnConfig
    from halflap.clients.install import Installation
    from halflap.clients.places import Place
    from halflap.clients.read import Gathered

DryRunOption = Annotated[bool, Option("--dry-run", help="Only show what would be written.")]


@command(shared=("config", "json"))
def init(
    invocation: Invocation,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
    project: Annotated[bool, Option("--project", help="Also import from this folder's files.")] = False,
) -> None:
    """Import MCP servers from your other clients.

    Reads the files of Claude Code, Claude Desktop, Cursor, VS Code, Windsurf, Codex, Gemini CLI, Zed, Cline and Goose,
    shows what it would add to Halflap's configuration, and asks. The clients' files are not changed. Run it again at
    any time: it only adds what is new.
    """
    own, scope = own_config(invocation), Scope.of()
    target = own.file.path
    places = [*user_places(sys.platform, os.environ), *(project_places(scope.workspace) if project else ())]
    gathered = gather([place for place in places if place.file != target], scope)
    plan = plan_import(gathered.servers, own, scope)
    _report_found(gathered, plan, scope)
    sign_in = [name for name, one in plan.new.items() if one.signs_in and not one.disabled]
    written = bool(plan.new) and _write_import(own, plan, scope, invocation, yes=yes, dry_run=dry_run)
    if written:
        note(f"Written: {target}")
    elif not plan.new and plan.present:
        note(f"Nothing new: {target} stays as it is.")
    elif not plan.new:
        note("No MCP servers to import. Add one: halflap add NAME -- COMMAND")
    if sign_in:
        note(f"Sign-in may be needed: {', '.join(map(one_line, sign_in))}. `halflap doctor` checks them.")
    if written:
        note("Next: `halflap doctor` checks the servers; `halflap install CLIENT` adds Halflap to a client.")
    if invocation.as_json:
        print_json(
            {
                "file": str(target),
                "written": written,
                "added": [
                    {"name": name, "disabled": one.disabled, "comments": list(one.notes)}
                    for name, one in plan.new.items()
                ],
                "present": [
                    {"name": name, "client": one.place.client.slug, "file": str(one.place.file)}
                    for name, one in plan.present
                ],
                "kept_out": [{"name": one.name, "reason": reason} for one, reason in plan.refused],
                "sign_in": sign_in,
                "unreadable": list(gathered.unreadable),
                "notes": plan.notes,
            }
        )


def _report_found(gathered: Gathered, plan: Import, scope: Scope) -> None:
    for where, number in Counter(one.place.describe(scope.home) for one in gathered.servers).items():
        note(f"Found {plural(number, 'server')}: {where}")
    for problem in gathered.unreadable:
        note(f"Skipped: {problem}")
    for one, reason in plan.refused:
        note(f"Not imported: {one.label} of {one.place.describe(scope.home)}: {reason}")
    for text in plan.notes:
        note(f"Note: {text}")


def _write_import(own: OwnConfig, plan: Import, scope: Scope, invocation: Invocation, **how: bool) -> bool:
    entries = {name: dict(one.entry) for name, one in plan.new.items()}
    document = own.document()
    try:
        plan.apply(document, scope.home)
    except CannotEditError as error:
        raise ClientFileError(f"{error} Add this:\n\n{yaml_block({'mcpServers': entries})}") from None
    shown, secrets = _without_secrets(entries)
    preview = [f"To be added to {own.file.path}:", "", *shown.splitlines()]
    before, after = own.file, document.text.encode()
    if secrets:
        note(f"These contain plain-text secrets; consider ${{NAME}}: {', '.join(map(one_line, secrets))}.")
        before = replace(before, mode=before.mode & 0o700)
    shown_lines = () if invocation.as_json else preview
    return write_change(before, lambda _: after, preview=shown_lines, **how) is not None


def _without_secrets(entries: Mapping[str, dict[str, Any]]) -> tuple[str, list[str]]:
    """Return entries as YAML with their secrets redacted, and the names of those that have any."""
    from halflap.calls import Redactor, configured_secrets

    secrets = {}
    for name, entry in entries.items():
        server, _ = read_entry(entry)
        found = configured_secrets(Config(servers=() if server is None else (server,)))
        secrets[name] = [one for one in found if "${" not in one]
    text = Redactor(tuple(one for found in secrets.values() for one in found)).text(yaml_block(entries))
    return visible(text, kept="\n"), [name for name, found in secrets.items() if found]


@command(shared=("config", "json"))
def install(
    invocation: Invocation,
    client: Annotated[
        str,
        Argument(
            metavar="CLIENT", help=f"One of {', '.join(CLIENTS)}.", autocompletion=lambda: list(CLIENTS)
        ),
    ],
    move: Annotated[bool, Option("--move", help="Remove the servers that Halflap has, too.")] = False,
    undo_it: Annotated[bool, Option("--undo", help="Restore the client's original file.")] = False,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Add Halflap to a client.

    Shows the change to the client's file, and asks. The rest of the file stays as it is, and a backup is kept; --undo
    restores it.
    """
    if client not in CLIENTS:
        raise UsageError(f"There is no client {client!r}. Choose from {', '.join(CLIENTS)}.")
    if undo_it and (move or invocation.config_file is not None):
        raise UsageError("--undo can't be combined with --move or --config.")
    place = next(one for one in user_places(sys.platform, os.environ) if one.client.slug == client)
    how = {"yes": yes, "dry_run": dry_run}
    done = _undo(invocation, place, **how) if undo_it else _install(invocation, place, move=move, **how)
    if invocation.as_json:
        print_json({"client": client, "file": str(place.file), **done})


def _install(invocation: Invocation, place: Place, *, move: bool, **how: bool) -> dict[str, Any]:
    if is_temporary(sys.executable):
        note("Halflap runs from a temporary folder here. Install it (pipx install halflap) to keep it there.")
    config, scope, data_dir = invocation.config_file, Scope.of(), user_data_dir()
    starting = own_command(sys.executable, config, scope.home)
    entry = entry_for(place.client.slug, starting, own_variables(os.environ))
    earlier, before = read_receipt(data_dir, place.file), read_file(place.file)

    def install(file: FileText) -> Installation:
        # Read again each time: a client must not get a command that fails, nor lose what Halflap no longer has.
        configured = load_config(config).servers
        return install_into(
            file, place, entry, scope, configured=configured if move else None, earlier=earlier
        )

    try:
        work = install(before)
        for name, reason in work.stays:
            note(f"`{one_line(name)}` stays: {reason}.")
        if work.after == before.data:
            note(f"Nothing to do: {place.file} stays as it is.")
            written = None
        else:
            moved = (f"  - {one_line(one.name)}" for one in work.receipt.moved)
            preview = [f"{place.file}:", f"  + {work.receipt.name}: {shlex.join(starting)}", *moved]
            shown = () if invocation.as_json else preview
            written = write_change(before, lambda file: install(file).after, preview=shown, **how)
    except CannotEditError:
        note(f"{place.file} can't be changed without losing its layout. Add this to it yourself:")
        write(_snippet(place, entry))
        raise Exit(1) from None
    if written is not None:
        first = earlier or work.receipt.model_copy(
            update={"backup": written.backup, "original": written.before.digest}
        )
        now = {"backup": first.backup, "original": first.original, "written": read_file(place.file).digest}
        write_receipt(data_dir, place.file, install(written.before).receipt.model_copy(update=now))
        note(f"Installed in {place.client.label}. Restart it if it is running.")
    return {
        "name": work.receipt.name,
        "moved": [one.name for one in work.receipt.moved],
        "stays": [{"name": name, "why": reason} for name, reason in work.stays],
        "written": written is not None,
    }


def _snippet(place: Place, entry: dict[str, Any]) -> str:
    value = {place.client.key: {"halflap": entry}}
    if place.file.suffix == ".toml":
        import tomlkit

        return str(tomlkit.dumps(value))
    return yaml_block(value) if place.file.suffix == ".yaml" else json.dumps(value, indent=2) + "\n"


def _undo(invocation: Invocation, place: Place, **how: bool) -> dict[str, Any]:
    data_dir = user_data_dir()
    receipt = read_receipt(data_dir, place.file)
    if receipt is None:
        raise UsageError(f"Nothing to undo: Halflap was not installed in {place.file}.")
    before = read_file(place.file)
    if before.data is None:
        where = f" Backup: {receipt.backup}" if receipt.backup else ""
        raise ClientFileError(f"{place.file} no longer exists.{where}")
    is_exact = receipt.exact and before.digest == receipt.written

    def preview() -> Iterator[str]:
        yield f"{place.file}:"
        if is_exact:
            yield f"  restore {receipt.backup}" if receipt.backup else "  delete it: there was no such file"
        else:
            yield "  It has changed since: those changes stay, and only Halflap's are undone."
            yield f"  - {receipt.name}"
            yield from (f"  + {one_line(one.name)}" for one in receipt.moved)

    shown = () if invocation.as_json else preview()
    written = write_change(before, lambda file: undo(receipt, file), preview=shown, **how)
    if written is not None:
        write_receipt(data_dir, place.file, None)
        note(f"Restored{' byte for byte' if is_exact else ''}: {place.file}")
    return {
        "name": receipt.name,
        "restored": [one.name for one in receipt.moved],
        "exact": is_exact,
        "written": written is not None,
    }
