"""Predicates: when a flow out of a split is taken. `language` is all there is: parse, read names, translate to Python."""

from __future__ import annotations

from halflap.workflows.predicates.language import PRELUDE, names, parse, to_python

__all__ = ["PRELUDE", "names", "parse", "to_python"]
