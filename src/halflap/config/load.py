"""Files, environment and flags become one frozen configuration."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from halflap.config.document import document, document_of, file_bytes
from halflap.config.expand import Scope, expand
from halflap.config.itself import is_halflap
from halflap.config.kinds import WRONG
from halflap.config.linting import LintConfig
from halflap.config.nodes import Node, Problems, shown, with_repeated
from halflap.config.places import path_from, user_config_dir, user_data_dir, working_folder
from halflap.config.programs import ProgramsConfig, read_programs
from halflap.config.project import ProjectFile, look_around, read_project_servers
from halflap.config.servers import ServerReader
from halflap.config.settings import (
    ExecutionConfig,
    FrontConfig,
    GraphConfig,
    HttpConfig,
    LearningConfig,
    ServerConfig,
    StoreConfig,
    ToolsConfig,
    TracesConfig,
    TtlConfig,
    UpstreamDefaults,
    WorkflowsConfig,
)
from halflap.config.table import FOREIGN_TOP_LEVEL, SECTIONS, SETTINGS, TOP_LEVEL, guess, read_section
from halflap.core.errors import ConfigError, ConfigProblem
from halflap.core.values import OWN

__all__ = ["Config", "load_config", "user_file"]

_USER_FILES = ("config.yaml", "config.yml", "config.json")
_SHORTEST_TOKEN = 16
_TOKEN = re.compile(rf"[!-~]{{{_SHORTEST_TOKEN},}}")
_TOOL_LISTS = ("allow", "block", "read_only", "destructive")


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that is configured. `Config()` is the valid configuration with no server."""

    servers: tuple[ServerConfig, ...] = ()
    server: FrontConfig = field(default_factory=FrontConfig)
    tools: ToolsConfig = field(default_factory=ToolsConfig)
    execution: ExecutionConfig = field(default_factory=ExecutionConfig)
    ttl: TtlConfig = field(default_factory=TtlConfig)
    store: StoreConfig = field(default_factory=StoreConfig)
    traces: TracesConfig = field(default_factory=TracesConfig)
    learning: LearningConfig = field(default_factory=LearningConfig)
    graph: GraphConfig = field(default_factory=GraphConfig)
    lint: LintConfig = field(default_factory=LintConfig)
    http: HttpConfig = field(default_factory=HttpConfig)
    programs: ProgramsConfig = field(default_factory=ProgramsConfig)
    workflows: WorkflowsConfig = field(default_factory=WorkflowsConfig)
    roots: tuple[str, ...] = ()
    """As file:// URIs."""
    data_dir: Path = field(default_factory=user_data_dir)
    sources: tuple[Path, ...] = ()
    """The files that it was read from, the user's first."""
    pending: tuple[ProjectFile, ...] = ()
    """Project files that count for nothing, since they are new or have changed."""
    warnings: tuple[str, ...] = ()
    upstream: UpstreamDefaults = field(default_factory=UpstreamDefaults)

    @property
    def uses_programs(self) -> bool:
        """Whether DSPy programs are tools among the others: those that ship with Halflap would be in everybody's way."""
        return self.programs.root is not None or self.programs.lm is not None

    @classmethod
    def from_mapping(
        cls, mapping: Mapping[str, Any], base: Path | None = None, *, environ: Mapping[str, str] | None = None
    ) -> Config:
        """Read what a file could say from a mapping; relative paths start at `base`, else where we are."""
        problems = Problems()
        folder = working_folder() if base is None else Path(base).absolute()
        root = document_of(mapping, problems)
        if not isinstance(root.value, Mapping):
            problems.add(None, f"a configuration must be a mapping, not {root.kind}.", "Give a dict.")
        config = _UserReader(folder, problems, Scope.of(environ, folder)).read(root)
        if problems.found:
            raise ConfigError(problems.found)
        return replace(config, data_dir=user_data_dir(environ))


def load_config(
    path: Path | str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    project: bool = True,
) -> Config:
    """Read the user's file and the trusted project files; raise every problem of all of them at once."""
    environ = os.environ if environ is None else environ
    folder = working_folder() if cwd is None else Path(cwd).absolute()
    scope = Scope.of(environ, folder)
    data_dir = user_data_dir(environ)
    chosen, warnings = user_file(path, scope)
    problems: list[ConfigProblem] = []
    config = Config(data_dir=data_dir)
    if chosen is not None:
        own = Problems(chosen)
        data = file_bytes(chosen, own)
        root = None if data is None else document(data, chosen, own)
        if data is None and path is None and environ.get("HALFLAP_CONFIG"):
            own.found = [replace(own.found[0], suggestion="`HALFLAP_CONFIG` names this file.")]
        if root is not None:
            config = _UserReader(chosen.parent, own, scope).read(root)
            # What occurs twice hides nothing: whichever is kept, its mistakes are told now.
            if (other := with_repeated(root)) is not None:
                more = Problems(chosen)
                _UserReader(chosen.parent, more, scope).read(other)
                own.add_new(more)
        problems += _in_order(own)
    config = replace(config, data_dir=data_dir, sources=() if chosen is None else (chosen,))
    warnings += config.warnings
    if project:
        config = _with_project_files(config, scope, chosen, problems, warnings)
    if problems:
        raise ConfigError(problems)
    return replace(config, warnings=tuple(warnings))


