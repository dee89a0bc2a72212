"""The files that a working folder brings along, and the record of those that the user trusts."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from halflap.config.document import document, file_bytes
from halflap.config.nodes import Node, Problems, shown, with_repeated
from halflap.config.places import home_dir, user_data_dir, working_folder
from halflap.config.servers import ServerReader
from halflap.core.errors import ConfigError, ConfigProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.config.expand import Scope
    from halflap.config.settings import ServerConfig, UpstreamDefaults

__all__ = [
    "PROJECT_FILES",
    "FoundFile",
    "ProjectFile",
    "find_project_files",
    "forget_project_file",
    "look_around",
    "preview",
    "read_project_servers",
    "trust_project_file",
]

PROJECT_FILES = ("halflap.yaml", "halflap.yml", ".mcp.json")
"""In the order in which they count: of two servers of one name, the first stays."""

_SERVER_KEYS = ("mcpServers", "servers", "inputs", "$schema")
_RECORD = "trust.json"


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A file of the working folder; only when it is `trusted` does anything in it count."""

    path: Path
    digest: str
    state: Literal["trusted", "new", "changed"]


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A project file with the bytes that its digest is of: what is trusted is what is read."""

    file: ProjectFile
    data: bytes


def find_project_files(
    cwd: Path | str | None = None, environ: Mapping[str, str] | None = None
) -> tuple[ProjectFile, ...]:
    """Say which project files the folder has, and whether each is trusted."""
    found, _ = look_around(working_folder() if cwd is None else Path(cwd), user_data_dir(environ))
    return tuple(each.file for each in found)


def look_around(
    folder: Path, data_dir: Path, *, except_for: Path | None = None
) -> tuple[list[FoundFile], list[str]]:
    """Read each project file once, and give them with warnings of what cannot be considered."""
    record, warnings = _read_record(data_dir)
    found = []
    for name in PROJECT_FILES:
        path = _place(folder / name)
        if not os.path.lexists(path) or (except_for is not None and _same(path, except_for)):
            continue
        problems = Problems(path)
        # A folder that somebody else wrote must not keep Halflap from starting, so this is no error.
        data = file_bytes(path, problems, regular=True)
        if data is None:
            warnings.append(f"{path} is left out: {problems.found[0].message}")
            continue
        found.append(FoundFile(_judged(path, data, record), data))
    return found, warnings


def trust_project_file(
    path: Path | str, environ: Mapping[str, str] | None = None, digest: str | None = None
) -> ProjectFile:
    """Record that the file may count as it is now; with `digest`, only if it is still that one."""
    place, data = _read_named(Path(path), digest)
    data_dir = user_data_dir(environ)
    record, _ = _read_record(data_dir)
    record[str(place)] = sha256(data).hexdigest()
    _write_record(data_dir, record)
    return _judged(place, data, record)


def forget_project_file(path: Path | str, environ: Mapping[str, str] | None = None) -> bool:
    """Take the trust back; say whether there was any."""
    data_dir = user_data_dir(environ)
    record, _ = _read_record(data_dir)
    if record.pop(str(_place(Path(path))), None) is None:
        return False
    _write_record(data_dir, record)
    return True


def preview(
    path: Path | str, environ: Mapping[str, str] | None = None, digest: str | None = None
) -> list[ServerConfig]:
    """Give the servers that trusting the file would add, with each `${…}` as it is written.

    With `digest`, a file that is no longer that one is refused, so that what is shown here is what
    `trust_project_file` records with the same digest.
    """
    place, data = _read_named(Path(path), digest)
    problems = Problems(place)
    home = home_dir(os.environ if environ is None else environ)
    servers, _ = read_project_servers(
        FoundFile(_judged(place, data, {}), data), problems, scope=None, home=home
    )
    if problems.found:
        raise ConfigError(problems.found)
    return servers


def read_project_servers(
    found: FoundFile,
    problems: Problems,
    *,
    scope: Scope | None,
    home: Path,
    defaults: UpstreamDefaults | None = None,
) -> tuple[list[ServerConfig], list[str]]:
    """Read the servers of a project file, and refuse anything else that stands in it."""
    root = document(found.data, found.file.path, problems)
    if root is None:
        return [], []

    def read(given: Node, own: Problems) -> tuple[list[ServerConfig], list[str]]:
        _refuse_others(given, own)
        reader = ServerReader(found.file.path.parent, own, scope, home)
        if defaults is not None:
            reader.defaults = defaults
        return reader.read(given), reader.warnings

    servers = read(root, problems)
    # What occurs twice hides nothing: whichever is kept, its mistakes are told now.
    if (other := with_repeated(root)) is not None:
        more = Problems(found.file.path)
        read(other, more)
        problems.add_new(more)
    return servers


def _refuse_others(root: Node, problems: Problems) -> None:
    for key, node in root.mapping.items():
        if key not in _SERVER_KEYS:
            problems.add(
                node.line,
                f"`{shown(key)}` cannot stand here: a project file can only add servers.",
                "Put it in your own configuration file.",
                code="config-project-key",
            )


def _place(path: Path) -> Path:
    """Give the key of a file: its folder with links followed, and its name there.

    A link of that name is not followed: trust in a file elsewhere must not extend to a folder whose
    author only links to it, since the servers would run in that folder.
    """
    return Path(os.path.realpath(path.absolute().parent)) / path.name


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _judged(path: Path, data: bytes, record: Mapping[str, str]) -> ProjectFile:
    digest = sha256(data).hexdigest()
    recorded = record.get(str(path))
    return ProjectFile(
        path, digest, "new" if recorded is None else "trusted" if recorded == digest else "changed"
    )


def _read_named(path: Path, digest: str | None) -> tuple[Path, bytes]:
    place = _place(path)
    problems = Problems(place)
    data = file_bytes(place, problems, regular=True)
    if data is not None and digest is not None and sha256(data).hexdigest() != digest:
        problems.add(
            None, "the file has changed since it was looked at.", "Look at it again.", code="config-changed"
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
        f"{path} cannot be read, so no project file is trusted. Trust them again with `halflap trust`."
    ]


def _write_record(data_dir: Path, record: Mapping[str, str]) -> None:
    try:
        _replace_record(data_dir, record)
    except OSError as error:
        problem = ConfigProblem(
            data_dir / _RECORD,
            None,
            f"what is trusted cannot be written down: {error.strerror}.",
            "Nothing has changed. Make it a file that you may write.",
            "config-trust",
        )
        raise ConfigError([problem]) from error


def _replace_record(data_dir: Path, record: Mapping[str, str]) -> None:
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = json.dumps({"version": 1, "files": dict(sorted(record.items()))}, indent=2) + "\n"
    # mkstemp makes the file 0600 from the start; replacing it is all or nothing.
    descriptor, temporary = tempfile.mkstemp(dir=data_dir, prefix=f".{_RECORD}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(data_dir / _RECORD)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise
