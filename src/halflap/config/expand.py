"""Replace `${VAR}` by the value of an environment variable, and read env files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halflap.config.paths import home_dir, path_from, working_folder

if TYPE_CHECKING:
    from pathlib import Path

    from halflap.config.source import Location
    from halflap.core.codes import ConfigCode

_MAX_DEPTH = 100
_MAX_VALUES = 100_000
"""Values in one section or server, each YAML alias counted as often as it is used."""
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
    """A value can't be expanded. Never quotes it."""

    def __init__(self, message: str, suggestion: str, code: ConfigCode = "config-variable") -> None:
        super().__init__(message)
        self.suggestion = suggestion
        self.code: ConfigCode = code


@dataclass(slots=True)
class Expansion:
    """Copies a value from a file with its variables expanded. Without a scope, `${…}` stays as written."""

    scope: Scope | None
    errors: list[tuple[Location, ExpansionError]] = field(default_factory=list)
    empty: list[tuple[Location, str]] = field(default_factory=list)
    """Where a variable without a value is used, and its name."""
    _count: int = 0

    def expand(self, value: Any, path: Location) -> Any:
        try:
            return self._copy(value, path, 0)
        except _TooLargeError:
            error = ExpansionError("it is too large.", "Avoid YAML aliases.", "config-too-large")
            self.errors.append((path, error))
            return None

    def _copy(self, value: Any, path: Location, depth: int) -> Any:
        self._count += 1
        if depth > _MAX_DEPTH or self._count > _MAX_VALUES:
            raise _TooLargeError
        if isinstance(value, Mapping):
            return {key: self._copy(inner, (*path, str(key)), depth + 1) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._copy(inner, (*path, index), depth + 1) for index, inner in enumerate(value)]
        if value is None:
            # `allow:` without a value must not mean the default, which allows everything.
            advice = "Leave the key out to get the default."
            self.errors.append((path, ExpansionError("it has no value.", advice, "config-wrong-value")))
        if isinstance(value, str) and self.scope is not None:
            names: list[str] = []
            try:
                value = expand(value, self.scope, names)
            except ExpansionError as error:
                self.errors.append((path, error))
            self.empty += [(path, name) for name in names]
        return value


class _TooLargeError(Exception):
    pass


def expand(text: str, scope: Scope, empty: list[str] | None = None) -> str:
    """Replace each `${…}` once; inserted values are not expanded again. `empty` gets those that become nothing."""

    def replaced(match: re.Match[str]) -> str:
        if match["literal"]:
            return "${"
        value = _value(match["body"], scope)
        if not value and empty is not None:
            empty.append(match["body"].removeprefix("env:").partition(":-")[0])
        return value

    return _PIECE.sub(replaced, text)


def _value(body: str | None, scope: Scope) -> str:
    escape = "or write `$${` for a literal `${`."
    if body is None:
        raise ExpansionError("a `${` is never closed.", f"Close it with `}}`, {escape}")
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
        advice = "Put the value in an environment variable and write `${NAME}`."
        raise ExpansionError("Halflap can't ask for the inputs of VS Code (`${input:…}`).", advice)
    variable = _VARIABLE.match(body)
    if variable is None:
        advice = f"Write `${{NAME}}` or `${{NAME:-default}}`, {escape}"
        raise ExpansionError("a `${…}` does not name a variable.", advice)
    name, default = variable["name"], variable["default"]
    value = scope.environ.get(name)
    if default is not None:
        # As in a shell, `:-` treats an empty variable as unset.
        return value or default
    if value is None:
        advice = f"Set it, or give a default: `${{{name}:-default}}`."
        raise ExpansionError(f"the environment variable `{name}` is not set.", advice)
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
