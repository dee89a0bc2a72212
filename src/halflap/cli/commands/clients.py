"""`halflap init` and `halflap install`: import servers from other clients, and add Halflap to them."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.command import Invocation, command
from halflap.cli.editing import Mode, write_change
from halflap.cli.options import YesOption
from halflap.cli.output import note, one_line, plural, print_json
from halflap.clients import (
    CLIENTS,
    CannotEditError,
    Moved,
    Receipt,
    add_entry,
    choose,
    entry_for,
    gather,
    is_temporary,
    open_document,
    own_command,
    own_variables,
    place_of,
    places,
    plan_import,
    read_entry,
    read_file,
    read_own_config,
    read_receipt,
    remembered,
    servers_in,
    undo,
    write_receipt,
    yaml_block,
)
from halflap.config import (
    FAMILIES,
    Config,
    Scope,
    load_config,
    user_config_dir,
    user_data_dir,
    user_file,
    working_folder,
)
from halflap.core.errors import ClientFileError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from halflap.cli.editing import Written
    from halflap.clients import FileText, Gathered, Import, OwnConfig, Place

__all__ = ["init", "install"]

PrintOption = Annotated[bool, typer.Option("--print", "--dry-run", help="Only show what would be written.")]


@command(shared=("config", "json"))
def init(
    invocation: Invocation,
    yes: YesOption = False,
    only_show: PrintOption = False,
    project: Annotated[
        bool | None,
        typer.Option(
            "--project/--no-project",
            help="Also import from this folder's files. The default is yes, but no with --yes.",
            show_default=False,
        ),
    ] = None,
    families: Annotated[
        list[str] | None,
        typer.Option("--family", metavar="NAME", help="A family of tools to offer in a new configuration."),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Import again what you have since changed or removed.")
    ] = False,
) -> None:
    """Import MCP servers from your other clients.

    Reads the files of Claude Code, Claude Desktop, Cursor, VS Code, Windsurf, Codex, Gemini CLI, Zed, Cline and Goose,
    shows what it would add to Halflap's configuration, and asks. The clients' files are not changed. Run it again at
    any time: it only adds what is new.
    """
    scope = Scope.of(os.environ, working_folder())
    target = user_file(invocation.config_file, scope)[0] or user_config_dir() / "config.yaml"
    own = read_own_config(target)
    if unknown := sorted(set(families or ()) - set(FAMILIES)):
        raise UsageError(
            f"There is no family of tools named {unknown[0]!r}. Choose from {', '.join(FAMILIES)}."
        )
    with_project = project if project is not None else not yes
    wanted = [
        place
        for place in places(sys.platform, os.environ, working_folder())
        if (with_project or place.folder is None) and place.file != target
    ]
    gathered = gather(wanted, scope)
    known = frozenset() if again or own.file.data is None else remembered(user_data_dir(), target)
    plan = plan_import(gathered.servers, own.servers, scope, imported=known)
    sign_in = [one.name for one in plan.new if one.found.signs_in and not one.found.disabled]
    _report_found(gathered, plan, scope.home)
    if project is None and not with_project:
        note("This folder's files were not read; add --project to import from them, too.")
    written = False
    if plan.new or (families and own.file.data is None):
        written = _write_import(own, plan, families, scope.home, Mode(yes, only_show, invocation.as_json))
    elif plan.additions or plan.earlier:
        note(f"Nothing new: {target} stays as it is.")
    else:
        note("No MCP servers to import. Add one: halflap add NAME -- COMMAND")
    if sign_in:
        note(f"Sign-in may be needed: {', '.join(map(one_line, sign_in))}. `halflap doctor` checks them.")
    if written:
        remembered(user_data_dir(), target, plan.digests())
        note(f"Written: {target}")
        note("Next: `halflap doctor` checks the servers; `halflap install CLIENT` adds Halflap to a client.")
    if invocation.as_json:
        print_json(_init_data(target, gathered, plan, sign_in, written=written))


def _init_data(
    target: Path, gathered: Gathered, plan: Import, sign_in: list[str], *, written: bool
) -> dict[str, Any]:
    return {
        "file": str(target),
        "written": written,
        "added": [
            {"name": one.name, "disabled": one.found.disabled, "comments": list(one.found.notes)}
            for one in plan.new
        ],
        "present": [
            {"name": one.name, "client": one.found.place.client.slug, "file": str(one.found.place.file)}
            for one in plan.additions
            if not one.is_new
        ],
        "left": [one.name for one in plan.earlier],
        "kept_out": [{"name": one.name, "reason": one.refused} for one in plan.refused],
        "sign_in": sign_in,
        "unreadable": list(gathered.unreadable),
        "notes": list(plan.notes),
    }


def _write_import(own: OwnConfig, plan: Import, families: list[str] | None, home: Path, mode: Mode) -> bool:
    document = own.document()
    try:
        if own.file.data is None:
            document.put(("server", "families"), list(dict.fromkeys(families or ("core",))))
        plan.apply(document, home)
    except CannotEditError as error:
        entries = {"mcpServers": {one.name: dict(one.found.entry) for one in plan.new}}
        raise ClientFileError(f"{error} Add this:\n\n{yaml_block(entries)}") from None
    before, after = own.file, document.text.encode()
    if secrets := _with_secrets(plan):
        note(f"These contain plain-text secrets; consider ${{NAME}}: {', '.join(map(one_line, secrets))}.")
        before = replace(before, mode=before.mode & 0o700)
    return write_change(before, lambda _: after, mode) is not None


def _report_found(gathered: Gathered, plan: Import, home: Path) -> None:
    counts = Counter(one.place.describe(home) for one in gathered.servers)
    for where, number in counts.items():
        note(f"Found {plural(number, 'server')}: {where}")
    for problem in gathered.unreadable:
        note(f"Skipped: {problem}")
    for one in plan.refused:
        note(f"Not imported: {one.label} of {one.place.describe(home)}: {one.refused}")
    for one in plan.earlier:
        note(f"Left as you have it: {one.label} was imported before. (--again imports it again.)")
    for text in plan.notes:
        note(f"Note: {text}")


def _with_secrets(plan: Import) -> list[str]:
    from halflap.calls import configured_secrets

    found = []
    for one in plan.new:
        server, _ = read_entry(one.found.entry)
        values = configured_secrets(Config(servers=() if server is None else (server,)))
        if any("${" not in value for value in values):
            found.append(one.name)
    return found


@command(shared=("config", "json"))
def install(
    invocation: Invocation,
    client: Annotated[
        str,
        typer.Argument(
            metavar="CLIENT", help=f"One of {', '.join(CLIENTS)}.", autocompletion=lambda: list(CLIENTS)
        ),
    ],
    move: Annotated[bool, typer.Option("--move", help="Remove the servers that Halflap has, too.")] = False,
    undo_it: Annotated[bool, typer.Option("--undo", help="Restore the client's original file.")] = False,
    project: Annotated[bool, typer.Option("--project", help="Use the client's file in this folder.")] = False,
    yes: YesOption = False,
    only_show: PrintOption = False,
) -> None:
    """Add Halflap to a client.

    Shows the change to the client's file, and asks. The rest of the file stays as it is, and a backup is kept; --undo
    restores it.
    """
    if client not in CLIENTS:
        raise UsageError(f"There is no client {client!r}. Choose from {', '.join(CLIENTS)}.")
    config = invocation.config_file
    if undo_it and (move or config is not None):
        raise UsageError("--undo can't be combined with --move or --config.")
    place = place_of(client, sys.platform, os.environ, working_folder() if project else None)
    if place is None:
        raise UsageError(f"{CLIENTS[client].label} has no file for projects. Leave --project out.")
    mode = Mode(yes, only_show, invocation.as_json)
    done = _undo(place, mode) if undo_it else _install(place, mode, config=config, move=move)
    if invocation.as_json:
        print_json({"client": client, "file": str(place.file), **done})


class _Installation:
    """Adds Halflap to a client's file, and notes what undoing it takes."""

    def __init__(self, place: Place, config: Path | None, *, move: bool) -> None:
        self.place, self.config, self.move = place, config, move
        self.scope = Scope.of(os.environ, working_folder())
        command = own_command(sys.executable, config, self.scope.home)
        self.entry = entry_for(place.client.slug, command, own_variables(os.environ))

    def edit(self, before: FileText) -> bytes:
        document = open_document(self.place.file, before.text)
        self.name, self.replaced, self.others = add_entry(
            document, self.place, self.entry, keep_options=self.config is None
        )
        self.moved: list[Moved] = []
        self.stays: list[dict[str, str]] = []
        if self.move:
            # Read again each time: nothing may leave the client that Halflap no longer has.
            configured = load_config(self.config).servers
            found = servers_in(self.place, document.value, self.scope)
            for one, reason in choose(found, configured, self.scope):
                keys = (*one.place.keys, one.name)
                if reason is not None:
                    self.stays.append({"name": one.name, "why": reason})
                    continue
                self.moved.append(Moved(keys=one.place.keys, name=one.name, entry=document.at(keys)))
                document.remove(keys)
        return document.text.encode()

    def report(self, *, written: bool) -> dict[str, Any]:
        return {
            "name": self.name,
            "moved": [one.name for one in self.moved],
            "stays": self.stays,
            "notes": [f"`{one}` starts Halflap, too." for one in self.others],
            "written": written,
        }

    def remember(self, written: Written) -> None:
        """Note what was done; several installations are undone at once."""
        file, data_dir = self.place.file, user_data_dir()
        earlier = read_receipt(data_dir, file)
        receipt = Receipt(
            file=file,
            keys=self.place.keys,
            name=self.name,
            replaced=self.replaced,
            backup=written.backup,
            original=written.before.digest,
            written=read_file(file).digest or "",
            moved=tuple(self.moved),
        )
        if earlier is not None:
            receipt = receipt.model_copy(
                update={
                    "replaced": None if self.replaced is None else earlier.replaced,
                    "backup": earlier.backup,
                    "original": earlier.original,
                    "exact": earlier.exact and earlier.written == written.before.digest,
                    "moved": (*earlier.moved, *receipt.moved),
                }
            )
        write_receipt(data_dir, file, receipt)


