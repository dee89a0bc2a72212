"""Upstream servers: how each is started or reached, in the forms that MCP clients use."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from halflap.config.expand import read_env_lines
from halflap.config.models import OAuthConfig, Protocol, ServerEntry, UpstreamDefaults
from halflap.config.reader import Reader, in_order
from halflap.config.syntax import Location, location, read_bytes, show
from halflap.core.errors import ConfigError, ConfigProblem
from halflap.core.values import OWN, canonical

IGNORED_KEYS = frozenset(
    {"alwaysAllow", "alwaysLoad", "autoApprove", "description", "dev", "gallery", "icon", "version"}
)
"""Keys of other clients that have no meaning here."""
WITHOUT_EFFECT = {
    "timeout": "Its unit differs between clients; use `call_timeout_seconds`.",
    "auth": "Write `oauth`, or `headers`.",
    "headersHelper": "Halflap runs no helper for headers; write them into `headers`.",
}
"""Keys of other clients for features that Halflap lacks, with advice."""
SERVER_FORMS = ("mcpServers", "servers")
_MAX_NAME = 64
_AS_WRITTEN = (
    *("command", "args", "inherit_env", "url", "headers", "oauth", "protocol"),
    *("trust_annotations", "resources", "prompts", "questions"),
)
"""Fields copied from an entry."""

Transport = Literal["stdio", "http", "sse", "auto", "memory"]
"""`memory` is a server object in this process, passed to `Gateway.open`."""


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One upstream server: how to start or reach it, and how far to trust it. Its repr contains no secrets."""

    name: str
    transport: Transport
    command: str | None = None
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    """Its own variables, without those that every server inherits."""
    inherit_env: bool | tuple[str, ...] = False
    """Further variables to inherit: all, or these."""
    cwd: str | None = None
    url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    oauth: OAuthConfig = field(default_factory=OAuthConfig.model_construct, repr=False)
    env_file: str | None = None
    """The file that some of `env` came from, as written there."""
    unfilled: tuple[tuple[str, str], ...] = ()
    """Headers and `env` entries that use an empty variable, each with that variable."""
    trust_annotations: bool = False
    resources: bool = True
    prompts: bool = True
    questions: bool = True
    disabled: bool = False
    problems: tuple[ConfigProblem, ...] = ()
    """Mistakes in its entry; they disable only this server."""
    protocol: Protocol = "auto"
    start_timeout_seconds: float = 120.0
    call_timeout_seconds: float = 60.0
    max_call_timeout_seconds: float = 600.0
    max_concurrent_calls: int = 16
    source: Path | None = None
    """The file it came from."""

    @property
    def broken(self) -> str | None:
        """The problems as text, or None."""
        return " ".join(map(str, self.problems)) or None

    @property
    def blocked(self) -> str | None:
        """Why the server must not be started; None if it may be."""
        return f"it is disabled. `halflap enable {self.name}` enables it." if self.disabled else self.broken

    @property
    def fingerprint(self) -> str:
        """A hash that identifies a server by what it is, not by its name."""
        headers = sorted((name.lower(), value) for name, value in self.headers.items())
        parts: list[Any] = [self.transport, self.command, self.args, self.cwd, self.url]
        parts += [sorted(self.env.items()), headers, *([self.inherit_env] if self.inherit_env else [])]
        return sha256(canonical(parts).encode("utf-8", "surrogatepass")).hexdigest()


def read_servers(reader: Reader, defaults: UpstreamDefaults | None = None) -> list[ServerConfig]:
    """Read the servers of a file.

    Problems inside an entry stay with that server; others, such as a missing or repeated name, go to `reader.problems`.
    """
    defaults = defaults or UpstreamDefaults.model_construct()
    first: dict[str, Location] = {}
    servers = []
    for name, path, entry in _entries(reader):
        if (wrong := _wrong_name(name)) is not None:
            message = f"The server name `{show(name)}` {wrong}."
            reader.add(path, message, "Choose another.", "config-server-name")
        elif name in first:
            both = f"{location(first[name])} and {location(path)}"
            message = f"There are two servers named `{show(name)}`: {both}."
            reader.add(path, message, "Rename one of them.", "config-duplicate-server")
        else:
            first[name] = path
            own = Reader(reader.source, reader.scope, warnings=reader.warnings)
            servers.append(_read_entry(own, name, path, entry, defaults))
    return servers


