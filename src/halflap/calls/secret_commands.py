"""Where in a command a password stands that only its option tells of: `curl -u ann:…`, `mysql -p…`.

As everywhere, each search takes a bounded number of steps from where it begins.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from halflap.calls.spans import bounded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.calls.spans import Span

__all__ = ["COMMANDS", "find_in_commands", "secret_from"]

_Q = r"(?:\\*+[\"'])?"
_CURL = re.compile(
    r"(?<![\w-])(?:-[a-zA-Z]{0,4}[uU]|--(?:proxy-)?user)(?:[\s=\"',]{1,8}|(?=\w))[^\s:\"']{0,128}+:([^\s\"']{1,512}+)"
)
_ATTACHED = re.compile(rf"(?<![\w-])-p{_Q}([^\s\"'\\]{{1,512}}+)")
_APART = re.compile(rf"(?<![\w-])-p(?:[\s=\"',]{{1,8}}+|{_Q})(?<![\s=\"',]-)(?!-)([^\s\"'\\,]{{1,512}}+)")
_FORMS = {"curl": _CURL, "mysql": _ATTACHED, "mariadb": _ATTACHED, "sshpass": _APART}
"""To MySQL a space behind `-p` says that it should ask, and what follows is a database."""
COMMANDS = tuple(_FORMS)
_LENGTH = 2_000
_OVERLAP = 700
_ONE_COMMAND = re.compile(r"[^\n;|&]*+")
"""So far a command goes; curl's, as ever, is taken to go on: its address may have any of these."""
_USER_OPTIONS = frozenset({"-u", "-U", "--user", "--proxy-user"})
_USER = re.compile(r"(?![0-9]+:[0-9]+\Z)[^\s:/]{0,128}:(?!/)(\S{1,512}\Z)")
_ATTACHED_ARGUMENT = re.compile(r"-p(.{1,512})\Z", re.DOTALL)


def find_in_commands(text: str) -> Iterator[Span]:
    """Find the passwords of commands in a text."""
    for command, form in _FORMS.items():
        if command in text:
            yield from bounded(_found(text, command, form), len(text))


def _found(text: str, command: str, form: re.Pattern[str]) -> Iterator[Span]:
    done = 0
    at = text.find(command)
    while at >= 0:
        # What begins soon behind the last one was looked at with it, and some way on.
        if at >= done:
            done = at + _LENGTH - _OVERLAP
            end = at + _LENGTH
            if command != "curl":
                line = _ONE_COMMAND.match(text, at, end)
                end = done = line.end() if line is not None else end
            yield from (match.span(1) for match in form.finditer(text, at + len(command), end))
        at = text.find(command, at + 1)


def secret_from(command: object, before: object, argument: str) -> int | None:
    """Say from which letter on an argument of a command is secret, by the one before it; None if it is not."""
    if not isinstance(before, str) or not isinstance(command, str):
        return None
    match = None
    program = command.rpartition("/")[2]
    if before in _USER_OPTIONS:
        match = _USER.match(argument)
    elif program.startswith(("mysql", "mariadb")):
        match = _ATTACHED_ARGUMENT.match(argument)
    elif program == "sshpass" and before == "-p":
        return 0
    return None if match is None else match.start(1)
