"""The folder of saved scripts."""

from __future__ import annotations

from dataclasses import dataclass

from halflap.core.errors import ScriptError
from halflap.core.folder import ToolFolder
from halflap.scripts.definition import Definition, read_definition

_MAX_BYTES = 262_144


@dataclass(frozen=True, slots=True)
class Script:
    """A saved script."""

    name: str
    code: str
    definition: Definition


class ScriptFolder(ToolFolder[Script]):
    suffix = ".py"
    most_bytes = _MAX_BYTES

    def parse(self, name: str, data: bytes) -> Script:
        code = decode(data)
        return Script(name, code, read_definition(code))


def decode(data: bytes) -> str:
    """Return the text of a script."""
    if len(data) > _MAX_BYTES:
        raise ScriptError(f"it is larger than {_MAX_BYTES // 1024} KiB. Let it get its data through tools.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ScriptError(f"line {line}: it is not UTF-8 text.") from None
