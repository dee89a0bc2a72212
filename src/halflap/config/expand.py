"""Replace `${VAR}` by the value of an environment variable, and read env files."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halflap.config.paths import home_dir, path_from, working_folder
from halflap.config.problems import Problems
from halflap.config.source_lines import read_bytes
from halflap.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_PIECE = re.compile(r"(?P<literal>\$\$\{)|\$\{(?P<body>[^}]*)\}|(?P<open>\$\{)")
_VARIABLE = re.compile(r"(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>.*))?\Z", re.DOTALL)
_ENV_LINE = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*(?P<value>.*?)\s*\Z")
_ENV_VALUE = re.compile(
    r"""'(?P<single>[^']*)'\s*(?:\#.*)?|"(?P<double>[^"]*)"\s*(?:\#.*)?|(?P<plain>[^'"].*|)"""
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
    """A text can't be expanded. Never quotes the text."""

    def __init__(self, message: str, suggestion: str) -> None:
        super().__init__(message)
        self.message = message
        self.suggestion = suggestion


def expand(text: str, scope: Scope) -> str:
    """Replace each `${…}` once; inserted values are not expanded again."""
    return _PIECE.sub(lambda match: "${" if match["literal"] else _value(match["body"], scope), text)


def empty_variables(text: str, scope: Scope) -> list[str]:
    """Return the variables in a text that are set, or default, to nothing."""
    named = (_VARIABLE.match(match["body"]) for match in _PIECE.finditer(text) if match["body"])
    values = {one["name"]: scope.environ.get(one["name"]) or one["default"] for one in named if one}
    return [name for name, value in values.items() if not value and (value == "" or name in scope.environ)]


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


def read_env_file(path: Path) -> tuple[dict[str, str], Problems]:
    """Return the variables of a file of `NAME=value` lines, and its problems. Nothing in it is expanded."""
    problems = Problems(path)
    variables: dict[str, str] = {}
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except (ConfigError, UnicodeDecodeError) as error:
        message = error.problems[0].message if isinstance(error, ConfigError) else "The file is not UTF-8."
        problems.add(None, message, "Check its path.", code="config-env-file")
        return variables, problems
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = None if "\0" in line else _ENV_LINE.match(line)
        value = match and _ENV_VALUE.fullmatch(match["value"])
        if match is None or not value:
            problems.add(
                number, "The line is not NAME=value.", "Start a comment with `#`.", code="config-env-file"
            )
            continue
        plain = re.split(r"(?:\A|\s)#", value["plain"] or "", maxsplit=1)[0].rstrip()
        variables[match["name"]] = next(
            (text for text in value.group("single", "double") if text is not None), plain
        )
    return variables, problems
