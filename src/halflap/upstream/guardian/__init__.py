"""Starts the processes of stdio servers and ends them, with all that they started, however the gateway dies.

`guardian.py` is the gateway's side. `process.py` is run as a separate program, with the standard library alone; its
docstring explains how the processes watch each other.
"""

from halflap.upstream.guardian.guardian import GuardedProcess, Guardian

__all__ = ["GuardedProcess", "Guardian"]
