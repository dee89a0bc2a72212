"""Files in the working folder that add servers, and the record of those that the user trusts."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from halflap.config.models import UpstreamDefaults
from halflap.config.paths import user_data_dir, working_folder
from halflap.config.problems import Problems, show
from halflap.config.servers import ServerConfig, ServerReader
from halflap.config.source_lines import parse, read_bytes
from halflap.core.errors import ConfigError, ConfigProblem
from halflap.core.files import replacing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.config.expand import Scope

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


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A project file with the bytes of its digest, so that what is trusted is what is read."""

    file: ProjectFile
    data: bytes


def find_project_files(
    cwd: Path | str | None = None, environ: Mapping[str, str] | None = None
) -> tuple[ProjectFile, ...]:
    """Return the project files of a folder, each with whether it is trusted."""
    found, _ = find_files(working_folder() if cwd is None else Path(cwd), user_data_dir(environ))
    return tuple(each.file for each in found)


def find_files(
    folder: Path, data_dir: Path, *, except_for: Path | None = None
) -> tuple[list[FoundFile], list[str]]:
    """Read each project file of a folder once; also return warnings about those that can't be read."""
    record, warnings = _read_record(data_dir)
    found = []
    for name in PROJECT_FILES:
        path = _identity(folder / name)
        if not os.path.lexists(path) or (except_for is not None and _is_same(path, except_for)):
            continue
        problems = Problems(path)
        # Not an error: a folder that somebody else wrote must not keep Halflap from starting.
        data = read_bytes(path, problems, regular=True)
        if data is None:
            warnings.append(f"{path} is ignored. {problems.found[0].message}")
        else:
            found.append(FoundFile(_project_file(path, data, record), data))
    return found, warnings


def trust_project_file(
    path: Path | str, environ: Mapping[str, str] | None = None, digest: str | None = None
) -> ProjectFile:
    """Record that the file may be used as it is now; with `digest`, only if it is still that one."""
    place, data = _read_named(Path(path), digest)
    data_dir = user_data_dir(environ)
    record, _ = _read_record(data_dir)
    record[str(place)] = sha256(data).hexdigest()
    _write_record(data_dir, record)
    return _project_file(place, data, record)


def forget_project_file(path: Path | str, environ: Mapping[str, str] | None = None) -> bool:
    """Revoke the trust; return whether there was any."""
    data_dir = user_data_dir(environ)
    record, _ = _read_record(data_dir)
    if record.pop(str(_identity(Path(path))), None) is None:
        return False
    _write_record(data_dir, record)
    return True


def preview(path: Path | str, digest: str | None = None) -> list[ServerConfig]:
    """Return the servers that trusting the file would add, with each `${…}` as written.

    With `digest`, a file that has changed is refused, so that what is shown here is what `trust_project_file` records
    with the same digest.
    """
    place, data = _read_named(Path(path), digest)
    problems = Problems(place)
    found = FoundFile(_project_file(place, data, {}), data)
    servers, _ = read_project_servers(found, problems, scope=None, defaults=UpstreamDefaults())
    wrong = [*problems.found, *(problem for server in servers for problem in server.problems)]
    if wrong:
        raise ConfigError(wrong)
    return servers


def read_project_servers(
    found: FoundFile, problems: Problems, *, scope: Scope | None, defaults: UpstreamDefaults
) -> tuple[list[ServerConfig], list[str]]:
    """Read the servers of a project file, and their warnings; any other setting in it is a problem."""
    source = parse(found.data, found.file.path, problems)
    if source is None:
        return [], []
    for key in source.value:
        if key not in _ALLOWED_KEYS:
            problems.add(
                source.line((key,)),
                f"`{show(key)}` can't be set here: a project file can only add servers.",
                "Put it into your own configuration file.",
                code="config-project-key",
            )
    reader = ServerReader(source, problems, scope, defaults)
    return reader.read(), reader.warnings


def _identity(path: Path) -> Path:
    """Return the key of a file in the record: its folder with links resolved, and its name there.

    A link of that name is not resolved: trust in a file elsewhere must not extend to a folder whose author only links
    to it, since the servers would run in that folder.
    """
    return Path(os.path.realpath(path.absolute().parent)) / path.name


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _project_file(path: Path, data: bytes, record: Mapping[str, str]) -> ProjectFile:
    digest = sha256(data).hexdigest()
    recorded = record.get(str(path))
    return ProjectFile(
        path, digest, "new" if recorded is None else "trusted" if recorded == digest else "changed"
    )


def _read_named(path: Path, digest: str | None) -> tuple[Path, bytes]:
    place = _identity(path)
    problems = Problems(place)
    data = read_bytes(place, problems, regular=True)
    if data is not None and digest is not None and sha256(data).hexdigest() != digest:
        problems.add(
            None, "The file has changed since it was shown.", "Look at it again.", code="config-changed"
        )
    if data is None or problems.found:
        raise ConfigError(problems.found)
    return place, data


def _read_record(data_dir: Path) -> tuple[dict[str, str], list[str]]:
    path = data_dir / _RECORD
    try:
        files = json.loads(path.read_bytes())["files"]
        if all(isinstance(digest, str) for digest in files.values()):
            return dict(files), []
    except FileNotFoundError:
        return {}, []
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    return {}, [
        f"{path} can't be read, so no project file is trusted. Trust them again with `halflap trust`."
    ]


def _write_record(data_dir: Path, record: Mapping[str, str]) -> None:
    path = data_dir / _RECORD
    text = json.dumps({"version": 1, "files": dict(sorted(record.items()))}, indent=2) + "\n"
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(text.encode())
    except OSError as error:
        message = f"The record of trusted files can't be written: {error.strerror}."
        advice = "Nothing has changed. Make it a file that you may write."
        raise ConfigError([ConfigProblem(path, None, message, advice, "config-trust")]) from error