def _entries(reader: Reader) -> Iterator[tuple[str, Location, Any]]:
    for form in SERVER_FORMS:
        value = reader.source.value.get(form)
        if isinstance(value, Mapping):
            yield from ((name, (form, name), entry) for name, entry in value.items())
        elif isinstance(value, list) and form == "servers":
            for at, entry in enumerate(value):
                name = entry.get("name") if isinstance(entry, Mapping) else None
                if isinstance(name, str):
                    yield name, (form, at), entry
                else:
                    message = f"servers[{at}] has no `name`."
                    reader.add((form, at), message, "Add one.", "config-server-name")
        elif value is not None:
            reader.add((form,), f"`{form}` must be a mapping of names to servers.")


def _wrong_name(name: str) -> str | None:
    if not name.strip():
        return "is empty"
    if len(name) > _MAX_NAME:
        return f"is longer than {_MAX_NAME} characters"
    if any(unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"} for letter in name):
        return "contains a control character"
    return "is reserved for saved scripts and DSPy programs" if name in OWN else None


def _read_entry(
    reader: Reader, name: str, path: Location, raw: Any, defaults: UpstreamDefaults
) -> ServerConfig:
    """Read one entry; all problems end up in the server's `problems`."""
    entry = (
        {key: value for key, value in raw.items() if key not in IGNORED_KEYS}
        if isinstance(raw, Mapping)
        else {}
    )
    for key in WITHOUT_EFFECT.keys() & entry:
        del entry[key]
        place = f"{reader.source.file or 'configuration'}: {location((*path, key))}"
        reader.warnings.append(f"{place} has no effect. {WITHOUT_EFFECT[key]}")
    is_disabled = entry.get("disabled") is True or entry.get("enabled") is False
    if is_disabled:
        reader.scope = None
    # A server with problems is only displayed.
    values = reader.read(ServerEntry, path, entry) or ServerEntry.model_construct(
        command="" if "command" in entry else None
    )
    limits = {key: getattr(values, key) or getattr(defaults, key) for key in UpstreamDefaults.model_fields}
    if limits["call_timeout_seconds"] > limits["max_call_timeout_seconds"]:
        message = f"`{location(path)}` has a `call_timeout_seconds` greater than `max_call_timeout_seconds`."
        reader.add((*path, "call_timeout_seconds"), message, code="config-timeouts")
    env = {**_read_env_file(reader, path, values.env_file), **values.env}
    return ServerConfig(
        name=name,
        transport=values.transport or ("auto" if values.command is None else "stdio"),
        env=env,
        cwd=None if values.cwd is None else str(values.cwd),
        env_file=None if values.env_file is None else entry["envFile"],
        unfilled=tuple(
            (location(where[len(path) :]), variable)
            for where, variable in reader.empty
            if where[len(path)] in {"env", "environment", "headers"}
        ),
        disabled=is_disabled,
        problems=tuple(in_order(reader.problems, [reader.source.file])),
        source=reader.source.file,
        **{key: getattr(values, key) for key in _AS_WRITTEN},
        **limits,
    )


def _read_env_file(reader: Reader, path: Location, file: Path | None) -> dict[str, str]:
    if file is None or reader.scope is None:
        return {}
    try:
        text = read_bytes(file).decode("utf-8-sig")
    except (ConfigError, UnicodeDecodeError) as error:
        message = error.problems[0].message if isinstance(error, ConfigError) else "The file is not UTF-8."
        reader.add((*path, "envFile"), f"envFile: {message}", "Check its path.", "config-env-file")
        return {}
    variables, wrong = read_env_lines(text)
    message, advice = "The line is not NAME=value.", "Start a comment with `#`."
    reader.problems += [ConfigProblem(file, line, message, advice, "config-env-file") for line in wrong]
    return variables


_HALFLAP = re.compile(
    r"""(?:^|[\s/\\"';|&(])halflap(?:\.exe)?(?:\[[\w,-]*\])?(?:@\S*|[=<>~!]=?\S*)?["']?(?:\s+-\S+)*\s+serve\b""",
    re.IGNORECASE,
)


def is_halflap(command: str | None, args: Sequence[str]) -> bool:
    """Return whether a command runs `halflap serve`, which can't be its own upstream."""
    return _HALFLAP.search(" ".join([command or "", *args])) is not None
