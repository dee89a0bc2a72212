"""Predicates: a small language for when a flow is taken; nothing in it can call, assign or look anything up."""

from __future__ import annotations

from halflap.workflows.predicates.language import Expression, names, parse, write
from halflap.workflows.predicates.python import PRELUDE, to_python
from halflap.workflows.predicates.values import evaluate, holds
from halflap.workflows.predicates.xpath import BeyondError, from_xpath, to_xpath

__all__ = [
    "PRELUDE",
    "BeyondError",
    "Expression",
    "evaluate",
    "from_xpath",
    "holds",
    "names",
    "parse",
    "to_python",
    "to_xpath",
    "write",
]
