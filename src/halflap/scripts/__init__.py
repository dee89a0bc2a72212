"""Scripts: programs saved under a name, which are tools like any other.

Read `definition` first (what a script takes and returns, read from its text without running it), then `scripts` (the scripts as
tools). Scripts run only in the sandbox, with the permissions and the deadline of their caller.
"""

from halflap.scripts.definition import Definition, read_definition
from halflap.scripts.folder import Script, ScriptFolder, decode
from halflap.scripts.scripts import ScriptResult, Scripts

__all__ = [
    "Definition",
    "Script",
    "ScriptFolder",
    "ScriptResult",
    "Scripts",
    "decode",
    "read_definition",
]
