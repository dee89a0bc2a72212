"""Load the user's file and the trusted project files into one frozen `Config`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from halflap.config.expand import Scope
from halflap.config.models import ConfigFile, Profile, Settings
from halflap.config.paths import path_from, user_config_dir, user_data_dir, working_folder
from halflap.config.project import ProjectFile, find_project_files, read_project_servers
from halflap.config.reader import Reader, in_order
from halflap.config.servers import SERVER_FORMS, ServerConfig, is_halflap, read_servers
from halflap.config.syntax import Source, parse, read_bytes, show
from halflap.core.errors import ConfigError, ConfigProblem, UsageError

_USER_FILES = ("config.yaml", "config.yml", "config.json")
_IGNORED_KEYS = frozenset({"$schema", "globalShortcut", "preferences"})
"""Keys of other clients' files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(Settings):
    """The whole configuration. `Config()` is valid and has no servers."""

    servers: tuple[ServerConfig, ...] = ()
    roots: tuple[str, ...] = ()
    """As file:// URIs."""
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    profile: str | None = None
    """The profile of clients without one of their own."""
    data_dir: Path = field(default_factory=user_data_dir)
    sources: tuple[Path, ...] = ()
    """The files that were read, the user's first."""
    pending: tuple[ProjectFile, ...] = ()
    """Project files that are not used because they are new or have changed."""
    warnings: tuple[str, ...] = ()

    @property
    def uses_programs(self) -> bool:
        """Whether DSPy programs are offered as tools; without configuration there are only examples."""
        return self.programs.root is not None or self.programs.lm is not None

    def restricted_to(self, profile: str) -> Config:
        """Return a copy in which this profile applies to clients without one of their own."""
        if profile not in self.profiles:
            known = ", ".join(self.profiles) or "none; add them under `profiles`"
            raise UsageError(f"There is no profile {profile!r}. Profiles: {known}.")
        return replace(self, profile=profile)

    @classmethod
    def from_mapping(
        cls, mapping: Mapping[str, Any], base: Path | None = None, *, environ: Mapping[str, str] | None = None
    ) -> Config:
        """Validate a mapping like a file; relative paths start at `base`, by default the working folder."""
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
    """Load the user's file and the trusted project files.

    Raises one `ConfigError` with the problems of all files. A mistake inside a server's entry raises nothing: it is
    in that server's `problems`.
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
    """Return the path of the user's file, and warnings; a file that was named need not exist."""
    asked = path if path is not None else scope.environ.get("HALFLAP_CONFIG") or None
    if asked is not None:
        return path_from(str(asked), scope.workspace, scope.home), []
    folder = user_config_dir(scope.environ)
    there = [folder / name for name in _USER_FILES if os.path.lexists(folder / name)]
    if not there:
        return None, []
    return there[0], [f"{other} is ignored: {there[0].name} takes precedence." for other in there[1:]]


def _read_user_file(reader: Reader) -> Config:
    ignored = {*_IGNORED_KEYS, *SERVER_FORMS, "inputs"}
    given = {key: one for key, one in reader.source.value.items() if key not in ignored and one is not None}
    settings = reader.read(ConfigFile, (), given)
    names = () if settings is None else settings.model_fields_set
    config = Config(**{name: getattr(settings, name) for name in names})
    for name, entry in config.http.tokens.items():
        if entry.profile is not None and entry.profile not in config.profiles:
            message = f"`http.tokens.{name}.profile` names `{show(entry.profile)}`, which does not exist."
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
            why = f"{other.source} has a server of that name"
            warnings.append(f"{file.path}: server `{show(server.name)}` is ignored: {why}.")
        else:
            known[server.name] = server
    return replace(config, servers=tuple(known.values()), sources=(*config.sources, file.path))


def _finished(config: Config, problems: list[ConfigProblem], warnings: list[str]) -> Config:
    """Raise the problems, if any, together with those of single servers."""
    if problems:
        every = [*problems, *(one for server in config.servers for one in server.problems)]
        raise ConfigError(in_order(every, config.sources))
    return replace(config, warnings=tuple(warnings))
