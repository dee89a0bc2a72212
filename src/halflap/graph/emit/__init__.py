"""Emission: the one generator of programs, from workflows to Python source.

Read `program` first; `arguments` writes the arguments of calls, `loops` what is called for each of many, `pages` the
functions that steps need beyond a call. `syntax` has the small parts.
Everything is built as syntax nodes, so no name or value of a tool can become code.
"""

from halflap.graph.emit.program import program

__all__ = ["program"]
