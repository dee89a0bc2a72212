"""Puts the values of environment variables in the place of `${VAR}`."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halflap.config.places import home_dir, working_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Flaw", "Scope", "empty_variables", "expand"]

_PIECE = re.compile(r"(?P<literal>\$\$\{)|\$\{(?P<body>[^}]*)\}|(?P<open>\$\{)")
_VARIABLE = re.compile(r"(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>.*))?\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Scope:
    """What `${…}` may refer to."""

    environ: Mapping[str, str] = field(repr=False)
    workspace: Path
    home: Path

    @classmethod
    def of(cls, environ: Mapping[str, str] | None = None, workspace: Path | None = None) -> Scope:
        """Take what is not given from the process."""
        environ = os.environ if environ is None else environ
        return cls(environ, working_folder() if workspace is None else workspace, home_dir(environ))


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why a piece of text cannot be expanded; it never holds the text."""

    message: str
    suggestion: str


def expand(text: str, scope: Scope) -> tuple[str, list[Flaw]]:
    """Replace each `${…}` once; what was put in is not looked at again."""
    flaws: list[Flaw] = []

    def replacement(match: re.Match[str]) -> str:
        if match["literal"]:
            return "${"
        value = _value(match["body"], scope)
        if isinstance(value, Flaw):
            flaws.append(value)
            return ""
        return value

    return _PIECE.sub(replacement, text), flaws


def empty_variables(text: str, scope: Scope) -> list[str]:
    """Give the variables that a text names and that put nothing in their place, though that is no mistake."""
    named = (_VARIABLE.match(match["body"]) for match in _PIECE.finditer(text) if match["body"])
    return [
        one["name"] for one in named if one is not None and not _variable(one["name"], one["default"], scope)
    ]


def _value(body: str | None, scope: Scope) -> str | Flaw:
    if body is None:
        return Flaw("a `${` is never closed by `}`.", "Write `$${` for a literal `${`.")
    named = {
        "workspaceFolder": str(scope.workspace),
        "workspaceFolderBasename": scope.workspace.name,
        "userHome": str(scope.home),
        "pathSeparator": os.sep,
        "/": os.sep,
    }.get(body)
    if named is not None:
        return named
    if body.startswith("input:"):
        return Flaw(
            "Halflap cannot ask for the inputs of VS Code (`${input:…}`).",
            "Put the value in an environment variable and write `${NAME}`.",
        )
    variable = _VARIABLE.match(body)
    if variable is None:
        return Flaw(
            "a `${…}` does not name a variable.",
            "Write `${NAME}` or `${NAME:-default}`, or `$${` for a literal `${`.",
        )
    return _variable(variable["name"], variable["default"], scope)


def _variable(name: str, default: str | None, scope: Scope) -> str | Flaw:
    value = scope.environ.get(name)
    if default is not None:
        # As in a shell, `:-` counts a variable that is set to nothing as not set.
        return value or default
    if value is None:
        return Flaw(
            f"the environment variable `{name}` is not set.",
            f"Set it, or give a default: `${{{name}:-default}}`.",
        )
    return value
