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
    """A file of the working folder; only when it is `trusted` is anything in it used."""

    path: Path
    digest: str
    state: Literal["trusted", "new", "changed"]
    data: bytes = field(repr=False)
    """The bytes of the digest, so that what is trusted is what is read."""


class _Record(BaseModel):
    version: int = 1
    files: dict[str, str] = {}


def find_project_files(
    folder: Path | str | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    except_for: Path | None = None,
    warnings: list[str] | None = None,
) -> tuple[ProjectFile, ...]:
    """Read each project file of a folder once; `warnings` gets those that can't be read."""
    warnings = [] if warnings is None else warnings
    record = _read_record(user_data_dir(environ), warnings)
    found = []
    for name in PROJECT_FILES:
        path = _identity(Path(working_folder() if folder is None else folder) / name)
        is_other = (
            except_for is not None and except_for.exists() and path.exists() and path.samefile(except_for)
        )
        if not os.path.lexists(path) or is_other:
            continue
        try:
            found.append(_project_file(path, read_bytes(path, regular=True), record))
        except ConfigError as error:
            # A folder written by someone else must not keep Halflap from starting.
            warnings.append(f"{path} is ignored. {error.problems[0].message}")
    return tuple(found)


def trust_project_file(
    path: Path | str, environ: Mapping[str, str] | None = None, digest: str | None = None
) -> ProjectFile:
    """Record that the file may be used as it is now; with `digest`, only if it is still that one."""
    place, data = _read_named(Path(path), digest)
    record = _read_record(user_data_dir(environ), [])
    record[str(place)] = sha256(data).hexdigest()
    _write_record(user_data_dir(environ), record)
    return _project_file(place, data, record)


def forget_project_file(path: Path | str, environ: Mapping[str, str] | None = None) -> bool:
    """Revoke the trust; return whether there was any."""
    record = _read_record(user_data_dir(environ), [])
    if record.pop(str(_identity(Path(path))), None) is None:
        return False
    _write_record(user_data_dir(environ), record)
    return True


def preview(path: Path | str, digest: str | None = None) -> list[ServerConfig]:
    """Return the servers that trusting the file would add, with each `${…}` as written.

    With `digest`, a file that has changed is refused, so that what is shown here is what `trust_project_file` records
    with the same digest.
    """
    place, data = _read_named(Path(path), digest)
    reader, servers = read_project_servers(_project_file(place, data, {}), None)
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
    return Path(os.path.realpath(path.absolute().parent)) / path.name


def _project_file(path: Path, data: bytes, record: Mapping[str, str]) -> ProjectFile:
    digest = sha256(data).hexdigest()
    recorded = record.get(str(path))
    state: Literal["trusted", "new", "changed"] = "trusted" if recorded == digest else "changed"
    return ProjectFile(path, digest, "new" if recorded is None else state, data)


def _read_named(path: Path, digest: str | None) -> tuple[Path, bytes]:
    place = _identity(path)
    data = read_bytes(place, regular=True)
    if digest is not None and sha256(data).hexdigest() != digest:
        message = "The file has changed since it was shown."
        raise ConfigError([ConfigProblem(place, None, message, "Look at it again.", "config-changed")])
    return place, data


def _read_record(data_dir: Path, warnings: list[str]) -> dict[str, str]:
    path = data_dir / _RECORD
    try:
        return _Record.model_validate_json(path.read_bytes()).files
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError):
        warnings.append(
            f"{path} can't be read, so no project file is trusted. Trust them again with `halflap trust`."
        )
        return {}


def _write_record(data_dir: Path, record: Mapping[str, str]) -> None:
    path = data_dir / _RECORD
    text = _Record(files=dict(sorted(record.items()))).model_dump_json(indent=2) + "\n"
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(text.encode())
    except OSError as error:
        message = f"The record of trusted files can't be written: {error.strerror}."
        advice = "Nothing has changed. Make it a file that you may write."
        raise ConfigError([ConfigProblem(path, None, message, advice, "config-trust")]) from error
