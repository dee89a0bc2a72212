"""The root of every failure that is anticipated, and how a name is written in a message."""

from __future__ import annotations

from typing import ClassVar

__all__ = ["HalflapError", "cut", "quoted"]

_LONGEST_NAME_IN_TEXT = 200


def cut(name: str) -> str:
    """Give as much of a name as a text needs: anybody may ask for one of a million letters."""
    return name if len(name) <= _LONGEST_NAME_IN_TEXT else f"{name[: _LONGEST_NAME_IN_TEXT - 1]}…"


def quoted(name: str) -> str:
    """Give a name in quotation marks, as much of it as a text needs."""
    return repr(cut(name))


class HalflapError(Exception):
    """The root: anything that Halflap raises on purpose."""

    code: ClassVar[str] = "halflap"
