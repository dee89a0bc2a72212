"""Predicates: a small language for when a flow is taken, with no calls, assignments or lookups.

`language` parses and writes it, `python` turns it into an expression of the program that runs a workflow.
"""

from __future__ import annotations

from halflap.workflows.predicates.language import Expression, names, parse, write
from halflap.workflows.predicates.python import PRELUDE, to_python

__all__ = ["PRELUDE", "Expression", "names", "parse", "to_python", "write"]
