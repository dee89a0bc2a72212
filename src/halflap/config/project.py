"""Files in the working folder that add servers, and the record of those that the user trusts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ValidationError

from halflap.config.paths import user_data_dir, working_folder
from halflap.config.reader import Reader
from halflap.config.servers import ServerConfig, read_servers
from halflap.config.syntax import parse, read_bytes, show
from halflap.core.errors import ConfigError, ConfigProblem
from halflap.core.files import replacing

if TYPE_CHECKING:
    from halflap.config.expand import Scope
    from halflap.config.models import UpstreamDefaults

PROJECT_FILES = ("halflap.yaml", "halflap.yml", ".mcp.json")
"""In order of precedence: of two servers with the same name, the first is used."""
_ALLOWED_KEYS = ("mcpServers", "servers", "inputs", "$schema")
_RECORD = "trust.json"


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A file of the working folder, read once: what is shown is what is trusted and used."""

    path: Path
    data: bytes = field(repr=False)
    state: Literal["trusted", "new", "changed"]
    """Only a trusted file is used."""


class _Record(BaseModel):
    version: int = 1
    files: dict[str, str] = {}
    """The SHA-256 of each trusted file."""


def find_project_files(
    folder: Path, environ: Mapping[str, str] | None = None, *, except_for: Path | None = None
) -> tuple[list[ProjectFile], list[str]]:
    """Return the project files of a folder, and warnings about those that can't be read."""
    record, warnings = _read_record(environ)
    found = []
    for path in (folder / name for name in PROJECT_FILES):
        is_other = (
            except_for is not None and path.exists() and except_for.exists() and path.samefile(except_for)
        )
        if not os.path.lexists(path) or is_other:
            continue
        try:
            found.append(_read(path, record))
        except ConfigError as error:
            # A folder written by someone else must not keep Halflap from starting.
            warnings.append(f"{path} is ignored. {error.problems[0].message}")
    return found, warnings


def read_project_file(path: Path, environ: Mapping[str, str] | None = None) -> ProjectFile:
    return _read(path, _read_record(environ)[0])


def trust_project_file(file: ProjectFile, environ: Mapping[str, str] | None = None) -> None:
    """Record that the file may be used as it was read."""
    record, _ = _read_record(environ)
    _write_record(environ, {**record, str(file.path): sha256(file.data).hexdigest()})


def forget_project_file(path: Path, environ: Mapping[str, str] | None = None) -> bool:
    """Revoke the trust; return whether there was any."""
    record, _ = _read_record(environ)
    if record.pop(str(_identity(path)), None) is None:
        return False
    _write_record(environ, record)
    return True


def preview(file: ProjectFile) -> list[ServerConfig]:
    """Return the servers that trusting the file would add, with each `${…}` as written."""
    reader, servers = read_project_servers(file, None)
    reader.problems += [problem for server in servers for problem in server.problems]
    reader.raise_problems()
    return servers


def read_project_servers(
    file: ProjectFile, scope: Scope | None, defaults: UpstreamDefaults | None = None
) -> tuple[Reader, list[ServerConfig]]:
    """Read the servers of a project file; any other setting in it is a problem."""
    scope = None if scope is None else replace(scope, folder=file.path.parent)
    reader = Reader(parse(file.data, file.path), scope)
    for key in reader.source.value:
        if key not in _ALLOWED_KEYS:
            message = f"`{show(key)}` can't be set here: a project file can only add servers."
            reader.add((key,), message, "Put it into your own configuration file.", "config-project-key")
    return reader, read_servers(reader, defaults)


def _identity(path: Path) -> Path:
    """Return the key of a file in the record: its folder with links resolved, and its name there.

    A link of that name is not resolved: trust in a file elsewhere must not extend to a folder whose author only links
    to it, since the servers would run in that folder.
    """
    return Path(os.path.realpath((working_folder() / path).parent)) / path.name


def _read(path: Path, record: Mapping[str, str]) -> ProjectFile:
    path = _identity(path)
    data = read_bytes(path, regular=True)
    if str(path) not in record:
        return ProjectFile(path, data, "new")
    is_same = record[str(path)] == sha256(data).hexdigest()
    return ProjectFile(path, data, "trusted" if is_same else "changed")


def _read_record(environ: Mapping[str, str] | None) -> tuple[dict[str, str], list[str]]:
    path = user_data_dir(environ) / _RECORD
    try:
        return _Record.model_validate_json(path.read_bytes()).files, []
    except FileNotFoundError:
        return {}, []
    except (OSError, ValidationError):
        advice = "Trust them again with `halflap trust`."
        return {}, [f"{path} can't be read, so no project file is trusted. {advice}"]


def _write_record(environ: Mapping[str, str] | None, record: Mapping[str, str]) -> None:
    path = user_data_dir(environ) / _RECORD
    text = _Record(files=dict(sorted(record.items()))).model_dump_json(indent=2) + "\n"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(text.encode())
    except OSError as error:
        message = f"The record of trusted files can't be written: {error.strerror}."
        advice = "Nothing has changed. Make the file writable."
        raise ConfigError([ConfigProblem(path, None, message, advice, "config-trust")]) from error
