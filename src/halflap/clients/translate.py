"""Translate a client's entry for a server into Halflap's."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from halflap.config import Scope, is_halflap
from halflap.config.expand import ExpansionError, expand
from halflap.config.reader import Reader
from halflap.config.servers import WITHOUT_EFFECT, read_servers
from halflap.config.source import Source, show

if TYPE_CHECKING:
    from halflap.clients.places import Place
    from halflap.config import ServerConfig

ALIASES = {"serverUrl": "url", "httpUrl": "url", "environment": "env"}
_KEPT = ("type", "command", "args", "env", "envFile", "cwd", "url", "headers", "inherit_env")
_BLOCKED = ("disabledTools", "excludeTools", "disabled_tools")
_ALLOWED = ("enabledTools", "includeTools", "enabled_tools", "tools", "available_tools")
_SIGN_IN = ("auth", "oauth", "headersHelper")
_PIECE = re.compile(r"\$\{([^}]*)\}|\$\{")
_SHELL_PIECE = re.compile(r"\$\{([^}]*)\}|\$\{|\$([A-Za-z_][A-Za-z0-9_]*)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_LOCAL = re.compile(r"localhost\Z|127\.|::1\Z|.*\.localhost\Z")


@dataclass(frozen=True, slots=True)
class Found:
    """A server found in a client, translated."""

    name: str
    place: Place
    entry: Mapping[str, Any] = field(default_factory=dict)
    """As Halflap's configuration has it; empty if it can't be imported."""
    notes: tuple[str, ...] = ()
    """What differs from the client, or has to be done; also written above the entry."""
    blocked: tuple[str, ...] = ()
    """Tools that are switched off in the client."""
    refused: str | None = None
    """Why it can't be imported."""
    is_itself: bool = False
    """It starts Halflap."""
    signs_in: bool = False
    """The client signs in to it, or may have to."""

    @property
    def label(self) -> str:
        return f"`{show(self.name)}`" if self.name.strip() else "a server without a name"

    @property
    def disabled(self) -> bool:
        return self.entry.get("disabled") is True


def is_itself(name: str, raw: Any) -> bool:
    """Return whether a client's entry is Halflap: by its command or, for a URL, by its name or its address."""
    if not isinstance(raw, Mapping):
        return False
    command, args = raw.get("command", raw.get("cmd")), raw.get("args")
    if isinstance(command, str):
        words = [arg for arg in args if isinstance(arg, str)] if isinstance(args, list) else []
        return is_halflap(command, words)
    return name.lower() == "halflap" and any(key in raw for key in ("url", "uri", "serverUrl", "httpUrl"))


def read_entry(entry: Mapping[str, Any], scope: Scope | None = None) -> tuple[ServerConfig | None, str]:
    """Read an entry as the configuration would, or say what is wrong; without a scope `${…}` stays as written."""
    (server,) = read_servers(Reader(Source({"mcpServers": {"server": dict(entry)}}), scope))
    if server.broken is None:
        return server, ""
    return None, server.broken.replace("mcpServers.server.", "").replace("mcpServers.server: ", "")


def same_server(one: ServerConfig, other: ServerConfig, scope: Scope) -> bool:
    """Return whether two entries mean the same server, as written or with their variables expanded."""

    def identity(server: ServerConfig, text: Callable[[str], str]) -> tuple[object, ...]:
        return (
            "http" if server.transport == "auto" else server.transport,
            *(text(value or "") for value in (server.command, server.cwd, server.env_file, server.url)),
            tuple(map(text, server.args)),
            sorted((name, text(value)) for name, value in server.env.items()),
            sorted((name.lower(), text(value)) for name, value in server.headers.items()),
        )

    def expanded(value: str) -> str:
        with suppress(ExpansionError):
            return expand(value, scope)
        return value

    return any(identity(one, text) == identity(other, text) for text in (str, expanded))


