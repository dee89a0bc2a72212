"""Translate a client's entry for a server into Halflap's."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from halflap.config import Scope, is_halflap
from halflap.config.expand import PREDEFINED
from halflap.config.reader import Reader
from halflap.config.servers import WITHOUT_EFFECT, read_servers
from halflap.config.syntax import Source, show
from halflap.core.text import join

if TYPE_CHECKING:
    from halflap.clients.places import Place
    from halflap.config import ServerConfig

_NAMES = {
    "serverUrl": "url", "httpUrl": "url", "uri": "url", "cmd": "command", "environment": "env", "envs": "env",
    "http_headers": "headers", "env_vars": "inherit_env", "env_keys": "inherit_env",
    "startup_timeout_sec": "start_timeout_seconds",
}  # fmt: skip
"""Our names for keys of clients."""
_OF_ANY = {"type", "start_timeout_seconds"}
_OF_COMMANDS = {"command", "args", "env", "envFile", "cwd", "inherit_env"}
_OF_URLS = {"url", "headers"}
_LIMITING = {
    "disabledTools", "excludeTools", "disabled_tools", "enabledTools", "includeTools", "enabled_tools", "tools",
    "available_tools", "sandbox", "sandboxEnabled",
}  # fmt: skip
"""Keys that limit a server. Halflap has no equivalent, so the server is imported as disabled."""
_SIGN_IN = {"auth", "oauth", "headersHelper"}
_PIECE = re.compile(r"\$\{([^}]*)\}|\$\{")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_LOCAL = re.compile(r"localhost\Z|127\.|::1\Z|.*\.localhost\Z")


@dataclass(frozen=True, slots=True)
class Found:
    """A server found in a client, translated."""

    name: str
    place: Place
    entry: Mapping[str, Any] = field(default_factory=dict)
    """In Halflap's form; empty if it can't be imported."""
    notes: tuple[str, ...] = ()
    """Differences from the client and things to do; also written above the entry."""
    refused: str | None = None
    """Why it can't be imported."""
    signs_in: bool = False
    """Whether the client signs in to it, or may have to."""

    @property
    def label(self) -> str:
        return f"`{show(self.name)}`"

    @property
    def disabled(self) -> bool:
        return self.entry.get("disabled") is True


def is_itself(name: str, raw: Any) -> bool:
    """Return whether a client's entry is Halflap itself, by its command or, for a URL, by its name."""
    if not isinstance(raw, Mapping):
        return False
    command, args = raw.get("command", raw.get("cmd")), raw.get("args")
    if isinstance(command, str):
        return is_halflap(command, [str(arg) for arg in args] if isinstance(args, list) else [])
    return name.lower() == "halflap" and any(_NAMES.get(key, key) == "url" for key in raw)


def read_entry(entry: Mapping[str, Any], scope: Scope | None = None) -> tuple[ServerConfig | None, str]:
    """Read an entry like one of the configuration, or return None and the problem."""
    (server,) = read_servers(Reader(Source({"mcpServers": {"server": dict(entry)}}), scope))
    if server.broken is None:
        return server, ""
    return None, server.broken.replace("`mcpServers.server` ", "it ").replace("mcpServers.server.", "")


def fingerprints(entry: Mapping[str, Any], scope: Scope) -> set[str]:
    """Return the fingerprints of a server, as written and expanded."""
    read = (read_entry(entry)[0], read_entry(entry, scope)[0])
    return {server.fingerprint for server in read if server is not None}


def translate(
    name: str, raw: Any, place: Place, scope: Scope, *, inputs: Any = None, disabled: bool = False
) -> Found:
    """Translate one entry; `inputs` are VS Code's, `disabled` is set if the client disables it elsewhere."""
    if not isinstance(raw, Mapping):
        return Found(name, place, refused="its entry is not an object.")
    work = _Translation(place, scope, inputs if isinstance(inputs, list) else [])
    try:
        entry = work.entry(_normalized(raw, place.client.slug))
    except ValueError as error:
        return Found(name, place, refused=str(error))
    server, problem = read_entry(entry)
    if server is None:
        return Found(name, place, refused=problem)
    if disabled or raw.get("disabled") not in (None, False) or raw.get("enabled") in (False, "false"):
        entry["disabled"] = True
    elif work.reasons:
        entry["disabled"] = True
        work.notes.append(f"disabled: {' '.join(work.reasons)}")
    else:
        usable, problem = read_entry(entry, scope)
        work.notes += [problem] if usable is None else _about_unset_variables(usable, place, scope)
    signs_in = any(raw.get(key) for key in _SIGN_IN) or _may_ask_to_sign_in(server)
    return Found(name, place, entry, tuple(work.notes), signs_in=signs_in)


def _about_unset_variables(server: ServerConfig, place: Place, scope: Scope) -> list[str]:
    inherited = server.inherit_env if isinstance(server.inherit_env, tuple) else ()
    names = [
        *(name for _, name in server.unfilled),
        *(name for name in inherited if name not in scope.environ),
    ]
    why = "; Goose keeps it in its keyring" if place.client.slug == "goose" else ""
    return [f"the variable {name} is not set here{why}." for name in dict.fromkeys(names)]