def _install(place: Place, mode: Mode, *, config: Path | None, move: bool) -> dict[str, Any]:
    if is_temporary(sys.executable):
        note("Halflap runs from a temporary folder here. Install it (pipx install halflap) to keep it there.")
    load_config(config)  # A client must not get a command that fails.
    work, before = _Installation(place, config, move=move), read_file(place.file)
    try:
        after = work.edit(before)
        for one in work.stays:
            note(f"`{one_line(one['name'])}` stays: {one['why']}.")
        for text in work.report(written=False)["notes"]:
            note(text)
        if after == before.data:
            note(f"Nothing to do: {place.file} stays as it is.")
            return work.report(written=False)
        written = write_change(before, work.edit, mode)
    except CannotEditError:
        note(f"{place.file} can't be changed without losing its layout. Add this to it yourself:")
        typer.echo(_snippet(place, work.entry))
        raise typer.Exit(1) from None
    if written is not None:
        work.remember(written)
        note(f"Installed in {place.client.label}. Restart it if it is running.")
    return work.report(written=written is not None)


def _snippet(place: Place, entry: dict[str, Any]) -> str:
    value: dict[str, Any] = {"halflap": entry}
    for key in reversed(place.keys):
        value = {key: value}
    if place.file.suffix == ".toml":
        import tomlkit

        return str(tomlkit.dumps(value))
    return yaml_block(value) if place.file.suffix == ".yaml" else json.dumps(value, indent=2)


def _undo(place: Place, mode: Mode) -> dict[str, Any]:
    data_dir = user_data_dir()
    receipt = read_receipt(data_dir, place.file)
    if receipt is None:
        raise UsageError(f"Nothing to undo: Halflap was not installed in {place.file}.")
    before = read_file(place.file)
    if before.data is None:
        where = f" Backup: {receipt.backup}" if receipt.backup else ""
        raise ClientFileError(f"{place.file} no longer exists.{where}")
    after, still = undo(receipt, before)
    is_exact = receipt.exact and before.digest == receipt.written
    for name in still:
        note(f"`{name}` still starts Halflap.")
    if not is_exact:
        note("The file has changed since: those changes stay, and only Halflap's are undone.")
    written = None
    if after == before.data:
        note(f"Nothing to do: {place.file} stays as it is.")
    else:
        written = write_change(before, lambda file: undo(receipt, file)[0], mode)
    if not mode.only_show:
        write_receipt(data_dir, place.file, None)
        note(f"Restored{' byte for byte' if is_exact else ''}: {place.file}")
    return {
        "name": receipt.name,
        "restored": [one.name for one in receipt.moved],
        "still": still,
        "notes": [],
        "exact": is_exact,
        "written": written is not None,
    }
