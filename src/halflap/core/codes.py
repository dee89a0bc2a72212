"""Every error code: short, stable, and explained under its own heading in `errors.md`.

Codes in the source are typed with these literals, so mypy rejects one that is not listed. Tests check that every
exception's code is listed, every listed code is used, and each has a heading.
"""

from __future__ import annotations

from typing import Literal, get_args

ErrorCode = Literal[
    "halflap",
    "config",
    "usage",
    "server-not-found",
    "script-not-found",
    "confirmation-needed",
    "file",
    "run-not-found",
    "store",
    "store-too-new",
    "store-broken",
    "store-ahead",
    "tool",
    "tool-not-found",
    "tool-blocked",
    "tool-held",
    "tool-refused",
    "invalid-arguments",
    "tool-failed",
    "input-required",
    "upstream",
    "upstream-unavailable",
    "upstream-lost",
    "call-timeout",
    "shape",
    "shape-too-new",
    "shape-broken",
    "backfill",
    "script",
    "dspy-program",
    "dspy-program-not-found",
    "dspy-program-broken",
    "dspy-program-inputs",
    "dspy-program-failed",
    "dspy-program-timeout",
    "dspy-program-cache",
    "workflow",
    "workflow-failed",
    "workflow-timeout",
    "workflow-busy",
    "client-file",
    "sandbox",
    "scripts-too-deep",
    "serve",
    "token-file",
    "demo",
]
"""Codes of exceptions."""

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
    "config-changed",
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

HttpCode = Literal["http-host", "http-origin", "http-token"]
"""Codes of requests that our HTTP server refuses."""

OtherCode = Literal["call-limit", "internal", "output-not-kept", "output-not-written", "tool-error"]
"""Everything else."""

Code = ErrorCode | ConfigCode | CheckCode | RunCode | HttpCode | OtherCode

CODES: tuple[str, ...] = tuple(
    code
    for family in (ErrorCode, ConfigCode, CheckCode, RunCode, HttpCode, OtherCode)
    for code in get_args(family)
)
