"""`halflap init` and `halflap install`: import servers from other clients, and add Halflap to them."""

from __future__ import annotations

import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from halflap.cli.command import CONFIG_AND_JSON, Invocation, command
from halflap.cli.options import YesOption, confirm
from halflap.cli.output import describe_sign_in, note, one_line, print_json, print_lines, visible
from halflap.clients.documents import CannotEditError, Document, snippet
from halflap.clients.files import FileText, back_up, read_file, replace_file
from halflap.clients.imports import Import, OwnConfig, gather, plan_import, read_own_config
from halflap.clients.install import (
    Installation,
    entry_for,
    install_into,
    is_temporary,
    own_command,
    own_variables,
    read_receipt,
    undo,
    write_receipt,
)
from halflap.clients.places import CLIENTS, Place, project_places, user_places
from halflap.clients.translate import read_entry
from halflap.config import Config, Scope, load_config, user_config_dir, user_data_dir, user_file
from halflap.core.errors import ClientFileError, UsageError
from halflap.core.text import join, plural
from halflap.gateway import NO_SERVER_ADVICE, sign_ins

DryRunOption = Annotated[bool, Option("--dry-run", help="Show what would be written, and write nothing.")]


@command(shared=CONFIG_AND_JSON)
def init(
    invocation: Invocation,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
    project: Annotated[bool, Option("--project", help="Also import from files in this folder.")] = False,
) -> None:
    """Import MCP servers from your other clients.

    Reads the files of Claude Code, Claude Desktop, Cursor, VS Code, Windsurf, Codex, Gemini CLI, Zed, Cline and Goose,
    shows what it would add to Halflap's configuration, and asks. The clients' files are not changed. Running it again
    only adds what is new.
    """
    own, scope = own_config(invocation), Scope.of()
    target = own.file.path
    places = [*user_places(sys.platform, os.environ), *(project_places(scope.workspace) if project else ())]
    found, unreadable = gather([place for place in places if place.file != target], scope)
    plan = plan_import(found, own, scope)
    counts = Counter(one.place.describe(scope.home) for one in found)
    for where, number in counts.items():
        note(f"Found {plural(number, 'server')}: {where}")
    for problem in unreadable:
        note(f"Skipped: {problem}")
    for one, reason in plan.refused:
        note(f"Not imported: {one.label} of {one.place.describe(scope.home)}: {reason}")
    for text in plan.notes:
        note(f"Note: {text}")
    written = bool(plan.new) and _write_import(own, plan, scope, invocation, yes=yes, dry_run=dry_run)
    if written:
        note(f"Written: {target}")
    elif not plan.new:
        nothing = "No MCP servers found. Add one: halflap add NAME -- COMMAND"
        note(f"Nothing new; {target} is unchanged." if plan.present else nothing)
    sign_in, signed_in = _show_sign_ins(plan)
    if written:
        client = next(iter(plan.new.values())).place.client.slug
        note(f"Next: check the servers with `halflap doctor`, then run `halflap install {client}`.")
    if invocation.as_json:
        data = {
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
            "signed_in": signed_in,
            "unreadable": unreadable,
            "notes": plan.notes,
        }
        print_json(data)


def _show_sign_ins(plan: Import) -> tuple[list[str], dict[str, list[dict[str, Any]]]]:
    """Print and return which servers may need a sign-in, and who is signed in."""
    read = {name: read_entry(one.entry)[0] for name, one in (*plan.present, *plan.new.items())}
    servers = tuple(replace(one, name=name) for name, one in read.items() if one is not None)
    signed_in = sign_ins(Config(servers=servers))
    new = plan.new.items()
    missing = [name for name, one in new if one.signs_in and not one.disabled and name not in signed_in]
    for name, rows in signed_in.items():
        note(f"Signed in to {one_line(name)}: {', '.join(map(describe_sign_in, rows))}")
    if missing:
        note(f"May need a sign-in (halflap login NAME): {', '.join(map(one_line, missing))}")
    return missing, signed_in


def _write_import(
    own: OwnConfig, plan: Import, scope: Scope, invocation: Invocation, *, yes: bool, dry_run: bool
) -> bool:
    entries = {name: dict(one.entry) for name, one in plan.new.items()}
    document = own.document()
    try:
        for name, one in plan.new.items():
            comments = (f"from {one.place.describe(scope.home)}", *one.notes)
            document.put(("mcpServers", name), entries[name], comments)
    except CannotEditError:
        raise CannotEditError(own.file.path, {"mcpServers": entries}) from None
    shown, secrets = _without_secrets(own.file.path, entries)
    preview = [f"To be added to {own.file.path}:", "", *shown.splitlines()]
    before = own.file
    if secrets:
        note(f"These contain plain-text secrets; consider ${{NAME}}: {', '.join(map(one_line, secrets))}.")
        before = replace(before, mode=before.mode & 0o700)
    if not _approved(invocation, before.path, preview, yes=yes, dry_run=dry_run):
        return False
    _save(before, document.text)
    return True


def _without_secrets(path: Path, entries: Mapping[str, dict[str, Any]]) -> tuple[str, list[str]]:
    """Return the entries as text with secrets redacted, and the names of entries that have secrets."""
    from halflap.calls import Redactor, configured_secrets

    secrets = {}
    for name, entry in entries.items():
        server, _ = read_entry(entry)
        found = configured_secrets(Config(servers=() if server is None else (server,)))
        secrets[name] = [one for one in found if "${" not in one]
    text = Redactor(tuple(one for found in secrets.values() for one in found)).text(snippet(path, entries))
    return visible(text, kept="\n"), [name for name, found in secrets.items() if found]


