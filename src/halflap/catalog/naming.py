"""Tool names: valid Python identifiers that never change once given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Literal

from halflap.core.values import OWN

MAX_NAME = 200
"""In characters; the longest of 527 real ones has 59. Names appear in every list of tools."""

_NOT_IN_NAMES = re.compile(r"[^0-9A-Za-z_]")
_SUFFIX_DIGITS = 6


def namespaced(server: str, tool: str) -> str:
    """Return the name a tool gets if it is free and not too long."""
    prefix = "" if server in OWN else "mcp__"
    return f"{prefix}{_NOT_IN_NAMES.sub('_', server)}__{_NOT_IN_NAMES.sub('_', tool)}"


def feature_name(server: str, kind: Literal["prompt", "resource"], name: str) -> str:
    """Return the name under which the rules for tools apply to a prompt or a resource."""
    return namespaced(server, f"{kind}__{name}")


def choose_name(server: str, tool: str, taken: Mapping[str, tuple[str, str]]) -> str:
    """Return a tool's name: where the plain one is taken or too long, with a suffix derived from its original name."""
    return next(
        name for name in _candidates(server, tool, taken) if taken.get(name, (server, tool)) == (server, tool)
    )


def _candidates(server: str, tool: str, taken: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    plain = namespaced(server, tool)
    # A long name given before there was a limit stays.
    if len(plain) <= MAX_NAME or taken.get(plain) == (server, tool):
        yield plain
    digest = sha256(f"{server}\0{tool}".encode(errors="surrogatepass")).hexdigest()
    for digits in range(_SUFFIX_DIGITS, len(digest) + 1):
        yield f"{plain[: MAX_NAME - digits - 1]}_{digest[:digits]}"
