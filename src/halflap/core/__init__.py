"""Shared by every other package: values, errors and their codes, name suggestions, text and file helpers.

Start with `values` (`Tool`, `Result`, `CallContext`, `ToolSource`) and `errors` (the exception tree). Nothing here
imports another package of Halflap, and only `files` and `folder` do I/O.
"""
