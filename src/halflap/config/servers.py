"""Reads upstream servers in each of the forms that people have them in."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from halflap.config.envfile import read_env_file
from halflap.config.expand import Scope, expand
from halflap.config.nodes import Node, Problems, shown
from halflap.config.places import path_from, with_home
from halflap.config.settings import Protocol, ServerConfig, Transport, UpstreamDefaults
from halflap.config.table import SERVER_SETTINGS, read_keys
from halflap.values import SCRIPTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["ALIASES", "FOREIGN_KEYS", "WITHOUT_EFFECT", "ServerReader"]

FOREIGN_KEYS = frozenset(
    {"alwaysAllow", "alwaysLoad", "autoApprove", "description", "dev", "gallery", "icon", "version"}
)
"""Keys that other clients write for themselves and that change nothing about the server."""

WITHOUT_EFFECT = {
    "timeout": "Its unit differs between clients; `call_timeout_seconds` is ours.",
    "oauth": "Halflap does not sign in by itself; give credentials as `headers`.",
    "auth": "Halflap does not sign in by itself; give credentials as `headers`.",
    "headersHelper": "Halflap runs no helper for headers; give them as `headers`.",
}
"""Keys of other clients that Halflap has no such thing for, and what there is instead."""
ALIASES = {"serverUrl": "url", "httpUrl": "url", "environment": "env"}

_INSTEAD = {
    "disabledTools": "Write them in `tools.block`.",
    "excludeTools": "Write them in `tools.block`.",
    "enabledTools": "Write them in `tools.allow`.",
    "includeTools": "Write them in `tools.allow`.",
    "tools": "Write them in `tools.allow` at the top of the file.",
    "sandbox": "Halflap does not confine servers. Leave it out if that is all right with you.",
    "sandboxEnabled": "Halflap does not confine servers. Leave it out if that is all right with you.",
}
_LONGEST_NAME = 64
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_FOR_COMMANDS = ("args", "env", "envFile", "cwd")
_LIMITS = (
    "start_timeout_seconds",
    "call_timeout_seconds",
    "max_call_timeout_seconds",
    "max_concurrent_calls",
)


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    node: Node
    where: str


@dataclass(slots=True)
class ServerReader:
    """Reads the servers of one file; without a scope, every `${…}` stays as it is written."""

    folder: Path
    problems: Problems
    scope: Scope | None
    home: Path
    defaults: UpstreamDefaults = field(default_factory=UpstreamDefaults)
    warnings: list[str] = field(default_factory=list)

    def read(self, root: Node) -> list[ServerConfig]:
        """Give the servers of the file that are in order, and note what is wrong with the others."""
        first_seen: dict[str, str] = {}
        servers = []
        for entry in self._entries(root):
            server = self._server(entry)
            if entry.name in first_seen:
                self.problems.add(
                    entry.node.line,
                    f"there are two servers named `{shown(entry.name)}`: {first_seen[entry.name]} and {entry.where}.",
                    "Rename one of them.",
                )
                continue
            first_seen[entry.name] = entry.where
            if server is not None:
                servers.append(server)
        return servers

    def _entries(self, root: Node) -> Iterator[_Entry]:
        for form in ("mcpServers", "servers"):
            node = root.mapping.get(form)
            if node is None or node.value is None:
                continue
            if isinstance(node.value, Mapping):
                for name, member in node.value.items():
                    if self._valid_name(name, form, member.line):
                        yield _Entry(name, member, f"{form}.{shown(name)}")
            elif isinstance(node.value, tuple) and form == "servers":
                yield from self._listed(node.value)
            elif isinstance(node.value, tuple):
                self.problems.add(
                    node.line, "mcpServers must be a mapping, not a list.", "A list goes under `servers`."
                )
            else:
                self.problems.add(
                    node.line, f"{form} must be a mapping of names to servers, not {node.kind}."
                )

    def _listed(self, items: tuple[Node, ...]) -> Iterator[_Entry]:
        for index, item in enumerate(items):
            where = f"servers[{index}]"
            if not isinstance(item.value, Mapping):
                self.problems.add(item.line, f"{where} must be a mapping, not {item.kind}.")
                continue
            name = item.value.get("name")
            if name is None:
                self.problems.add(item.line, f"{where} has no `name`.", "Each server of a list needs one.")
            elif not isinstance(name.value, str):
                self.problems.add(name.line, f"{where}.name must be a string, not {name.kind}.")
            elif self._valid_name(name.value, where, name.line):
                yield _Entry(name.value, item, where)

    def _valid_name(self, name: str, where: str, line: int | None) -> bool:
        if not name.strip():
            self.problems.add(line, f"the name of a server in {where} is empty.")
        elif len(name) > _LONGEST_NAME:
            self.problems.add(
                line, f"the server name `{shown(name)}` in {where} is longer than {_LONGEST_NAME} characters."
            )
        elif any(unicodedata.category(character) in {"Cc", "Zl", "Zp"} for character in name):
            self.problems.add(line, f"the server name `{shown(name)}` in {where} holds a control character.")
        elif name == SCRIPTS:
            self.problems.add(
                line, f"the server name `{SCRIPTS}` in {where} belongs to saved scripts.", "Give it another."
            )
        else:
            return True
        return False

    def _server(self, entry: _Entry) -> ServerConfig | None:
        if not isinstance(entry.node.value, Mapping):
            self.problems.add(
                entry.node.line,
                f"{entry.where} must be a mapping with `command` or `url`, not {entry.node.kind}.",
            )
            return None
        before = len(self.problems.found)
        entry = self._in_our_words(entry)
        ignored = FOREIGN_KEYS | WITHOUT_EFFECT.keys()
        values = read_keys(
            entry.node, entry.where, SERVER_SETTINGS, self.problems, ignored=ignored, instead=_INSTEAD
        )
        disabled = values.get("disabled", False) or not values.get("enabled", True)
        transport = self._transport(entry, values)
        limits = self._limits(entry, values)
        if values.get("name", entry.name) != entry.name:
            self.problems.add(
                self._line(entry, "name"),
                f"{entry.where}.name is not the key of the server.",
                "Leave it out: the key is the name.",
            )
        self._drop_idle_keys(entry, values, transport)
        settled = _Settled(entry, values, self, None if disabled else self.scope)
        server = ServerConfig(
            name=entry.name,
            transport=transport,
            command=settled.command(),
            args=settled.args(),
            env=settled.env(),
            cwd=settled.cwd(),
            url=settled.url(),
            headers=settled.headers(),
            env_file=values.get("envFile"),
            trust_annotations=values.get("trust_annotations", False),
            disabled=disabled,
            protocol=cast("Protocol", values.get("protocol", "auto")),
            source=self.problems.file,
            **limits,
        )
        return server if len(self.problems.found) == before else None

    def _in_our_words(self, entry: _Entry) -> _Entry:
        """Read the names that other clients have for the same thing; warn of what has no effect here."""
        members = entry.node.mapping
        for key in members.keys() & WITHOUT_EFFECT.keys():
            self.warnings.append(
                f"{self.problems.file or 'configuration'}: {entry.where}.{key} has no effect. {WITHOUT_EFFECT[key]}"
            )
        if not members.keys() & ALIASES.keys():
            return entry
        renamed = {
            key if ALIASES.get(key, key) in members else ALIASES[key]: member
            for key, member in members.items()
        }
        return replace(entry, node=replace(entry.node, value=renamed))

    def _line(self, entry: _Entry, key: str) -> int | None:
        return entry.node.mapping.get(key, entry.node).line

    def _transport(self, entry: _Entry, values: Mapping[str, Any]) -> Transport:
        """Find out how the server is reached, and check that it says just that."""
        present = entry.node.mapping.keys()
        said = values.get("transport", values.get("type"))
        if "transport" in values and "type" in values and values["type"] != said:
            self.problems.add(
                self._line(entry, "type"), f"{entry.where} has a `transport` and another `type`.", "Keep one."
            )
        has_command, has_url = "command" in present, "url" in present
        if has_command and has_url:
            self.problems.add(
                self._line(entry, "url"),
                f"{entry.where} has both `command` and `url`.",
                "Keep `command` to start a program, or `url` to reach one that runs.",
            )
        elif not has_command and not has_url:
            wanted = "`command` or `url`" if said is None else "`command`" if said == "stdio" else "`url`"
            self.problems.add(
                entry.node.line,
                f"{entry.where} has no {wanted}.",
                "Write `command` to start a program, or `url` to reach one that runs.",
            )
        elif has_url and said == "stdio":
            self.problems.add(
                self._line(entry, "url"),
                f"{entry.where} has a `url`, but its transport is stdio.",
                "Write `http`.",
            )
        elif has_command and said in {"http", "sse"}:
            self.problems.add(
                self._line(entry, "command"),
                f"{entry.where} has a `command`, but its transport is {said}.",
                "Write `url`, or the transport `stdio`.",
            )
        return cast("Transport", said or ("stdio" if has_command else "auto"))

    def _limits(self, entry: _Entry, values: Mapping[str, Any]) -> dict[str, Any]:
        limits = {key: values.get(key, getattr(self.defaults, key)) for key in _LIMITS}
        own = [key for key in _LIMITS[1:3] if key in values]
        if own and limits["call_timeout_seconds"] > limits["max_call_timeout_seconds"]:
            self.problems.add(
                self._line(entry, own[0]),
                f"{entry.where}: call_timeout_seconds is greater than max_call_timeout_seconds.",
                "Raise `max_call_timeout_seconds` too.",
            )
        return limits

    def _drop_idle_keys(self, entry: _Entry, values: dict[str, Any], transport: Transport) -> None:
        """Warn of keys that mean nothing for this transport; clients' own examples have them."""
        idle = ("headers",) if transport == "stdio" else _FOR_COMMANDS
        reached = "is started by a command" if transport == "stdio" else "is reached by a URL"
        for key in idle:
            if values.pop(key, None):
                self.warnings.append(
                    f"{self.problems.file or 'configuration'}: {entry.where}.{key} has no effect: the server {reached}."
                )


