"""Reads the file of `NAME=value` lines that VS Code calls `envFile`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from halflap.config.document import file_bytes
from halflap.config.nodes import Problems

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_env_file"]

_NAME = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)\s*=")


def read_env_file(path: Path) -> tuple[dict[str, str], Problems]:
    """Give the variables of the file, and what is wrong with it; values are taken as they stand."""
    problems = Problems(path)
    variables: dict[str, str] = {}
    data = file_bytes(path, problems)
    if data is None:
        return variables, problems
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        problems.add(None, "the file is not UTF-8.", "Save it as UTF-8.", code="config-env-file")
        return variables, problems
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _NAME.match(line)
        value = None if match is None or "\0" in line else _value(line[match.end() :].strip())
        if match is None or value is None:
            problems.add(
                number,
                "the line is not of the form NAME=value.",
                "Start a comment with `#`.",
                code="config-env-file",
            )
        else:
            variables[match["name"]] = value
    return variables, problems


def _value(text: str) -> str | None:
    quote = text[:1]
    if quote in {"'", '"'}:
        value, closed, rest = text[1:].partition(quote)
        return value if closed and rest.strip()[:1] in {"", "#"} else None
    return "" if quote == "#" else re.split(r"\s#", text, maxsplit=1)[0].rstrip()
