"""`halflap install`."""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.changing import Change, may_write, show_difference
from halflap.cli.hiding import secrets_of, servers_of_text
from halflap.cli.output import ConfigOption, JsonOption, note, one_line, print_json, reported
from halflap.cli.undoing import Undo, comments_of, names_of
from halflap.clients import (
    CLIENTS,
    INSTALLABLE,
    Receipt,
    back_up,
    backups,
    choose,
    delete,
    entry_for,
    gather,
    has_its_name,
    is_passing,
    keep_receipt,
    own_command,
    own_entries,
    own_variables,
    place_of,
    places,
    read_file,
    read_written,
    receipt_of,
    replace_file,
    servers_in,
    value_of,
)
from halflap.clients import install as put_in
from halflap.config import Scope, load_config, user_data_dir, user_file, working_folder
from halflap.core.errors import ClientFileError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halflap.clients import FileText, Installed, Moved, Place
    from halflap.config import Config

__all__ = ["install"]

_TRIES = 3


@reported
def install(
    client: Annotated[
        str,
        typer.Argument(
            metavar="CLIENT", help=f"One of {', '.join(INSTALLABLE)}.", autocompletion=lambda: INSTALLABLE
        ),
    ],
    move: Annotated[
        bool, typer.Option("--move", help="Take those servers out of the client that Halflap has.")
    ] = False,
    also: Annotated[
        list[str] | None,
        typer.Option(
            "--also",
            metavar="NAME",
            help="With --move, a server to take out although Halflap may not be able to sign in to it.",
        ),
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Have the client as it was before.")] = False,
    project: Annotated[
        bool, typer.Option("--project", help="In the client's file of this folder, not in your own.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write it without asking.")] = False,
    only_show: Annotated[
        bool, typer.Option("--print", "--dry-run", help="Only show what would be written.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put Halflap into a client, beside what is there.

    Shows the change to the client's file, and asks. What is not Halflap's in the file stays to the letter, and a copy
    of the file is kept; --undo restores it.
    """
    if client not in INSTALLABLE:
        raise UsageError(
            f"There is no client {client!r} to install into. There are: {', '.join(INSTALLABLE)}."
        )
    if undo and (move or config is not None):
        raise UsageError("Give --undo without --move and --config: it takes back all that was done.")
    if also and not move:
        raise UsageError("--also says which servers --move takes out too: give both, or neither.")
    place = place_of(client, sys.platform, os.environ, working_folder() if project else None)
    own = place_of(client, sys.platform, os.environ)
    if place is not None and own is not None and _is_same(place.file, own.file):
        # In the home folder: what runs there is the person's own, whichever way it is named.
        place = own
    if place is None:
        raise UsageError(f"{CLIENTS[client].label} has no file for a project. Leave --project out.")
    job = Undo(place) if undo else _Install(place, config, move=move, also=also or ())
    done = _change(place, job.change, yes=yes, only_show=only_show, shown=not as_json)
    if as_json:
        print_json({"client": client, "file": str(place.file), **done})


def _change(
    place: Place, change: Callable[[FileText], Change], *, yes: bool, only_show: bool, shown: bool
) -> dict[str, Any]:
    """Show a change, ask, and make it: to the file as it is by then, for clients write theirs at any time."""
    before = read_file(place.file)
    planned = change(before)
    text = None if before.data is None else before.text
    for line in planned.notes:
        note(line)
    if planned.text == text:
        note(f"Nothing to do: {place.file} stays as it is.")
        return {**planned.report, "written": False}
    if shown:
        servers = (*servers_of_text(text), *servers_of_text(planned.text))
        show_difference(place.file, text, planned.text, secrets_of(servers))
    if only_show:
        note("Nothing was written.")
        return {**planned.report, "written": False}
    may_write(f"Write {place.file}?", yes=yes)
    said = set(planned.notes)
    for left in reversed(range(_TRIES)):
        now = read_file(place.file)
        # Decided anew in any case: Halflap's own configuration may be another by now, too.
        planned = change(now)
        for line in planned.notes:
            if line not in said:
                note(line)
        said.update(planned.notes)
        try:
            _make(place, now, planned)
            break
        except ClientFileError:
            if left == 0 or read_file(place.file).data == now.data:
                raise
    note(planned.said)
    return {**planned.report, "written": True}


def _make(place: Place, now: FileText, planned: Change) -> None:
    data_dir = user_data_dir()
    kept = None if now.data is None else back_up(now, backups(data_dir), place.file.name.removeprefix("."))
    earlier = receipt_of(data_dir, place.file)
    # Noted first: of a change that was noted and not made, there is nothing to undo; the other way round
    # servers could be gone, with no note of where they were.
    receipt = planned.receipt(kept)
    if receipt is not None:
        keep_receipt(data_dir, place.file, receipt)
    try:
        if planned.text is None:
            delete(now)
        else:
            replace_file(now, planned.text.encode())
    except BaseException:
        keep_receipt(data_dir, place.file, earlier)
        raise
    if receipt is None:
        keep_receipt(data_dir, place.file, None)
    if kept is not None:
        note(f"What was there is kept in {kept}.")


@dataclass(frozen=True, slots=True)
class _Stay:
    """A server that stays in the client though others are moved."""

    name: str
    label: str
    why: str

    @property
    def said(self) -> str:
        return f"{self.label} stays: {self.why}"


class _Install:
    """Halflap comes in; with `move`, the servers that it has go out."""

    def __init__(self, place: Place, config: Path | None, *, move: bool, also: Sequence[str]) -> None:
        self.place = place
        self.slug = place.client.slug
        self.config = config
        self.move = move
        self.also = also
        self.scope = Scope.of(os.environ, working_folder())
        self.notes: list[str] = []
        """What there is to say whatever the file is."""
        if not self._configured().servers:
            if move:
                raise UsageError(
                    "Halflap's configuration has no server, so none can be moved. First: halflap init"
                )
            self.notes.append(
                "Note: Halflap's configuration has no server yet. `halflap init` takes in those of your clients."
            )
        command = own_command(sys.executable, config, self.scope.home)
        self.entry = entry_for(place.client.slug, command, own_variables(os.environ))
        if place.folder is not None:
            self.notes.append(
                f"Note: {place.file} is often shared with others; the path of Halflap in it is this machine's."
            )
        if is_passing(sys.executable):
            self.notes.append(
                "Note: Halflap runs from a cache here, which may be emptied. Install it first, as with pipx."
            )

    def _configured(self) -> Config:
        """Read Halflap's servers as they are written; a configuration that does not work is to be mended first."""
        config = load_config(self.config, project=False)
        file = user_file(self.config, self.scope)[0]
        written = {} if file is None else read_written(file).servers
        return replace(config, servers=tuple(written.values()))

    def change(self, before: FileText) -> Change:
        text = before.text
        value = value_of(self.place.file, text)
        moves, stays = self._moves(value) if self.move else ([], [])
        notes = [*self.notes]
        own = own_entries(value, self.place.keys)
        if len(own) > 1:
            names = ", ".join(f"`{one_line(name)}`" for name in own)
            notes.append(
                f"Note: {len(own)} entries start Halflap: {names}. `{one_line(own[0])}` is the one that is brought up "
                "to date; take the others out, if they are not meant."
            )
        try:
            after, done = put_in(text, self.place.keys, self.entry, moves)
        except ClientFileError as error:
            raise ClientFileError(f"{self.place.file}: {error} Nothing was written.") from None
        count = Counter((one.keys, one.name) for one in done.moved)
        notes += [_twice(name) for (_, name), times in count.items() if times > 1]
        notes += [_lost(one) for one in done.moved if one.lost]
        label = self.place.client.label
        report = {
            "name": done.name,
            "moved": names_of(done),
            "stays": [{"name": one.name, "why": one.why} for one in stays],
            "notes": [line.removeprefix("Note: ") for line in notes],
        }
        where = " --project" if self.place.folder is not None else ""
        said = (
            f"{label} has Halflap now, as `{done.name}`. Restart it if it runs. "
            f"Take it back: halflap install {self.slug}{where} --undo"
        )
        every = (*(one.said for one in stays), *notes)
        return Change(after, lambda kept: self._receipt(before, after, done, kept), every, report, said)

    def _moves(self, value: Mapping[str, Any]) -> tuple[list[tuple[tuple[str, ...], str]], list[_Stay]]:
        """Choose the servers that Halflap really has, switched on, and say of the others why they stay."""
        moves, stays = [], []
        configured = self._configured()
        found = [
            one
            for one in servers_in(self.place, value, self.scope)
            if not (one.itself or has_its_name(one.name, one.entry))
        ]
        choices = choose(found, configured.servers, configured.tools, self.scope, self.also)
        for one in choices:
            if one.reason is None:
                moves.append((one.found.place.keys, one.found.name))
            else:
                label = f"{one.found.label}{one.found.place.detail}"
                stays.append(_Stay(one.found.name, label, f"{one.reason}."))
        unknown = set(self.also) - {one.found.name for one in choices}
        if unknown:
            raise UsageError(
                f"--also: {self.place.file} has no server {', '.join(map(repr, sorted(unknown)))}. "
                "Nothing was written."
            )
        return moves, [*stays, *self._elsewhere()]

    def _elsewhere(self) -> list[_Stay]:
        """Say of the servers in the client's other files that they stay, since only one is changed."""
        every = places(sys.platform, os.environ, working_folder())
        others = [
            one
            for one in every
            if one.client.slug == self.slug and one.folder == self.place.folder and one != self.place
        ]
        return [
            _Stay(
                found.name,
                found.label,
                f"it is in {found.place.file.name}, which is not changed. Take it out there yourself, if Halflap has "
                "it.",
            )
            for found in gather(others, self.scope).servers
            if not (found.itself or has_its_name(found.name, found.entry))
        ]

    def _receipt(self, before: FileText, after: str, done: Installed, kept: Path | None) -> Receipt:
        earlier = receipt_of(user_data_dir(), self.place.file)
        written = sha256(after.encode()).hexdigest()
        if earlier is None:
            return Receipt(self.place.file, done, before.digest or None, kept, written)
        exact = earlier.exact and before.digest == earlier.written
        return Receipt(
            self.place.file, done.after(earlier.done), earlier.original, earlier.backup, written, exact
        )


def _is_same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _twice(name: str) -> str:
    return (
        f"Note: `{one_line(name)}` stands there twice: both go out, of which only the last counted, which Halflap has. "
        "--undo brings both back."
    )


def _lost(one: Moved) -> str:
    comments = ", ".join(comments_of(one.lost))
    count, go = ("1 comment", "goes") if len(one.lost) == 1 else (f"{len(one.lost)} comments", "go")
    return (
        f"Note: {count} within `{one_line(one.name)}` {go} with it: {comments}. The copy has them, and --undo brings "
        "them back."
    )
