"""The texts of one server: its command and arguments, its variables, its address and headers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from halflap.config.envfile import read_env_file
from halflap.config.expand import empty_variables, expand
from halflap.config.nodes import shown
from halflap.config.places import path_from, with_home

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from halflap.config.expand import Scope
    from halflap.config.nodes import Node, Problems

__all__ = ["Entry", "Texts"]

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")


@dataclass(frozen=True, slots=True)
class Entry:
    """A server as it stands in a file: its name, what is said of it, and where that is."""

    name: str
    node: Node
    where: str


@dataclass(slots=True)
class Texts:
    """The texts of one server as they are used: expanded, made absolute and checked."""

    entry: Entry
    values: Mapping[str, Any]
    problems: Problems
    scope: Scope | None
    """None: every `${…}` stays as it is written."""
    folder: Path
    home: Path

    def _text(self, text: str, where: str, line: int | None) -> str:
        problems = self.problems
        if self.scope is not None:
            text, flaws = expand(text, self.scope)
            for flaw in flaws:
                problems.add(
                    line,
                    f"{self.entry.where}.{where}: {flaw.message}",
                    flaw.suggestion,
                    code="config-variable",
                )
        if "\0" in text:
            problems.add(line, f"{self.entry.where}.{where} holds a NUL character.", "Take it out.")
        return text

    def _single(self, key: str) -> str | None:
        if key not in self.values:
            return None
        line = self._node(key).line
        before = len(self.problems.found)
        text = self._text(self.values[key], key, line)
        if not text.strip() and len(self.problems.found) == before:
            self.problems.add(
                line,
                f"{self.entry.where}.{key} is empty once its variables are expanded.",
                "Set the variable, or give a default: `${NAME:-default}`.",
                code="config-variable",
            )
        return text

    def _node(self, key: str) -> Node:
        return self.entry.node.mapping[key]

    def _mapping(self, key: str) -> dict[str, str]:
        return {
            name: self._text(value, f"{key}.{shown(name)}", self._node(key).mapping[name].line)
            for name, value in self.values.get(key, {}).items()
        }

    def unfilled(self) -> tuple[tuple[str, str], ...]:
        """Give the variables that are set to nothing, with the header or variable that is emptier for it."""
        if self.scope is None:
            return ()
        return tuple(
            (f"{key}.{name}", variable)
            for key in ("headers", "env")
            for name, text in self.values.get(key, {}).items()
            for variable in empty_variables(text, self.scope)
        )

    def command(self) -> str | None:
        command = self._single("command")
        return command if command is None or self.scope is None else with_home(command, self.home)

    def args(self) -> tuple[str, ...]:
        if "args" not in self.values:
            return ()
        nodes = self._node("args").items
        return tuple(
            self._text(arg, f"args[{index}]", nodes[index].line)
            for index, arg in enumerate(self.values["args"])
        )

    def cwd(self) -> str | None:
        cwd = self._single("cwd")
        if cwd is None or self.scope is None:
            return cwd
        return str(path_from(cwd, self.folder, self.home))

    def env(self) -> dict[str, str]:
        own = self._mapping("env")
        for name in own:
            if not name or "=" in name or "\0" in name:
                self.problems.add(
                    self._node("env").mapping[name].line,
                    f"{self.entry.where}.env: `{shown(name)}` cannot be the name of a variable.",
                    "A name has neither `=` nor a NUL character in it.",
                )
        return {**self._env_file(), **own}

    def _env_file(self) -> dict[str, str]:
        before = len(self.problems.found)
        text = self._single("envFile")
        if text is None or self.scope is None or len(self.problems.found) > before:
            return {}
        variables, problems = read_env_file(path_from(text, self.folder, self.home))
        if problems.found and problems.found[0].line is None:
            line, message = self._node("envFile").line, problems.found[0].message
            self.problems.add(
                line,
                f"{self.entry.where}.envFile: {message}",
                problems.found[0].suggestion,
                code="config-env-file",
            )
        else:
            self.problems.found += problems.found
        return variables

    def headers(self) -> dict[str, str]:
        headers = self._mapping("headers")
        for name, value in headers.items():
            line, where = self._node("headers").mapping[name].line, f"{self.entry.where}.headers"
            if not _HEADER_NAME.match(name):
                self.problems.add(
                    line,
                    f"{where}: `{shown(name)}` cannot be the name of a header.",
                    "Use letters, digits and `-`.",
                    code="config-header",
                )
            if "\n" in value or "\r" in value:
                self.problems.add(
                    line,
                    f"{where}.{shown(name)} holds a line break.",
                    "Write the value on one line; a variable may end in one.",
                    code="config-header",
                )
            elif not value.isascii():
                self.problems.add(
                    line,
                    f"{where}.{shown(name)} holds a character that a header cannot carry.",
                    "Use ASCII alone.",
                    code="config-header",
                )
        return headers

    def url(self) -> str | None:
        before = len(self.problems.found)
        url = self._single("url")
        if url is None or len(self.problems.found) > before:
            return url
        if not (self.scope is None and "${" in url) and not _is_web_address(url):
            self.problems.add(
                self._node("url").line,
                f"{self.entry.where}.url must be an address that starts with http:// or https://.",
                "Write it whole, like `https://mcp.example.com/mcp`.",
            )
        return url


def _is_web_address(url: str) -> bool:
    if any(character.isspace() or not character.isprintable() for character in url):
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
