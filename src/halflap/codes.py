"""Every error code that there is: short, stable, and explained by one heading of `errors.md` each.

Where a code stands in the source it is typed by one of these, so one that is not listed here does not pass mypy. That
the codes of all exceptions are listed, that each code is in use, and that each has its heading, the tests say.
"""

from __future__ import annotations

from typing import Literal, get_args

__all__ = ["CODES", "CheckCode", "Code", "ConfigCode", "ErrorCode", "HttpCode", "OtherCode", "RunCode"]

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
"""Of the exceptions, each of which has its own: those of `errors.py`, and what the demo raises."""

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
"""Of the problems of a configuration file, of which `config` has one or more."""

CheckCode = Literal[
    "check-syntax",
    "check-unknown-tool",
    "check-unknown-argument",
    "check-missing-argument",
    "check-wrong-argument",
    "check-unnamed-argument",
    "check-unknown-key",
    "check-no-keys",
    "check-not-awaited",
    "check-doubt",
]
"""Of what the check says about a program before it runs."""

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
"""Of programs that did not run to their end: `run-` and the outcome that is on record."""

HttpCode = Literal["http-host", "http-origin", "http-token"]
"""Of requests that our own HTTP server refuses."""

OtherCode = Literal["call-limit", "internal", "output-not-kept", "output-not-written", "tool-error"]
"""Of what is no exception and belongs to none of these."""

Code = ErrorCode | ConfigCode | CheckCode | RunCode | HttpCode | OtherCode

CODES: tuple[str, ...] = tuple(
    code
    for family in (ErrorCode, ConfigCode, CheckCode, RunCode, HttpCode, OtherCode)
    for code in get_args(family)
)
