"""Files that a command reads as a whole, or writes what it made to."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from halflap.cli.output import note
from halflap.core.errors import FileError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_at_most", "save"]


def read_at_most(file: Path, most: int, where: str, too_large: str) -> bytes:
    """Read a file, or stdin for `-`; no more than so many bytes, for what is larger is refused."""
    try:
        if str(file) == "-":
            data = sys.stdin.buffer.read(most + 1)
        else:
            with file.open("rb") as stream:
                data = stream.read(most + 1)
    except OSError as error:
        raise FileError(f"{where} cannot be read: {error.strerror}. Name a file that you may read.") from None
    if len(data) > most:
        raise FileError(f"{where} is larger than {too_large}")
    return data


def save(text: str, output: Path) -> None:
    """Write a text to a file, and say so."""
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileError(
            f"{output} cannot be written: {error.strerror}. Name a file that you may write, in a folder that is there."
        ) from None
    note(f"Written to {output}.")
