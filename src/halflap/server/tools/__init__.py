"""Halflap's own MCP tools, in three families.

`tool` defines what a tool is. The core family is `search`, `core` (list), `inspect`, `call`, `execute` and `suggest`;
`dspy` and `gepa` are a family each. A handler gets the arguments and the caller, and returns an `Answer`.
"""