def user_file(path: Path | str | None, scope: Scope) -> tuple[Path | None, list[str]]:
    """Choose the user's file: the one that was asked for, whether it exists or not, else the first there is."""
    asked = path if path is not None else scope.environ.get("HALFLAP_CONFIG") or None
    if asked is not None:
        return path_from(str(asked), scope.workspace, scope.home), []
    folder = user_config_dir(scope.environ)
    there = [folder / name for name in _USER_FILES if os.path.lexists(folder / name)]
    if not there:
        return None, []
    return there[0], [f"{other} is left out: {there[0].name} counts." for other in there[1:]]


def _in_order(problems: Problems) -> list[ConfigProblem]:
    return sorted(problems.found, key=lambda problem: (problem.file != problems.file, problem.line or 0))


def _with_project_files(
    config: Config, scope: Scope, chosen: Path | None, problems: list[ConfigProblem], warnings: list[str]
) -> Config:
    servers = {server.name: server for server in config.servers}
    sources, pending = list(config.sources), []
    found, notes = look_around(scope.workspace, config.data_dir, except_for=chosen)
    warnings += notes
    for each in found:
        if each.file.state != "trusted":
            pending.append(each.file)
            continue
        sources.append(each.file.path)
        own = Problems(each.file.path)
        added, notes = read_project_servers(each, own, scope=scope, home=scope.home, defaults=config.upstream)
        problems += _in_order(own)
        warnings += notes
        for server in added:
            if is_halflap(server.command, server.args):
                warnings.append(
                    f"{each.file.path}: the server `{shown(server.name)}` is left out: it is Halflap itself."
                )
            elif server.name in servers:
                kept = servers[server.name].source
                warnings.append(
                    f"{each.file.path}: the server `{shown(server.name)}` is left out: {kept} has one of that name."
                )
            else:
                servers[server.name] = server
    return replace(config, servers=tuple(servers.values()), sources=tuple(sources), pending=tuple(pending))


