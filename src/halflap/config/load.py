"""Read the user's file and the trusted project files into one frozen `Config`."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.config.expand import Scope
from halflap.config.models import (
    SECTIONS,
    ConfigFile,
    ExecutionConfig,
    FrontConfig,
    GraphConfig,
    HttpConfig,
    LearningConfig,
    LintConfig,
    ProgramsConfig,
    StoreConfig,
    ToolsConfig,
    TopLevel,
    TracesConfig,
    TtlConfig,
    UpstreamDefaults,
    WorkflowsConfig,
)
from halflap.config.paths import path_from, user_config_dir, user_data_dir, working_folder
from halflap.config.problems import Problems, show, suggest_key
from halflap.config.project import ProjectFile, find_files, read_project_servers
from halflap.config.servers import ServerConfig, ServerReader, is_halflap
from halflap.config.source_lines import Source, parse, read_bytes, source_of
from halflap.core.errors import ConfigError, ConfigProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

_USER_FILES = ("config.yaml", "config.yml", "config.json")
_IGNORED_KEYS = frozenset({"$schema", "globalShortcut", "preferences"})
"""What other clients keep next to their servers in the same file."""


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that is configured. `Config()` is valid and has no servers."""

    servers: tuple[ServerConfig, ...] = ()
    server: FrontConfig = field(default_factory=FrontConfig.model_construct)
    tools: ToolsConfig = field(default_factory=ToolsConfig.model_construct)
    execution: ExecutionConfig = field(default_factory=ExecutionConfig.model_construct)
    ttl: TtlConfig = field(default_factory=TtlConfig.model_construct)
    store: StoreConfig = field(default_factory=StoreConfig.model_construct)
    traces: TracesConfig = field(default_factory=TracesConfig.model_construct)
    learning: LearningConfig = field(default_factory=LearningConfig.model_construct)
    graph: GraphConfig = field(default_factory=GraphConfig.model_construct)
    lint: LintConfig = field(default_factory=LintConfig.model_construct)
    http: HttpConfig = field(default_factory=HttpConfig.model_construct)
    programs: ProgramsConfig = field(default_factory=ProgramsConfig.model_construct)
    workflows: WorkflowsConfig = field(default_factory=WorkflowsConfig.model_construct)
    roots: tuple[str, ...] = ()
    """As file:// URIs."""
    data_dir: Path = field(default_factory=user_data_dir)
    sources: tuple[Path, ...] = ()
    """The files it was read from, the user's first."""
    pending: tuple[ProjectFile, ...] = ()
    """Project files that are not used, because they are new or have changed."""
    warnings: tuple[str, ...] = ()
    upstream: UpstreamDefaults = field(default_factory=UpstreamDefaults.model_construct)

    @property
    def uses_programs(self) -> bool:
        """Whether DSPy programs are tools, too: only if some are configured, as the shipped ones are examples."""
        return self.programs.root is not None or self.programs.lm is not None

    @classmethod
    def from_mapping(
        cls, mapping: Mapping[str, Any], base: Path | None = None, *, environ: Mapping[str, str] | None = None
    ) -> Config:
        """Read from a mapping what a file could say; relative paths start at `base`, or the working folder."""
        problems, folder = Problems(), working_folder() if base is None else Path(base).absolute()
        config = _read_user_file(source_of(mapping), problems, Scope.of(environ, folder))
        _raise_if_any(problems.found, config)
        return replace(config, data_dir=user_data_dir(environ), warnings=tuple(problems.warnings))


def load_config(
    path: Path | str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    project: bool = True,
) -> Config:
    """Read the user's file and the trusted project files.

    Raises every problem of all of them at once. A problem within a server's entry alone raises nothing: that server
    has it in `problems`, and can't be used.
    """
    environ = os.environ if environ is None else environ
    scope = Scope.of(environ, working_folder() if cwd is None else Path(cwd).absolute())
    chosen, warnings = user_file(path, scope)
    config, problems = Config(), Problems(chosen, warnings=warnings)
    if chosen is not None:
        source = parse(read_bytes(chosen), chosen, problems)
        config = _read_user_file(source, problems, replace(scope, folder=chosen.parent))
        config = replace(config, sources=(chosen,))
    config = replace(config, data_dir=user_data_dir(environ))
    if project:
        config = _add_project_files(config, scope, chosen, problems)
    _raise_if_any(problems.found, config)
    return replace(config, warnings=tuple(problems.warnings))


def user_file(path: Path | str | None, scope: Scope) -> tuple[Path | None, list[str]]:
    """Return the user's file and warnings: the one asked for, even if it doesn't exist, or the first there is."""
    asked = path if path is not None else scope.environ.get("HALFLAP_CONFIG") or None
    if asked is not None:
        return path_from(str(asked), scope.workspace, scope.home), []
    folder = user_config_dir(scope.environ)
    there = [folder / name for name in _USER_FILES if os.path.lexists(folder / name)]
    if not there:
        return None, []
    return there[0], [f"{other} is ignored: {there[0].name} takes precedence." for other in there[1:]]


def _raise_if_any(problems: list[ConfigProblem], config: Config) -> None:
    """Raise the problems, and then also those of single servers, in the order of files and lines."""
    if problems:
        order = {file: at for at, file in enumerate(config.sources)}
        every = [*problems, *(one for server in config.servers for one in server.problems)]
        raise ConfigError(
            sorted(every, key=lambda one: (order.get(one.file, len(order)) if one.file else 0, one.line or 0))
        )


def _add_project_files(config: Config, scope: Scope, chosen: Path | None, problems: Problems) -> Config:
    servers = {server.name: server for server in config.servers}
    found = find_files(scope.workspace, config.data_dir, problems.warnings, except_for=chosen)
    trusted = [file for file in found if file.state == "trusted"]
    for file in trusted:
        own = Problems(file.path, problems.found, problems.warnings)
        for server in read_project_servers(file, own, scope=scope, defaults=config.upstream):
            why = None
            if is_halflap(server.command, server.args):
                why = "it is Halflap itself"
            elif server.name in servers:
                why = f"{servers[server.name].source} has one of that name"
            if why is None:
                servers[server.name] = server
            else:
                own.warnings.append(f"{file.path}: server `{show(server.name)}` is ignored: {why}.")
    return replace(
        config,
        servers=tuple(servers.values()),
        sources=(*config.sources, *(file.path for file in trusted)),
        pending=tuple(file for file in found if file.state != "trusted"),
    )


def _read_user_file(source: Source, problems: Problems, scope: Scope) -> Config:
    settings: dict[str, Any] = {}
    for key, value in source.value.items():
        if key not in ConfigFile.model_fields and key not in _IGNORED_KEYS:
            problems.add(
                source.line((key,)),
                f"Unknown key `{show(key)}`.",
                suggest_key(key, ConfigFile),
                code="config-unknown-key",
            )
        elif value is None:
            continue
        elif key == "roots":
            settings[key] = problems.validated(TopLevel, {key: value}, (), source.line, scope).roots
        elif key in SECTIONS:
            # Building a validator takes milliseconds; a section that is not there gets its defaults without one.
            settings[key] = problems.validated(SECTIONS[key], value, (key,), source.line, scope)
    config = Config(**settings)
    servers = ServerReader(source, problems, scope, config.upstream).read()
    return replace(config, servers=tuple(servers))
