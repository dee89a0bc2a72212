"""Halflap's own MCP tools, in three families.

`definitions.yaml` has what clients see of them, `tool` binds a definition to the handler that answers its calls, `families`
lists them. The core family is in `find` (search, list, inspect, suggest) and `execute` (programs and single calls); `dspy`
and `gepa` are a family each.
"""