@command(shared=CONFIG_AND_JSON)
def install(
    invocation: Invocation,
    client: Annotated[str, Argument(help=f"One of {join(CLIENTS, 'or')}.")],
    move: Annotated[bool, Option("--move", help="Also remove the servers that Halflap has.")] = False,
    undo_it: Annotated[bool, Option("--undo", help="Restore the client's original file.")] = False,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Add Halflap to a client.

    Shows the change to the client's file, and asks. Other settings keep their values; --undo restores the file.
    """
    if client not in CLIENTS:
        raise UsageError(f"{client!r} is not a supported client. Use {join(CLIENTS, 'or')}.")
    if undo_it and (move or invocation.config_file is not None):
        raise UsageError("--undo can't be combined with --move or --config.")
    place = next(one for one in user_places(sys.platform, os.environ) if one.client.slug == client)
    how = {"yes": yes, "dry_run": dry_run}
    done = _undo(invocation, place, **how) if undo_it else _install(invocation, place, move=move, **how)
    if invocation.as_json:
        print_json({"client": client, "file": str(place.file), **done})


def _install(invocation: Invocation, place: Place, *, move: bool, **how: bool) -> dict[str, Any]:
    if is_temporary(sys.executable):
        note(
            "Halflap runs from a temporary folder, which the client may not find later. Install it with pipx."
        )
    config, scope, data_dir = invocation.config_file, Scope.of(), user_data_dir()
    starting = own_command(sys.executable, config, scope.home)
    variables = own_variables(os.environ)
    entry = entry_for(place.client.slug, starting, variables)
    earlier = read_receipt(data_dir, place.file)

    def planned() -> tuple[FileText, Installation]:
        before, servers = read_file(place.file), load_config(config).servers
        configured = servers if move else None
        return before, install_into(before, place, entry, scope, configured=configured, earlier=earlier)

    before, work = planned()
    for name, reason in work.stays:
        note(f"`{one_line(name)}` stays: {reason}.")
    moved = [path[-1] for path in work.receipt.moved]
    set_variables = [f"{name}={shlex.quote(value)}" for name, value in variables.items()]
    started = " ".join([*set_variables, shlex.join(starting)])
    lines = [f"{place.file}:", f"  + {work.receipt.name}: {started}"]
    lines += [f"  - {one_line(name)}" for name in moved]
    written = False
    if work.after.encode() == before.data:
        note(f"Nothing to do; {place.file} is unchanged.")
    elif written := _approved(invocation, place.file, lines, **how):
        # The client may have changed its file while the question was open.
        before, work = planned()
        _save(before, work.after)
        write_receipt(data_dir, place.file, work.receipt)
        note(f"Installed in {place.client.label}. Restart it if it is running.")
        if not load_config(config).servers:
            note(f"No server is configured yet. {NO_SERVER_ADVICE}")
    stays = [{"name": name, "why": reason} for name, reason in work.stays]
    return {"name": work.receipt.name, "moved": moved, "stays": stays, "written": written}


def _undo(invocation: Invocation, place: Place, **how: bool) -> dict[str, Any]:
    data_dir = user_data_dir()
    receipt, before = read_receipt(data_dir, place.file), read_file(place.file)
    if receipt is None:
        raise UsageError(f"Nothing to undo: Halflap was not installed in {place.file}.")
    moved, is_exact = [path[-1] for path in receipt.moved], receipt.is_exact(before)
    lines = [f"{place.file}:"]
    if is_exact and receipt.original is None:
        lines.append("  delete it, since it did not exist before")
    elif is_exact:
        lines.append("  restore it")
    else:
        lines.append("  It was changed since. Those changes stay; only Halflap's are undone.")
        lines += [f"  - {receipt.name}", *(f"  + {one_line(name)}" for name in moved)]
    backups = f"Backups are in {data_dir / 'backups'}."
    if before.data is None:
        raise ClientFileError(f"{place.file} no longer exists. {backups}")
    try:
        undo(receipt, before, place)
        if written := _approved(invocation, place.file, lines, **how):
            before = read_file(place.file)
            is_exact = receipt.is_exact(before)
            _save(before, undo(receipt, before, place))
    except ClientFileError as error:
        raise ClientFileError(f"{error} {backups}") from None
    if written:
        write_receipt(data_dir, place.file, None)
        gone = is_exact and receipt.original is None
        note(f"{'Deleted' if gone else 'Restored byte for byte' if is_exact else 'Restored'}: {place.file}")
    return {"name": receipt.name, "restored": moved, "exact": is_exact, "written": written}


def _approved(
    invocation: Invocation, file: Path, preview: Iterable[str], *, yes: bool, dry_run: bool
) -> bool:
    """Show a change and ask about it; return whether to write it."""
    if not invocation.as_json:
        print_lines(preview)
    if dry_run:
        note("Nothing was written.")
    else:
        confirm(f"Write {file}?", "Nothing was written.", yes=yes)
    return not dry_run


def _save(before: FileText, text: str | None) -> None:
    """Replace a file after a backup, or delete it for None; raise if it has changed since it was read."""
    if before.data is not None:
        note(f"Backup: {back_up(before, user_data_dir() / 'backups')}")
    replace_file(before, None if text is None else text.encode())


def own_config(invocation: Invocation) -> OwnConfig:
    """Read the configuration file that commands change; it need not exist yet."""
    scope = Scope.of()
    path = user_file(invocation.config_file, scope)[0] or user_config_dir() / "config.yaml"
    return read_own_config(path, scope)


def edit_config(own: OwnConfig, edit: Callable[[Document], None]) -> None:
    document = own.document()
    edit(document)
    _save(own.file, document.text)
