"""Expand `${VAR}`, and parse env files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from halflap.config.paths import home_dir, path_from, working_folder

PREDEFINED = ("workspaceFolder", "userHome")
_PIECE = re.compile(r"(?P<literal>\$\$\{)|\$\{(?P<body>[^}]*)\}|(?P<open>\$\{)")
_VARIABLE = re.compile(r"(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>.*))?\Z", re.DOTALL)
_ENV_LINE = re.compile(
    r"""\s*(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*
    (?:'(?P<single>[^']*)'|"(?P<double>[^"]*)"|(?P<plain>(?!['"]).*?))\s*(?:(?<=[\s='"])\#.*)?""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Scope:
    """The context of a file: what `${…}` and relative paths refer to."""

    environ: Mapping[str, str] = field(repr=False)
    workspace: Path
    home: Path
    folder: Path
    """The folder of the file, where relative paths start."""

    @classmethod
    def of(cls, environ: Mapping[str, str] | None = None, workspace: Path | None = None) -> Scope:
        """Return a scope with defaults taken from the process."""
        environ = os.environ if environ is None else environ
        workspace = working_folder() if workspace is None else workspace
        return cls(environ, workspace, home_dir(environ), workspace)

    def path(self, text: str) -> Path:
        return path_from(text, self.folder, self.home)


class ExpansionError(ValueError):
    """A text can't be expanded; the message does not quote it."""


def expand(text: str, scope: Scope) -> tuple[str, list[str]]:
    """Return the text with each `${…}` replaced once, and the names of the variables that were empty."""
    empty: list[str] = []

    def replaced(match: re.Match[str]) -> str:
        if match["literal"]:
            return "${"
        value = _value(match["body"], scope)
        if not value:
            empty.append(match["body"].removeprefix("env:").partition(":-")[0])
        return value

    return _PIECE.sub(replaced, text), empty


def _value(body: str | None, scope: Scope) -> str:
    if body is None:
        raise ExpansionError("has a `${` without a `}`. Write `$${` for a literal `${`.")
    if body in PREDEFINED:
        return str(scope.workspace if body == "workspaceFolder" else scope.home)
    if body.startswith("input:"):
        raise ExpansionError("uses `${input:…}`, which Halflap can't ask for. Use a variable: `${NAME}`.")
    variable = _VARIABLE.match(body)
    if variable is None:
        raise ExpansionError("has a `${…}` that names no variable. Write `$${` for a literal `${`.")
    name, default = variable["name"], variable["default"]
    value = scope.environ.get(name)
    if default is not None:
        # As in a shell, `:-` treats an empty variable as unset.
        return value or default
    if value is None:
        advice = f"Set it, or give a default: `${{{name}:-default}}`."
        raise ExpansionError(f"uses the environment variable `{name}`, which is not set. {advice}")
    return value


def read_env_lines(text: str) -> tuple[dict[str, str], list[int]]:
    """Return the variables of `NAME=value` lines, and the numbers of invalid lines. Nothing is expanded."""
    variables: dict[str, str] = {}
    wrong = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = None if "\0" in line else _ENV_LINE.fullmatch(line)
        if match is None:
            wrong.append(number)
        else:
            variables[match["name"]] = next(
                value for value in match.group("single", "double", "plain") if value is not None
            )
    return variables, wrong
