"""Halflap's own MCP tools, in three families.

`tool` defines what a tool is, `families` lists them. The core family is `find` (search, list, inspect), `call`, `execute` and
`suggest`; `dspy` and `gepa` are a family each. A handler gets the arguments and the client, and returns an `Answer`.
"""
