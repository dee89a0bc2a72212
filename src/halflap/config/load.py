"""Read the user's file and the trusted project files into one frozen `Config`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from halflap.config.expand import Scope
from halflap.config.models import SECTIONS, ConfigFile, Profile, Settings, TopLevel
from halflap.config.paths import path_from, user_config_dir, user_data_dir, working_folder
from halflap.config.project import ProjectFile, find_project_files, read_project_servers
from halflap.config.reader import Reader, in_order, suggest_key
from halflap.config.servers import ServerConfig, is_halflap, read_servers
from halflap.config.syntax import Source, parse, read_bytes, show
from halflap.core.errors import ConfigError, ConfigProblem, UsageError

_USER_FILES = ("config.yaml", "config.yml", "config.json")
_IGNORED_KEYS = frozenset({"$schema", "globalShortcut", "preferences"})
"""What other clients keep next to their servers in the same file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(Settings):
    """Everything that is configured. `Config()` is valid and has no servers."""

    servers: tuple[ServerConfig, ...] = ()
    roots: tuple[str, ...] = ()
    """As file:// URIs."""
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    profile: str | None = None
    """The profile of whoever has none of their own."""
    data_dir: Path = field(default_factory=user_data_dir)
    sources: tuple[Path, ...] = ()
    """The files it was read from, the user's first."""
    pending: tuple[ProjectFile, ...] = ()
    """Project files that are not used, because they are new or have changed."""
    warnings: tuple[str, ...] = ()

    @property
    def uses_programs(self) -> bool:
        """Whether DSPy programs are tools, too: only if some are configured, as the shipped ones are examples."""
        return self.programs.root is not None or self.programs.lm is not None

    def restricted_to(self, profile: str) -> Config:
        """Return the same for clients that have this profile if they have none of their own."""
        if profile not in self.profiles:
            known = ", ".join(self.profiles) or "none; add them under `profiles`"
            raise UsageError(f"There is no profile {profile!r}. Profiles: {known}.")
        return replace(self, profile=profile)

    @classmethod
    def from_mapping(
        cls, mapping: Mapping[str, Any], base: Path | None = None, *, environ: Mapping[str, str] | None = None
    ) -> Config:
        """Read from a mapping what a file could say; relative paths start at `base`, or the working folder."""
        folder = working_folder() if base is None else Path(base).absolute()
        reader = Reader(Source(mapping), Scope.of(environ, folder))
        config = replace(_read_user_file(reader), data_dir=user_data_dir(environ))
        return _finished(config, reader.problems, reader.warnings)


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
    scope = Scope.of(environ, working_folder() if cwd is None else Path(cwd).absolute())
    chosen, warnings = user_file(path, scope)
    config = Config(data_dir=user_data_dir(scope.environ))
    problems: list[ConfigProblem] = []
    if chosen is not None:
        scope_of_file = replace(scope, folder=chosen.parent)
        reader = Reader(parse(read_bytes(chosen), chosen), scope_of_file, problems, warnings)
        config = replace(_read_user_file(reader), data_dir=config.data_dir, sources=(chosen,))
    if project:
        files, unreadable = find_project_files(scope.workspace, scope.environ, except_for=chosen)
        warnings += unreadable
        config = replace(config, pending=tuple(file for file in files if file.state != "trusted"))
        for file in files:
            if file.state == "trusted":
                config = _add_project_file(config, file, scope, problems, warnings)
    return _finished(config, problems, warnings)


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


def _read_user_file(reader: Reader) -> Config:
    settings: dict[str, Any] = {}
    for key, value in reader.source.value.items():
        if key not in ConfigFile.model_fields and key not in _IGNORED_KEYS:
            advice = suggest_key(str(key), ConfigFile)
            reader.add((key,), f"Unknown key `{show(str(key))}`.", advice, "config-unknown-key")
        elif value is None:
            continue
        elif key in TopLevel.model_fields:
            top_level = reader.read(TopLevel, (), {key: value})
            settings |= {} if top_level is None else {key: getattr(top_level, key)}
        elif key in SECTIONS:
            # Building a validator takes milliseconds; a section that is not there gets its defaults without one.
            section = reader.read(SECTIONS[key], (key,), value)
            settings |= {} if section is None else {key: section}
    config = Config(**settings)
    for name, entry in config.http.tokens.items():
        if entry.profile is not None and entry.profile not in config.profiles:
            message = f"`http.tokens.{name}.profile`: there is no profile `{show(entry.profile)}`."
            reader.add(("http", "tokens", name, "profile"), message, "Add it under `profiles`.")
    return replace(config, servers=tuple(read_servers(reader, config.upstream)))


def _add_project_file(
    config: Config, file: ProjectFile, scope: Scope, problems: list[ConfigProblem], warnings: list[str]
) -> Config:
    reader, servers = read_project_servers(file, scope, config.upstream)
    problems += reader.problems
    warnings += reader.warnings
    known = {server.name: server for server in config.servers}
    for server in servers:
        if is_halflap(server.command, server.args):
            warnings.append(f"{file.path}: server `{show(server.name)}` is ignored: it is Halflap itself.")
        elif (other := known.get(server.name)) is not None:
            why = f"{other.source} has one of that name"
            warnings.append(f"{file.path}: server `{show(server.name)}` is ignored: {why}.")
        else:
            known[server.name] = server
    return replace(config, servers=tuple(known.values()), sources=(*config.sources, file.path))


def _finished(config: Config, problems: list[ConfigProblem], warnings: list[str]) -> Config:
    """Raise problems, if there are any, together with those of single servers."""
    if problems:
        every = [*problems, *(one for server in config.servers for one in server.problems)]
        raise ConfigError(in_order(every, config.sources))
    return replace(config, warnings=tuple(warnings))