def _normalized(raw: Mapping[str, Any], slug: str) -> dict[str, Any]:
    """Return an entry with the keys that most clients use."""
    entry = {_NAMES.get(key, key): value for key, value in raw.items()}
    command = raw.get("command")
    if slug == "gemini" and "url" in raw and "httpUrl" not in raw:
        # In Gemini CLI, `url` means SSE and `httpUrl` streamable HTTP.
        entry.setdefault("type", "sse")
    elif slug == "zed" and isinstance(command, Mapping):
        entry |= {**command, "command": command.get("path")}
    elif slug == "zed" and "settings" in raw and command is None and "url" not in raw:
        raise ValueError("a Zed extension starts it.")
    elif slug == "goose" and raw.get("type") not in {"stdio", "sse", "streamable_http"}:
        raise ValueError("it is part of Goose.")
    return entry


def _may_ask_to_sign_in(server: ServerConfig) -> bool:
    """Return whether a remote server's entry has no credentials."""
    if server.url is None or server.headers:
        return False
    parts = urlsplit(server.url)
    return not (_LOCAL.match((parts.hostname or "").lower()) or parts.username or parts.query)


@dataclass(slots=True)
class _Translation:
    place: Place
    scope: Scope
    inputs: list[Any]
    notes: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    """Why the server must not be enabled as it is."""

    def entry(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        used = _OF_ANY | (_OF_COMMANDS if raw.get("command") else _OF_URLS)
        given = {key: value for key, value in raw.items() if value not in (None, {}, [])}
        if limiting := join([f"`{key}`" for key in given if key in _LIMITING]):
            self.reasons.append(
                f"{limiting} can't be imported. Use `tools.allow` or `tools.block`, then enable it."
            )
        for key in given.keys() & WITHOUT_EFFECT.keys() - _SIGN_IN:
            self.notes.append(f"`{key}` is not imported. {WITHOUT_EFFECT[key]}")
        written = {key: self._translated(key, value) for key, value in given.items() if key in used}
        if written.get("type") == "stdio":
            del written["type"]
        if isinstance(raw.get("oauth"), Mapping) and "url" in written:
            # Other keys mean something only to the client.
            known = {key: raw["oauth"][key] for key in ("clientId", "callbackPort") if raw["oauth"].get(key)}
            written |= {"oauth": known} if known else {}
        if headers := _codex_headers(raw) if self.place.client.slug == "codex" else None:
            written["headers"] = {**written.get("headers", {}), **headers}
        if self.place.folder is not None and "command" in written:
            _anchor_paths(written, _escaped(str(self.place.folder)))
        return written

    def _translated(self, key: str, value: Any) -> Any:
        if isinstance(value, str) and key != "type":
            return self._text(key, value)
        if isinstance(value, list):
            return [self._translated(key, one) for one in value]
        if isinstance(value, Mapping):
            return {name: self._translated(key, one) for name, one in value.items()}
        return value

    def _text(self, key: str, text: str) -> str:
        """Rewrite each `${…}` to keep its meaning in the client."""
        client = self.place.client
        if client.variables == "none":
            return _escaped(text)
        if client.slug == "gemini":
            text = re.sub(r"\$([A-Za-z_][A-Za-z0-9_]*)", r"${\1}", text)
        # Clients treat an unset variable as empty; elsewhere, the configuration reports it.
        ending = ":-" if key in {"env", "headers"} else ""
        variable = self._shell_variable if client.variables == "shell" else self._editor_variable
        return _PIECE.sub(lambda match: "$${" if match[1] is None else variable(match[1], ending), text)

    @staticmethod
    def _shell_variable(body: str, ending: str) -> str:
        name, default, _ = body.partition(":-")
        return f"${{{body}{'' if default else ending}}}" if _NAME.match(name) else f"$${{{body}}}"

    def _editor_variable(self, body: str, ending: str) -> str:
        folder = self.place.folder
        kind, colon, name = body.partition(":")
        if kind == "env" and _NAME.match(name):
            return f"${{{name}{ending}}}"
        if kind == "input":
            return self._input(name)
        if body in {"workspaceFolder", "workspaceFolderBasename"} and folder is not None:
            return _escaped(str(folder) if body == "workspaceFolder" else folder.name)
        if body in PREDEFINED:
            return f"${{{body}}}"
        if colon:
            self.reasons.append(f"Replace `${{{show(body)}}}` by a value.")
        return f"$${{{body}}}"

    def _input(self, name: str) -> str:
        """Replace an input of VS Code by an environment variable."""
        asked = next((one for one in self.inputs if isinstance(one, Mapping) and one.get("id") == name), {})
        variable = re.sub(r"\W", "_", name, flags=re.ASCII).upper().lstrip("0123456789") or "INPUT"
        default = asked.get("default")
        if isinstance(default, str) and default and "}" not in default and not asked.get("password"):
            return f"${{{variable}:-{default}}}"
        if not self.scope.environ.get(variable):
            self.reasons.append(f"Set the variable {variable}, which VS Code asks for.")
        return f"${{{variable}:-}}"


def _codex_headers(raw: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers that Codex takes from variables."""
    named = raw.get("env_http_headers")
    found = {name: f"${{{one}:-}}" for name, one in named.items()} if isinstance(named, Mapping) else {}
    token = raw.get("bearer_token_env_var")
    return {"Authorization": f"Bearer ${{{token}:-}}", **found} if token else found


def _anchor_paths(written: dict[str, Any], folder: str) -> None:
    """Make a project's relative paths absolute, and its folder the working folder."""
    for key in ("command", "cwd", "envFile"):
        path = str(written.get(key, "/"))
        if not path.startswith(("/", "~", "${")) and (key != "command" or path.startswith(".")):
            written[key] = os.path.normpath(f"{folder}/{path}")
    written.setdefault("cwd", folder)


def _escaped(text: str) -> str:
    return text.replace("${", "$${")
