"""Programs saved under a name."""

from halflap.scripts.definition import Definition, read_definition
from halflap.scripts.folder import Folder, Script, Shelf, decode, read_file
from halflap.scripts.scripts import ScriptResult, Scripts

__all__ = [
    "Definition",
    "Folder",
    "Script",
    "ScriptResult",
    "Scripts",
    "Shelf",
    "decode",
    "read_definition",
    "read_file",
]
