"""The frozen values that a configuration consists of."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from halflap.core.values import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = [
    "ExecutionConfig",
    "FrontConfig",
    "GraphConfig",
    "HttpConfig",
    "LearningConfig",
    "Protocol",
    "Record",
    "ServerConfig",
    "StoreConfig",
    "ToolsConfig",
    "TracesConfig",
    "Transport",
    "TtlConfig",
    "UpstreamDefaults",
]

Transport = Literal["stdio", "http", "sse", "auto", "memory"]
"""`memory` is a server object in this process, given to `Gateway.open`; no file can name it."""
Protocol = Literal["auto", "legacy", "modern"]
Record = Literal["full", "metadata", "off"]


def _no_texts() -> Mapping[str, str]:
    return MappingProxyType({})


def _no_numbers() -> Mapping[str, float]:
    return MappingProxyType({})


def _no_records() -> Mapping[str, Record]:
    return MappingProxyType({})


def _origin(url: str) -> str:
    """Give a URL without what may be secret in it: user, path and query."""
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
    """Its own variables only; the minimal environment that every server gets is not in here."""
    inherit_env: bool | tuple[str, ...] = False
    """Which of Halflap's own variables it gets besides the basic ones: all, or these."""
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=_no_texts, hash=False)
    env_file: str | None = None
    """The file that some of `env` came from, as it is written."""
    unfilled: tuple[tuple[str, str], ...] = ()
    """Which of `headers` and `env` name a variable that has nothing in it, each with the variable."""
    trust_annotations: bool = False
    disabled: bool = False
    broken: str | None = None
    """Why this server alone cannot be used, such as a variable that is not set; the others start without it."""
    protocol: Protocol = "auto"
    start_timeout_seconds: float = 30.0
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
    def fingerprint(self) -> str:
        """Tell servers apart by what they are, not by their name; reveals nothing of what went in."""
        headers = sorted((name.lower(), value) for name, value in self.headers.items())
        parts = [
            self.transport,
            self.command,
            self.args,
            self.cwd,
            self.url,
            sorted(self.env.items()),
            headers,
        ]
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


@dataclass(frozen=True, slots=True)
class ToolsConfig:
    """Which tools may be called, and what the user says of them."""

    allow: tuple[str, ...] | None = None
    """None allows every tool; an empty tuple allows none."""
    block: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    destructive: tuple[str, ...] = ()
    pin: Literal["off", "warn", "hold"] = "warn"


@dataclass(frozen=True, slots=True)
class ExecutionConfig:
    """Where programs run, what they may call, and the limits of each."""

    sandbox: Literal["auto", "jail", "hardened", "monty", "off"] = "auto"
    check: Literal["on", "hints", "off"] = "on"
    modules: tuple[str, ...] = ()
    read_only: bool = False
    confirm_destructive: bool = False
    timeout_seconds: float = 120.0
    cpu_seconds: int = 60
    max_memory_mb: int = 512
    max_output_bytes: int = 65_536
    max_kept_output_bytes: int = 16_777_216
    max_shown: int = 20
    max_shown_bytes: int = 8_388_608
    max_calls: int = 1_000
    max_concurrent_calls: int = 16
    max_value_bytes: int = 8_388_608
    max_programs: int = 8


@dataclass(frozen=True, slots=True)
class TtlConfig:
    """How long what a server said of its tools counts as fresh."""

    list_seconds: float = 300.0
    schema_seconds: float = 3600.0
    per_tool: Mapping[str, float] = field(default_factory=_no_numbers, hash=False)
    """By glob, in the order of the file."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "per_tool", MappingProxyType(dict(self.per_tool)))


@dataclass(frozen=True, slots=True, repr=False)
class StoreConfig:
    """Where the store is: a SQLite file, or a PostgreSQL database. Neither means the data folder."""

    path: Path | None = None
    url: str | None = None

    def __repr__(self) -> str:
        """Show only the origin of the URL: there is a password in it."""
        url = None if self.url is None else _origin(self.url)
        return f"StoreConfig(path={self.path!r}, url={url!r})"


@dataclass(frozen=True, slots=True)
class TracesConfig:
    """What is kept of runs and calls, and how long."""

    record: Record = "full"
    per_tool: Mapping[str, Record] = field(default_factory=_no_records, hash=False)
    """By glob, in the order of the file; the first that fits counts."""
    keep_days: float = 30.0
    keep_mb: float = 512.0
    max_value_bytes: int = 1_048_576

    def __post_init__(self) -> None:
        object.__setattr__(self, "per_tool", MappingProxyType(dict(self.per_tool)))


@dataclass(frozen=True, slots=True)
class LearningConfig:
    """Whether results are learned from, and what is kept of them."""

    enabled: bool = True
    values: bool = False


@dataclass(frozen=True, slots=True)
class GraphConfig:
    """On what it rests what feeds what."""

    lineage: bool = True


@dataclass(frozen=True, slots=True)
class WorkflowsConfig:
    """How long workflows may be looked at."""

    timeout_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class FrontConfig:
    """What clients see of Halflap itself."""

    families: tuple[str, ...] = ()
    """The families of our own tools; empty means all."""


@dataclass(frozen=True, slots=True)
class HttpConfig:
    """Who may talk to Halflap over HTTP."""

    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    tokens: Mapping[str, str] = field(default_factory=_no_texts, repr=False)
    """The tokens of people by their names; where there are none, one is made for all."""


@dataclass(frozen=True, slots=True)
class UpstreamDefaults:
    """What holds for each server that says nothing else."""

    start_timeout_seconds: float = 30.0
    call_timeout_seconds: float = 60.0
    max_call_timeout_seconds: float = 600.0
    max_concurrent_calls: int = 16
