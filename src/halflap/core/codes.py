"""Error codes that do not belong to an exception class in `errors`.

Every code has a section in `errors.md`. Code is typed with these literals, so mypy rejects an unlisted one.
"""

from __future__ import annotations

from typing import Literal

RaisedCode = Literal[
    "confirmation-needed",
    "demo",
    "dspy-program-cache",
    "dspy-program-timeout",
    "file",
    "record-failed",
    "script-not-found",
    "scripts-too-deep",
    "store-ahead",
    "token-file",
    "workflow-busy",
    "workflow-failed",
    "workflow-timeout",
]
"""Codes passed to an exception where it is raised."""

ConfigCode = Literal[
    "config-not-found",
    "config-unreadable",
    "config-too-large",
    "config-not-utf8",
    "config-syntax",
    "config-duplicate-key",
    "config-unknown-key",
    "config-wrong-value",
    "config-exclusive",
    "config-timeouts",
    "config-variable",
    "config-env-file",
    "config-header",
    "config-server-name",
    "config-duplicate-server",
    "config-server-incomplete",
    "config-transport",
    "config-project-key",
    "config-trust",
]
"""Codes of the problems that a `ConfigError` carries."""

CheckCode = Literal[
    "check-syntax",
    "check-unknown-tool",
    "check-unknown-argument",
    "check-missing-argument",
    "check-wrong-argument",
    "check-unnamed-argument",
    "check-unknown-key",
    "check-no-keys",
    "check-no-attribute",
    "check-not-awaited",
    "check-doubt",
]
"""Codes of what the check finds in a program before it runs."""

RunCode = Literal[
    "run-failed",
    "run-mistaken",
    "run-timeout",
    "run-cpu",
    "run-memory",
    "run-output",
    "run-crashed",
    "run-misused",
    "run-cancelled",
]
"""Codes of programs that did not finish: `run-` plus the recorded outcome."""

HttpCode = Literal["http-body", "http-host", "http-origin", "http-token"]
"""Codes of requests that our HTTP server refuses."""

OtherCode = Literal["call-limit", "internal", "output-not-kept", "output-not-written", "tool-error"]
"""Everything else."""