@dataclass(slots=True)
class _Settled:
    """The texts of one server as they are used: expanded, made absolute and checked."""

    entry: _Entry
    values: Mapping[str, Any]
    reader: ServerReader
    scope: Scope | None

    def _text(self, text: str, where: str, line: int | None) -> str:
        problems = self.reader.problems
        if self.scope is not None:
            text, flaws = expand(text, self.scope)
            for flaw in flaws:
                problems.add(line, f"{self.entry.where}.{where}: {flaw.message}", flaw.suggestion)
        if "\0" in text:
            problems.add(line, f"{self.entry.where}.{where} holds a NUL character.")
        return text

    def _single(self, key: str) -> str | None:
        if key not in self.values:
            return None
        line = self._node(key).line
        before = len(self.reader.problems.found)
        text = self._text(self.values[key], key, line)
        if not text.strip() and len(self.reader.problems.found) == before:
            self.reader.problems.add(
                line, f"{self.entry.where}.{key} is empty once its variables are expanded."
            )
        return text

    def _node(self, key: str) -> Node:
        return self.entry.node.mapping[key]

    def _mapping(self, key: str) -> dict[str, str]:
        return {
            name: self._text(value, f"{key}.{shown(name)}", self._node(key).mapping[name].line)
            for name, value in self.values.get(key, {}).items()
        }

    def command(self) -> str | None:
        command = self._single("command")
        return command if command is None or self.scope is None else with_home(command, self.reader.home)

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
        return str(path_from(cwd, self.reader.folder, self.reader.home))

    def env(self) -> dict[str, str]:
        own = self._mapping("env")
        for name in own:
            if not name or "=" in name or "\0" in name:
                self.reader.problems.add(
                    self._node("env").mapping[name].line,
                    f"{self.entry.where}.env: `{shown(name)}` cannot be the name of a variable.",
                )
        return {**self._env_file(), **own}

    def _env_file(self) -> dict[str, str]:
        before = len(self.reader.problems.found)
        text = self._single("envFile")
        if text is None or self.scope is None or len(self.reader.problems.found) > before:
            return {}
        variables, problems = read_env_file(path_from(text, self.reader.folder, self.reader.home))
        if problems.found and problems.found[0].line is None:
            line, message = self._node("envFile").line, problems.found[0].message
            self.reader.problems.add(line, f"{self.entry.where}.envFile: {message}")
        else:
            self.reader.problems.found += problems.found
        return variables

    def headers(self) -> dict[str, str]:
        headers = self._mapping("headers")
        for name, value in headers.items():
            line, where = self._node("headers").mapping[name].line, f"{self.entry.where}.headers"
            if not _HEADER_NAME.match(name):
                self.reader.problems.add(line, f"{where}: `{shown(name)}` cannot be the name of a header.")
            if "\n" in value or "\r" in value:
                self.reader.problems.add(line, f"{where}.{shown(name)} holds a line break.")
            elif not value.isascii():
                self.reader.problems.add(
                    line,
                    f"{where}.{shown(name)} holds a character that a header cannot carry.",
                    "Use ASCII alone.",
                )
        return headers

    def url(self) -> str | None:
        before = len(self.reader.problems.found)
        url = self._single("url")
        if url is None or len(self.reader.problems.found) > before:
            return url
        if not (self.scope is None and "${" in url) and not _is_web_address(url):
            self.reader.problems.add(
                self._node("url").line,
                f"{self.entry.where}.url must be an address that starts with http:// or https://.",
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