@dataclass(slots=True)
class _UserReader:
    """Reads a configuration that the user wrote, with every section."""

    folder: Path
    problems: Problems
    scope: Scope
    warnings: list[str] = field(default_factory=list)

    def read(self, root: Node) -> Config:
        for key, node in root.mapping.items():
            if key not in TOP_LEVEL and key not in FOREIGN_TOP_LEVEL:
                self.problems.add(
                    node.line,
                    f"unknown key `{shown(key)}`.",
                    guess(key, TOP_LEVEL),
                    code="config-unknown-key",
                )
        sections = {section: read_section(root, section, self.problems) for section in SECTIONS}
        upstream = UpstreamDefaults(**sections["upstream"])
        if upstream.call_timeout_seconds > upstream.max_call_timeout_seconds:
            self.problems.add(
                root.mapping["upstream"].line,
                "upstream.call_timeout_seconds is greater than upstream.max_call_timeout_seconds.",
                "Raise `max_call_timeout_seconds` too.",
                code="config-timeouts",
            )
        reader = ServerReader(
            self.folder, self.problems, self.scope, self.scope.home, upstream, self.warnings
        )
        return Config(
            servers=tuple(reader.read(root)),
            server=FrontConfig(**sections["server"]),
            tools=self._tools(root, sections["tools"]),
            execution=ExecutionConfig(**sections["execution"]),
            ttl=TtlConfig(**sections["ttl"]),
            store=self._store(root, sections["store"]),
            traces=self._traces(sections["traces"]),
            learning=LearningConfig(**sections["learning"]),
            graph=GraphConfig(**sections["graph"]),
            lint=self._lint(sections["lint"]),
            http=self._http(root, sections["http"]),
            programs=read_programs(
                sections["programs"],
                root.mapping.get("programs", Node(None)),
                self.problems,
                expand=self._text,
                folder=self.folder,
                home=self.scope.home,
            ),
            workflows=WorkflowsConfig(**sections["workflows"]),
            roots=self._roots(root),
            warnings=tuple(self.warnings),
            upstream=upstream,
        )

    def _exclusive(self, root: Node, section: str, one: str, other: str) -> None:
        members = root.mapping[section].mapping if section in root.mapping else {}
        if one in members and other in members:
            self.problems.add(
                members[other].line,
                f"{section}.{one} and {section}.{other} exclude each other.",
                "Keep one of them.",
                code="config-exclusive",
            )

    def _tools(self, root: Node, values: Mapping[str, Any]) -> ToolsConfig:
        self._exclusive(root, "tools", "allow", "block")
        patterns = {
            key: tuple(map(_as_named, values[key])) for key in _TOOL_LISTS if values.get(key) is not None
        }
        for key in _TOOL_LISTS:
            self._warn_of_idle(f"tools.{key}", patterns.get(key, ()))
        return ToolsConfig(**{**values, **patterns})

    def _warn_of_idle(self, where: str, patterns: Iterable[str]) -> None:
        for pattern in patterns:
            if not _can_match(pattern):
                self.warnings.append(
                    f"{where}: `{shown(pattern)}` matches no tool: tools are named `mcp__<server>__<tool>`, "
                    "saved scripts `script__<name>`, DSPy programs `dspy__<name>`."
                )

    def _traces(self, values: Mapping[str, Any]) -> TracesConfig:
        patterns = {_as_named(pattern): record for pattern, record in values.get("per_tool", {}).items()}
        self._warn_of_idle("traces.per_tool", patterns)
        return TracesConfig(**{**values, "per_tool": patterns})

    def _lint(self, values: Mapping[str, Any]) -> LintConfig:
        ignored = tuple(replace(one, tools=_as_named(one.tools)) for one in values.get("ignore", ()))
        self._warn_of_idle("lint.ignore", [one.tools for one in ignored])
        return LintConfig(**{**values, "ignore": ignored})

    def _text(self, text: str, where: str, line: int | None) -> str | None:
        expanded, flaws = expand(text, self.scope)
        for flaw in flaws:
            self.problems.add(line, f"{where}: {flaw.message}", flaw.suggestion, code="config-variable")
        if flaws:
            return None
        if not expanded.strip() or "\0" in expanded:
            self.problems.add(
                line,
                f"{where} is empty once its variables are expanded, or holds a NUL character.",
                "Set the variable, or leave the key out.",
                code="config-variable",
            )
            return None
        return expanded

    def _store(self, root: Node, values: Mapping[str, Any]) -> StoreConfig:
        self._exclusive(root, "store", "path", "url")
        lines = {key: node.line for key, node in root.mapping.get("store", Node(None)).mapping.items()}
        texts = {key: self._text(text, f"store.{key}", lines[key]) for key, text in values.items()}
        path, url = texts.get("path"), texts.get("url")
        if url is not None and not re.match(r"postgresql(\+[a-z0-9_]+)?://", url):
            self.problems.add(
                lines["url"],
                "store.url must be the URL of a PostgreSQL database.",
                "Write `postgresql+psycopg://user@host/database`; a SQLite file goes under `store.path`.",
            )
        return StoreConfig(None if path is None else path_from(path, self.folder, self.scope.home), url)

    def _http(self, root: Node, values: Mapping[str, Any]) -> HttpConfig:
        given = root.mapping.get("http", Node(None)).mapping.get("tokens", Node(None)).mapping
        tokens: dict[str, str] = {}
        for name, written in values.get("tokens", {}).items():
            where, line = f"http.tokens.{shown(name)}", given[name].line
            token = self._text(written, where, line)
            if token is None:
                continue
            if not _TOKEN.fullmatch(token):
                self.problems.add(
                    line,
                    f"{where} must have {_SHORTEST_TOKEN} characters or more, all of them ASCII and none of them blank.",
                    'Make one with `python -c "import secrets; print(secrets.token_urlsafe(32))"`.',
                )
            elif token in tokens.values():
                self.problems.add(
                    line, f"{where} is the token of somebody else.", "Give each person their own."
                )
            tokens[name] = token
        return HttpConfig(**{**values, "tokens": tokens})

    def _roots(self, root: Node) -> tuple[str, ...]:
        node = root.mapping.get("roots")
        if node is None or node.value is None:
            return ()
        kind = next(setting.kind for setting in SETTINGS if setting.name == "roots")
        values = kind.read(node, "roots", self.problems)
        if values is WRONG:
            return ()
        uris = []
        for index, (value, item) in enumerate(zip(values, node.items, strict=True)):
            text = self._text(value, f"roots[{index}]", item.line)
            if text is None:
                continue
            if "://" not in text:
                uris.append(path_from(text, self.folder, self.scope.home).as_uri())
            elif text.startswith("file:///"):
                uris.append(text)
            else:
                self.problems.add(
                    item.line,
                    f"roots[{index}] must be a path or start with file:///.",
                    "Write the path of a folder.",
                )
        return tuple(uris)


def _as_named(pattern: str) -> str:
    """Write a pattern as tools are named: with `_` for what cannot be in the name of a tool."""
    return pattern if "[" in pattern else re.sub(r"[^0-9A-Za-z_*?]", "_", pattern)


def _can_match(pattern: str) -> bool:
    """Say whether a name or glob can match the name of any tool; all of them start with `mcp__`, `script__` or `dspy__`."""
    prefix = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
    return any(
        prefix.startswith(start) or (prefix != pattern and start.startswith(prefix))
        for start in ("mcp__", *(f"{name}__" for name in OWN))
    )
