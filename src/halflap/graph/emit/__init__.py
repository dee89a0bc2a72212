"""Emission: the one generator of programs, from workflows to Python source.

Read `program` first; `arguments` writes the arguments of calls, `loops` what is called for each of many, `pages` and
`failures` the functions that steps need beyond a call. `syntax` and `names` have the small parts. Everything is built
as syntax nodes, so no name or value of a tool can become code.
"""

from halflap.graph.emit.program import program
from halflap.graph.emit.syntax import assign, attribute, call, constant, literal, load

__all__ = ["assign", "attribute", "call", "constant", "literal", "load", "program"]
