"""Reads upstream servers in each of the forms that people have them in."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from halflap.config.nodes import Node, Problems, shown
from halflap.config.settings import Protocol, ServerConfig, Transport, UpstreamDefaults
from halflap.config.table import SERVER_SETTINGS, read_keys
from halflap.config.texts import Entry, Texts
from halflap.core.values import DSPY, OWN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from halflap.config.expand import Scope

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
_FOR_COMMANDS = ("args", "env", "envFile", "cwd")
_LIMITS = (
    "start_timeout_seconds",
    "call_timeout_seconds",
    "max_call_timeout_seconds",
    "max_concurrent_calls",
)


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
                    code="config-duplicate-server",
                )
                continue
            first_seen[entry.name] = entry.where
            if server is not None:
                servers.append(server)
        return servers

    def _entries(self, root: Node) -> Iterator[Entry]:
        for form in ("mcpServers", "servers"):
            node = root.mapping.get(form)
            if node is None or node.value is None:
                continue
            if isinstance(node.value, Mapping):
                for name, member in node.value.items():
                    if self._valid_name(name, form, member.line):
                        yield Entry(name, member, f"{form}.{shown(name)}")
            elif isinstance(node.value, tuple) and form == "servers":
                yield from self._listed(node.value)
            elif isinstance(node.value, tuple):
                self.problems.add(
                    node.line, "mcpServers must be a mapping, not a list.", "A list goes under `servers`."
                )
            else:
                self.problems.add(
                    node.line,
                    f"{form} must be a mapping of names to servers, not {node.kind}.",
                    "Write the name of each server as a key.",
                )

    def _listed(self, items: tuple[Node, ...]) -> Iterator[Entry]:
        for index, item in enumerate(items):
            where = f"servers[{index}]"
            if not isinstance(item.value, Mapping):
                self.problems.add(
                    item.line, f"{where} must be a mapping, not {item.kind}.", "Start it with `name:`."
                )
                continue
            name = item.value.get("name")
            if name is None:
                self.problems.add(
                    item.line,
                    f"{where} has no `name`.",
                    "Each server of a list needs one.",
                    code="config-server-name",
                )
            elif not isinstance(name.value, str):
                self.problems.add(
                    name.line,
                    f"{where}.name must be a string, not {name.kind}.",
                    "Put it in quotes.",
                    code="config-server-name",
                )
            elif self._valid_name(name.value, where, name.line):
                yield Entry(name.value, item, where)

    def _valid_name(self, name: str, where: str, line: int | None) -> bool:
        if not name.strip():
            self.problems.add(
                line,
                f"the name of a server in {where} is empty.",
                "Give it one: its tools are named by it.",
                code="config-server-name",
            )
        elif len(name) > _LONGEST_NAME:
            self.problems.add(
                line,
                f"the server name `{shown(name)}` in {where} is longer than {_LONGEST_NAME} characters.",
                "Give it a shorter one.",
                code="config-server-name",
            )
        elif any(unicodedata.category(character) in {"Cc", "Zl", "Zp"} for character in name):
            self.problems.add(
                line,
                f"the server name `{shown(name)}` in {where} holds a control character.",
                "Take it out.",
                code="config-server-name",
            )
        elif name in OWN:
            self.problems.add(
                line,
                f"the server name `{name}` in {where} belongs to saved {'DSPy programs' if name == DSPY else 'scripts'}.",
                "Give it another.",
                code="config-server-name",
            )
        else:
            return True
        return False

    def _server(self, entry: Entry) -> ServerConfig | None:
        if not isinstance(entry.node.value, Mapping):
            self.problems.add(
                entry.node.line,
                f"{entry.where} must be a mapping with `command` or `url`, not {entry.node.kind}.",
                code="config-server-incomplete",
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
                code="config-server-name",
            )
        self._drop_idle_keys(entry, values, transport)
        settled = Texts(
            entry, values, self.problems, None if disabled else self.scope, self.folder, self.home
        )
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
            unfilled=settled.unfilled(),
            trust_annotations=values.get("trust_annotations", False),
            disabled=disabled,
            broken=self._unset_variables(before),
            protocol=cast("Protocol", values.get("protocol", "auto")),
            source=self.problems.file,
            **limits,
        )
        return server if len(self.problems.found) == before else None

    def _unset_variables(self, before: int) -> str | None:
        """Return why one server cannot be used, if variables are all that is wrong with its entry."""
        found = self.problems.found[before:]
        if not found or any(problem.code != "config-variable" for problem in found):
            return None
        del self.problems.found[before:]
        return "\n".join(map(str, found))

    def _in_our_words(self, entry: Entry) -> Entry:
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

    def _line(self, entry: Entry, key: str) -> int | None:
        return entry.node.mapping.get(key, entry.node).line

    def _transport(self, entry: Entry, values: Mapping[str, Any]) -> Transport:
        """Find out how the server is reached, and check that it says just that."""
        present = entry.node.mapping.keys()
        said = values.get("transport", values.get("type"))
        if "transport" in values and "type" in values and values["type"] != said:
            self.problems.add(
                self._line(entry, "type"),
                f"{entry.where} has a `transport` and another `type`.",
                "Keep one.",
                code="config-exclusive",
            )
        has_command, has_url = "command" in present, "url" in present
        if has_command and has_url:
            self.problems.add(
                self._line(entry, "url"),
                f"{entry.where} has both `command` and `url`.",
                "Keep `command` to start a program, or `url` to reach one that runs.",
                code="config-exclusive",
            )
        elif not has_command and not has_url:
            wanted = "`command` or `url`" if said is None else "`command`" if said == "stdio" else "`url`"
            self.problems.add(
                entry.node.line,
                f"{entry.where} has no {wanted}.",
                "Write `command` to start a program, or `url` to reach one that runs.",
                code="config-server-incomplete",
            )
        elif has_url and said == "stdio":
            self.problems.add(
                self._line(entry, "url"),
                f"{entry.where} has a `url`, but its transport is stdio.",
                "Write `http`.",
                code="config-transport",
            )
        elif has_command and said in {"http", "sse"}:
            self.problems.add(
                self._line(entry, "command"),
                f"{entry.where} has a `command`, but its transport is {said}.",
                "Write `url`, or the transport `stdio`.",
                code="config-transport",
            )
        return cast("Transport", said or ("stdio" if has_command else "auto"))

    def _limits(self, entry: Entry, values: Mapping[str, Any]) -> dict[str, Any]:
        limits = {key: values.get(key, getattr(self.defaults, key)) for key in _LIMITS}
        own = [key for key in _LIMITS[1:3] if key in values]
        if own and limits["call_timeout_seconds"] > limits["max_call_timeout_seconds"]:
            self.problems.add(
                self._line(entry, own[0]),
                f"{entry.where}: call_timeout_seconds is greater than max_call_timeout_seconds.",
                "Raise `max_call_timeout_seconds` too.",
                code="config-timeouts",
            )
        return limits

    def _drop_idle_keys(self, entry: Entry, values: dict[str, Any], transport: Transport) -> None:
        """Warn of keys that mean nothing for this transport; clients' own examples have them."""
        idle = ("headers",) if transport == "stdio" else _FOR_COMMANDS
        reached = "is started by a command" if transport == "stdio" else "is reached by a URL"
        for key in idle:
            if values.pop(key, None):
                self.warnings.append(
                    f"{self.problems.file or 'configuration'}: {entry.where}.{key} has no effect: the server {reached}."
                )