def translate(
    name: str, raw: Any, place: Place, scope: Scope, *, inputs: Any = None, disabled: bool = False
) -> Found:
    """Translate one entry; `inputs` are VS Code's, `disabled` is what the client says outside the entry."""
    if not isinstance(raw, Mapping):
        return Found(name, place, refused="its entry is not an object.")
    work = _Translation(place, scope, inputs if isinstance(inputs, list) else [])
    try:
        entry = work.entry(_NORMALIZED.get(place.client.slug, dict)(raw))
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
    if not entry.get("disabled"):
        usable, problem = read_entry(entry, scope)
        unset = dict.fromkeys(name for _, name in usable.unfilled) if usable else ()
        work.notes += [problem] if problem else [f"the variable {name} is not set here." for name in unset]
    signs_in = any(raw.get(key) for key in _SIGN_IN) or _may_ask_to_sign_in(server)
    return Found(name, place, entry, tuple(work.notes), tuple(work.blocked), signs_in=signs_in)


def _may_ask_to_sign_in(server: ServerConfig) -> bool:
    """Return whether a remote server gets no credentials from its entry."""
    if server.url is None or server.headers:
        return False
    try:
        parts = urlsplit(server.url)
        host = (parts.hostname or "").lower()
    except ValueError:
        return True
    return not (_LOCAL.match(host) or parts.username or parts.query)


