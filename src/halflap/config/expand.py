"""Replace `${VAR}` by the value of an environment variable, and read env files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from halflap.config.paths import home_dir, path_from, working_folder

_PIECE = re.compile(r"(?P<literal>\$\$\{)|\$\{(?P<body>[^}]*)\}|(?P<open>\$\{)")
_VARIABLE = re.compile(r"(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>.*))?\Z", re.DOTALL)
_ENV_LINE = re.compile(
    r"""\s*(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*
    (?:'(?P<single>[^']*)'|"(?P<double>[^"]*)"|(?P<plain>(?!['"]).*?))\s*(?:(?<=[\s='"])\#.*)?""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Scope:
    """What `${…}` and relative paths in a file refer to."""

    environ: Mapping[str, str] = field(repr=False)
    workspace: Path
    home: Path
    folder: Path
    """Relative paths start here: the folder of the file."""

    @classmethod
    def of(cls, environ: Mapping[str, str] | None = None, workspace: Path | None = None) -> Scope:
        """Take what is not given from the process."""
        environ = os.environ if environ is None else environ
        workspace = working_folder() if workspace is None else workspace
        return cls(environ, workspace, home_dir(environ), workspace)

    def path(self, text: str) -> Path:
        return path_from(text, self.folder, self.home)


class ExpansionError(ValueError):
    """A text can't be expanded. Never quotes it."""


def expand(text: str, scope: Scope) -> tuple[str, list[str]]:
    """Replace each `${…}` once, and return the variables that became nothing. Inserted values are not expanded again."""
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
        raise ExpansionError("a `${` is never closed. Write `$${` for a literal `${`.")
    match body:
        case "workspaceFolder":
            return str(scope.workspace)
        case "workspaceFolderBasename":
            return scope.workspace.name
        case "userHome":
            return str(scope.home)
        case "pathSeparator" | "/":
            return os.sep
    if body.startswith("input:"):
        raise ExpansionError("Halflap can't ask for `${input:…}`. Use an environment variable: `${NAME}`.")
    variable = _VARIABLE.match(body)
    if variable is None:
        raise ExpansionError("a `${…}` does not name a variable. Write `$${` for a literal `${`.")
    name, default = variable["name"], variable["default"]
    value = scope.environ.get(name)
    if default is not None:
        # As in a shell, `:-` treats an empty variable as unset.
        return value or default
    if value is None:
        advice = f"Set it, or give a default: `${{{name}:-default}}`."
        raise ExpansionError(f"the environment variable `{name}` is not set. {advice}")
    return value


def read_env_lines(text: str) -> tuple[dict[str, str], list[int]]:
    """Return the variables of `NAME=value` lines, and the numbers of other lines. Nothing is expanded."""
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
