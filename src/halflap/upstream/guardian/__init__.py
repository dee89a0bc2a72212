"""Starts the processes of stdio servers and ends them, with all that they started, however the gateway dies.

`process.py` is the gateway's side. `guardian.py` runs as a separate program, one per server, with the standard library
alone; its docstring explains how.
"""

from halflap.upstream.guardian.process import GuardedProcess

__all__ = ["GuardedProcess"]
