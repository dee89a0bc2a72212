"""Upstream servers: how each is started or reached, read from the forms that MCP clients use."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from halflap.config.expand import Scope, empty_variables, read_env_file
from halflap.config.models import ALIASES, Protocol, ServerEntry, UpstreamDefaults
from halflap.config.problems import Location, Problems, location, show
from halflap.config.values import transport_name
from halflap.core.values import OWN, canonical

if TYPE_CHECKING:
    from halflap.config.source_lines import Source
    from halflap.core.codes import ConfigCode
    from halflap.core.errors import ConfigProblem

IGNORED_KEYS = frozenset(
    {"alwaysAllow", "alwaysLoad", "autoApprove", "description", "dev", "gallery", "icon", "version"}
)
"""Keys of other clients that say nothing about the server itself."""
WITHOUT_EFFECT = {
    "timeout": "Its unit differs between clients; use `call_timeout_seconds`.",
    "oauth": "Halflap does not sign in by itself; put credentials into `headers`.",
    "auth": "Halflap does not sign in by itself; put credentials into `headers`.",
    "headersHelper": "Halflap runs no helper for headers; write them into `headers`.",
}
"""Keys of other clients for features that Halflap lacks, and what to use instead."""
_MAX_NAME = 64
_ONLY_FOR = {"url": ("args", "env", "envFile", "cwd", "inherit_env"), "command": ("headers",)}
"""What has no effect on a server that is reached by a URL, or started by a command."""

Transport = Literal["stdio", "http", "sse", "auto", "memory"]
"""`memory` is a server object in this process, passed to `Gateway.open`; no file can name it."""


def _no_texts() -> Mapping[str, str]:
    return MappingProxyType({})


def _origin(url: str) -> str:
    """Return a URL without the parts that may be secret: user, path and query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "…"
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}/…" if host and "${" not in url else "…"


@dataclass(frozen=True, slots=True, repr=False)
class ServerConfig:
    """One upstream server: how to start or reach it, and how far to trust it."""

    name: str
    transport: Transport
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=_no_texts, hash=False)
    """Its own variables, without the basic environment that every server gets."""
    inherit_env: bool | tuple[str, ...] = False
    """Which of Halflap's own variables it gets besides the basic ones: all, or these."""
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=_no_texts, hash=False)
    env_file: str | None = None
    """The file that some of `env` came from, as written."""
    unfilled: tuple[tuple[str, str], ...] = ()
    """Headers and variables that refer to an empty variable, each with that variable."""
    trust_annotations: bool = False
    disabled: bool = False
    problems: tuple[ConfigProblem, ...] = ()
    """What is wrong with its entry. Such a server can't be used; the others can."""
    protocol: Protocol = "auto"
    start_timeout_seconds: float = 120.0
    call_timeout_seconds: float = 60.0
    max_call_timeout_seconds: float = 600.0
    max_concurrent_calls: int = 16
    source: Path | None = None
    """The file it came from."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", tuple(self.args))
        object.__setattr__(self, "env", MappingProxyType(dict(self.env)))
        object.__setattr__(self, "headers", MappingProxyType(dict(self.headers)))

    @property
    def broken(self) -> str | None:
        """Why this server can't be used, if something is wrong with its entry."""
        return " ".join(map(str, self.problems)) or None

    @property
    def fingerprint(self) -> str:
        """Identifies a server by what it is, not by its name; reveals nothing of what went in."""
        headers = sorted((name.lower(), value) for name, value in self.headers.items())
        parts: list[Any] = [
            self.transport,
            self.command,
            self.args,
            self.cwd,
            self.url,
            sorted(self.env.items()),
            headers,
        ]
        if self.inherit_env:
            parts.append(self.inherit_env)
        return sha256(canonical(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def __repr__(self) -> str:
        """Show no argument, no value of a variable or header, and only the origin of the URL."""
        parts = [f"name={self.name!r}", f"transport={self.transport!r}"]
        if self.command is not None:
            parts += [f"command={self.command!r}", f"args=<{len(self.args)}>", f"cwd={self.cwd!r}"]
        if self.url is not None:
            parts.append(f"url={_origin(self.url)!r}")
        parts += [f"{key}={sorted(getattr(self, key))}" for key in ("env", "headers") if getattr(self, key)]
        parts += [f"{key}=True" for key in ("trust_annotations", "disabled") if getattr(self, key)]
        return f"ServerConfig({', '.join(parts)})"


@dataclass(slots=True)
class ServerReader:
    """Reads the servers of one file.

    A problem within a server's entry stays with that server. `problems` gets those that leave no server to blame, such
    as a missing or repeated name.
    """

    source: Source
    problems: Problems
    scope: Scope | None
    """None leaves every `${…}` as written."""
    defaults: UpstreamDefaults = field(default_factory=UpstreamDefaults.model_construct)

    def read(self) -> list[ServerConfig]:
        first: dict[str, Location] = {}
        servers = []
        for name, path, entry in self._entries():
            if (wrong := _wrong_name(name)) is not None:
                self._add(path, f"The server name `{show(name)}` {wrong}.", "Choose another.")
            elif name in first:
                both = f"{location(first[name])} and {location(path)}"
                self._add(
                    path,
                    f"There are two servers named `{show(name)}`: {both}.",
                    "Rename one of them.",
                    code="config-duplicate-server",
                )
            else:
                first[name] = path
                servers.append(_EntryReader(self, name, path, entry).read())
        return servers

    def _entries(self) -> Iterator[tuple[str, Location, Any]]:
        for form in ("mcpServers", "servers"):
            value = self.source.value.get(form)
            if isinstance(value, Mapping):
                yield from ((name, (form, name), entry) for name, entry in value.items())
            elif isinstance(value, list) and form == "servers":
                for index, entry in enumerate(value):
                    name = entry.get("name") if isinstance(entry, Mapping) else None
                    if isinstance(name, str):
                        yield name, (form, index), entry
                    else:
                        self._add((form, index), f"servers[{index}] has no `name`.", "Give it one.")
            elif value is not None:
                self._add(
                    (form,), f"`{form}` must be a mapping of names to servers.", code="config-wrong-value"
                )

    def _add(
        self,
        path: Location,
        message: str,
        suggestion: str | None = None,
        code: ConfigCode = "config-server-name",
    ) -> None:
        self.problems.add(self.source.line(path), message, suggestion, code=code)


def _wrong_name(name: str) -> str | None:
    if not name.strip():
        return "is empty"
    if len(name) > _MAX_NAME:
        return f"is longer than {_MAX_NAME} characters"
    if any(unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"} for letter in name):
        return "contains a control character"
    return "is reserved for saved scripts and DSPy programs" if name in OWN else None


class _EntryReader:
    """Reads one server's entry; everything wrong with it ends up in the `problems` of the server."""

    def __init__(self, reader: ServerReader, name: str, path: Location, entry: Any) -> None:
        self.reader = reader
        self.problems = Problems(reader.problems.file)
        self.name = name
        self.path = path
        self.where = location(path)
        self.entry: dict[str, Any] = dict(entry) if isinstance(entry, Mapping) else {}
        self.has_url = any(key in self.entry for key in ALIASES["url"])
        is_disabled = self.entry.get("disabled") is True or self.entry.get("enabled") is False
        self.scope = None if is_disabled else reader.scope

    def read(self) -> ServerConfig:
        transport = self._transport()
        self._drop_unused_keys()
        values = self.problems.validated(
            ServerEntry, self.entry, self.path, self.reader.source.line, self.scope
        )
        limits = {
            key: getattr(values, key) or getattr(self.reader.defaults, key)
            for key in UpstreamDefaults.model_fields
        }
        own = [key for key in ("call_timeout_seconds", "max_call_timeout_seconds") if getattr(values, key)]
        if own and limits["call_timeout_seconds"] > limits["max_call_timeout_seconds"]:
            self._add(
                own[0], "call_timeout_seconds is greater than max_call_timeout_seconds.", "config-timeouts"
            )
        return ServerConfig(
            name=self.name,
            transport=transport,
            command=values.command,
            args=values.args,
            env={**self._env_file(values), **values.env},
            inherit_env=values.inherit_env,
            cwd=values.cwd,
            url=values.url,
            headers=values.headers,
            env_file=None if values.env_file is None else self.entry.get("envFile"),
            unfilled=self._unfilled(),
            trust_annotations=values.trust_annotations,
            disabled=values.disabled or not values.enabled,
            problems=tuple(self.problems.in_order()),
            protocol=values.protocol,
            source=self.problems.file,
            **limits,
        )

    def _transport(self) -> Transport:
        """Return how the server is reached, and check that the entry is consistent about it."""
        named = [transport_name(self.entry[key]) for key in ("transport", "type") if key in self.entry]
        said = named[0] if named else None
        has_command = "command" in self.entry
        advice = "Keep `command` to start a program, or `url` for one that is running."
        if len(named) > 1 and named[0] != named[1]:
            self._add("type", "`transport` and `type` differ.", "config-exclusive", "Keep one.")
        if has_command and self.has_url:
            self._add("url", "there are both `command` and `url`.", "config-exclusive", advice)
        elif not has_command and not self.has_url:
            self._add("", "there is neither `command` nor `url`.", "config-server-incomplete")
        elif self.has_url and said == "stdio":
            self._add("url", "a `url` can't have the transport stdio.", "config-transport", "Write `http`.")
        elif has_command and said in ("http", "sse"):
            self._add("command", f"a `command` can't have the transport {said}.", "config-transport")
        if said in ("stdio", "http", "sse"):
            transport: Transport = said
            return transport
        return "stdio" if has_command else "auto"

    def _drop_unused_keys(self) -> None:
        for key, advice in WITHOUT_EFFECT.items():
            if key in self.entry:
                self._warn(key, advice)
        how = "command" if "command" in self.entry else "url" if self.has_url else ""
        unused = [key for key in _ONLY_FOR.get(how, ()) if self.entry.get(key)]
        for key in unused:
            self._warn(key, f"The server has a `{how}`.")
        for key in (*unused, *IGNORED_KEYS, *WITHOUT_EFFECT):
            self.entry.pop(key, None)

    def _unfilled(self) -> tuple[tuple[str, str], ...]:
        """Return the headers and variables that refer to an empty variable, each with that variable."""
        if self.scope is None:
            return ()
        return tuple(
            (f"{ours}.{name}", variable)
            for ours in ("headers", "env")
            for key in ALIASES.get(ours, (ours,))
            if isinstance(texts := self.entry.get(key), Mapping)
            for name, text in texts.items()
            if isinstance(text, str)
            for variable in empty_variables(text, self.scope)
        )

    def _env_file(self, values: ServerEntry) -> dict[str, str]:
        if values.env_file is None or self.scope is None:
            return {}
        variables, problems = read_env_file(Path(values.env_file))
        for one in problems.found:
            if one.line is None:
                self._add("envFile", f"envFile: {one.message}", "config-env-file", one.suggestion)
            else:
                self.problems.found.append(one)
        return variables

    def _add(self, key: str, message: str, code: ConfigCode, suggestion: str | None = None) -> None:
        path = (*self.path, key) if key else self.path
        self.problems.add(self.reader.source.line(path), f"{self.where}: {message}", suggestion, code=code)

    def _warn(self, key: str, why: str) -> None:
        file = self.problems.file or "configuration"
        self.reader.problems.warnings.append(f"{file}: {self.where}.{key} has no effect. {why}")


_HALFLAP = re.compile(r"halflap(?:\.exe|\.git)?(?:\[[\w,-]*\])?(?:(?:@|[=<>~!]=?).*)?", re.IGNORECASE)
_SHELL_WORD = re.compile(r"[^\s;|&()\"']+")


def is_halflap(command: str | None, args: Sequence[str]) -> bool:
    """Return whether a command runs Halflap's own server, which must not be put behind itself.

    True for the word `halflap` followed by `serve`, with only options between them, also within a shell's command line.
    """
    words = [word for text in (command or "", *args) for word in _SHELL_WORD.findall(text)]
    for at, word in enumerate(words):
        if _HALFLAP.fullmatch(re.split(r"[/\\]", word)[-1]):
            after = next((one for one in words[at + 1 :] if not one.startswith("-")), None)
            if after == "serve":
                return True
    return False
