"""`halflap install --undo`: the client becomes as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.cli.changing import Change
from halflap.cli.hiding import hidden
from halflap.cli.output import one_line
from halflap.clients import (
    noted_files,
    own_entries,
    read_file,
    receipt_of,
    uninstall,
    value_of,
    written_into,
)
from halflap.config import user_data_dir
from halflap.core.errors import ClientFileError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from halflap.clients import FileText, Installed, Place

__all__ = ["Undo", "comments_of", "names_of"]

_LONGEST_COMMENT = 80


class Undo:
    """The client becomes as it was."""

    def __init__(self, place: Place) -> None:
        found = receipt_of(user_data_dir(), place.file)
        if found is None:
            others = "".join(f"\n  {one_line(str(file))}" for file in noted_files(user_data_dir()))
            where = (
                f" There is something to undo in (with --project, in that folder, if it is a project's):{others}"
                if others
                else ""
            )
            raise UsageError(f"There is nothing to undo: Halflap has noted no change to {place.file}.{where}")
        self.place = place
        self.receipt = found

    def change(self, before: FileText) -> Change:
        receipt, file = self.receipt, self.place.file
        where = f" A copy of it, as it was before Halflap, is {receipt.backup}." if receipt.backup else ""
        if before.data is None:
            raise ClientFileError(f"{file} is not there any more, so nothing can be taken out.{where}")
        report: dict[str, Any] = {
            "name": receipt.done.name,
            "restored": names_of(receipt.done),
            "still": [],
            "notes": [],
        }
        if receipt.exact and before.digest == receipt.written:
            if receipt.original is None:
                return Change(None, _nothing, (), {**report, "exact": True}, f"{file} is gone, as before.")
            copy = None if receipt.backup is None else read_file(receipt.backup)
            if copy is not None and copy.digest == receipt.original:
                said = f"{file} is, byte for byte, as it was."
                return Change(copy.text, _nothing, (), {**report, "exact": True}, said)
        try:
            return self._taken_out(before, report)
        except ClientFileError as error:
            raise ClientFileError(f"{error}{where}") from None

    def _taken_out(self, before: FileText, report: dict[str, Any]) -> Change:
        """Undo what was done to a file that something else has changed since."""
        done, file, label = self.receipt.done, self.place.file, self.place.client.label
        value_of(file, before.text)
        try:
            goes = _goes(before.text, done)
            after, notes = uninstall(before.text, done)
            still = own_entries(value_of(file, after), done.keys)
        except ClientFileError as error:
            raise ClientFileError(f"{file}: {error} Nothing was written.") from None
        changed = (
            f"{file} was changed since by something else; that stays, and only Halflap's own part is undone."
        )
        every = [changed, *goes, *notes]
        if still:
            names = ", ".join(f"`{one_line(name)}`" for name in still)
            every.append(
                f"{label} still starts Halflap, as {names}: take that out yourself, if it is not meant."
            )
        said = "What was done is undone." if still else f"Halflap is out of {label}."
        return Change(
            after, _nothing, tuple(every), {**report, "still": still, "notes": every, "exact": False}, said
        )


def _goes(text: str, done: Installed) -> list[str]:
    """Say what of the person's own goes with Halflap's entry."""
    name, parts, comments = written_into(text, done)
    kind = "the comment" if len(comments) == 1 else "the comments"
    every = [*parts, *([f"{kind} {', '.join(comments_of(comments))}"] if comments else [])]
    if not every:
        return []
    return [
        f"What was written into `{one_line(name)}` since goes with it: {', '.join(every)}. The copy has it."
    ]


def comments_of(comments: Sequence[str]) -> list[str]:
    """Give comments as they are shown: short, on one line, without what looks secret."""
    return [f"`{one_line(hidden(comment, ()))[:_LONGEST_COMMENT]}`" for comment in comments]


def names_of(done: Installed) -> list[str]:
    """Name what was moved; of a name that stood twice in one object, both are one server."""
    return [name for _, name in dict.fromkeys((one.keys, one.name) for one in done.moved)]


def _nothing(_kept: Path | None) -> None:
    return None