@dataclass(slots=True)
class _Translation:
    place: Place
    scope: Scope
    inputs: list[Any]
    notes: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    """Why the server must not start as it is."""
    blocked: list[str] = field(default_factory=list)

    def entry(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        written: dict[str, Any] = {}
        for key, value in raw.items():
            ours = ALIASES.get(key, key)
            if value is None or value in ({}, []):
                continue
            if ours in _KEPT:
                written[ours] = self._translated(ours, value)
            elif key in _BLOCKED and _is_names(value):
                self.blocked += value
            elif key in (*_BLOCKED, *_ALLOWED):
                self.reasons.append(f"`{key}` limits its tools; use `tools.allow` or `tools.block` instead.")
            elif key in {"sandbox", "sandboxEnabled"}:
                self.reasons.append(
                    f"`{key}` confines it, and Halflap can't. Enable it if that is acceptable."
                )
            elif key in WITHOUT_EFFECT and key not in _SIGN_IN:
                self.notes.append(f"`{key}` is left out. {WITHOUT_EFFECT[key]}")
        unused = ("headers",) if "command" in written else ("args", "env", "envFile", "cwd", "inherit_env")
        for key in unused:
            written.pop(key, None)
        if written.get("type") == "stdio":
            del written["type"]
        self._anchor_paths(written)
        return written

    def _anchor_paths(self, written: dict[str, Any]) -> None:
        """Make a project's relative paths absolute, and let its servers run in its folder."""
        folder = self.place.folder
        if folder is None or "command" not in written:
            return
        for key in ("command", "cwd", "envFile"):
            path = str(written.get(key, ""))
            is_path = path and (key != "command" or path.startswith(("./", "../")))
            if is_path and not path.startswith(("/", "~", "${", "\\")) and path[1:2] != ":":
                written[key] = f"{_escaped(str(folder))}/{path.removeprefix('./')}"
        written.setdefault("cwd", _escaped(str(folder)))

    def _translated(self, key: str, value: Any) -> Any:
        if isinstance(value, str):
            return value if key == "type" else self._text(key, value)
        if isinstance(value, bool | int | float) and key in {"args", "env", "headers"}:
            return str(value).lower() if isinstance(value, bool) else str(value)
        if key in {"args", "inherit_env"} and isinstance(value, list):
            return [self._translated("env", item) for item in value]
        if key in {"env", "headers"} and isinstance(value, Mapping):
            return {name: self._translated(key, one) for name, one in value.items()}
        raise ValueError(f"`{key}` has a value of the wrong type.")

    def _text(self, key: str, text: str) -> str:
        """Rewrite each `${…}` so that it means here what it means in the client."""
        # Codex names the variables of headers in keys of their own, which are written as `${…}` here.
        is_codex_header = self.place.client.slug == "codex" and key == "headers"
        kind = "shell" if is_codex_header else self.place.client.variables
        if kind == "none":
            return _escaped(text)
        pattern = _SHELL_PIECE if self.place.client.slug == "gemini" else _PIECE
        # An unset variable is empty to the clients. Where that can't work, the configuration will report it.
        ending = ":-" if key in {"env", "headers"} else ""

        def piece(match: re.Match[str]) -> str:
            body = match[1] or (match[2] if pattern is _SHELL_PIECE else None)
            if body is None:
                return "$${"
            if kind == "shell":
                is_name = _NAME.match(body) or _NAME.match(body.partition(":-")[0])
                return f"${{{body}{'' if ':-' in body else ending}}}" if is_name else f"$${{{body}}}"
            return self._editor_variable(body, ending)

        return pattern.sub(piece, text)

    def _editor_variable(self, body: str, ending: str) -> str:
        folder = self.place.folder
        if body in {"workspaceFolder", "workspaceFolderBasename"} and folder is not None:
            return _escaped(str(folder) if body == "workspaceFolder" else folder.name)
        if body in {"userHome", "pathSeparator", "/", "workspaceFolder", "workspaceFolderBasename"}:
            return f"${{{body}}}"
        kind, colon, name = body.partition(":")
        if kind == "env" and _NAME.match(name):
            return f"${{{name}{ending}}}"
        if kind == "input":
            return self._input(name)
        if colon and not _NAME.match(body.partition(":-")[0]):
            self.reasons.append(f"Replace `${{{show(body)}}}` by a value.")
        return f"$${{{body}}}"

    def _input(self, name: str) -> str:
        asked = next((one for one in self.inputs if isinstance(one, Mapping) and one.get("id") == name), {})
        variable = re.sub(r"\W", "_", name, flags=re.ASCII).upper().lstrip("0123456789") or "INPUT"
        default = asked.get("default")
        if isinstance(default, str) and default and "}" not in default and not asked.get("password"):
            return f"${{{variable}:-{default}}}"
        why = asked.get("description")
        what = f" ({show(why)})" if isinstance(why, str) and why else ""
        if not self.scope.environ.get(variable):
            self.reasons.append(f"Set the variable {variable}{what}, which VS Code asks for.")
        return f"${{{variable}:-}}"


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _escaped(text: str) -> str:
    return text.replace("${", "$${")


def _from_codex(raw: Mapping[str, Any]) -> dict[str, Any]:
    entry = {key: value for key, value in raw.items() if key not in {"http_headers", "env_http_headers"}}
    headers = dict(raw.get("http_headers") or {})
    variables = dict(raw.get("env_http_headers") or {})
    if raw.get("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{{raw['bearer_token_env_var']}}}"
    headers |= {name: f"${{{variable}}}" for name, variable in variables.items()}
    return {**entry, "headers": headers, "inherit_env": raw.get("env_vars")}


def _from_gemini(raw: Mapping[str, Any]) -> dict[str, Any]:
    # In Gemini CLI, `url` is SSE and `httpUrl` is streamable HTTP.
    return {"type": "sse", **raw} if "url" in raw and "httpUrl" not in raw else dict(raw)


def _from_zed(raw: Mapping[str, Any]) -> dict[str, Any]:
    command = raw.get("command")
    if isinstance(command, Mapping):
        return {**raw, **command, "command": command.get("path")}
    if "settings" in raw and command is None and "url" not in raw:
        raise ValueError("a Zed extension starts it.")
    return dict(raw)


def _from_goose(raw: Mapping[str, Any]) -> dict[str, Any]:
    if raw.get("type") not in {"stdio", "sse", "streamable_http"}:
        raise ValueError("it is part of Goose.")
    names = {"cmd": "command", "envs": "env", "uri": "url", "env_keys": "inherit_env"}
    return {names.get(key, key): value for key, value in raw.items()}


_NORMALIZED: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "codex": _from_codex,
    "gemini": _from_gemini,
    "zed": _from_zed,
    "goose": _from_goose,
}
