"""The names under which tools are known: valid Python identifiers that never change."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

from halflap.values import SCRIPTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["choose_name", "namespaced"]

_ODD = re.compile(r"[^0-9A-Za-z_]")
_SUFFIX_DIGITS = 6


def namespaced(server: str, tool: str) -> str:
    """Give the name that a tool gets if nobody has it yet."""
    prefix = "" if server == SCRIPTS else "mcp__"
    return f"{prefix}{_ODD.sub('_', server)}__{_ODD.sub('_', tool)}"


def choose_name(server: str, tool: str, taken: Mapping[str, tuple[str, str]]) -> str:
    """Give the first name that is free or its own; the later of two gets a suffix from its original name."""
    return next(
        name for name in _candidates(server, tool) if taken.get(name, (server, tool)) == (server, tool)
    )


def _candidates(server: str, tool: str) -> Iterator[str]:
    plain = namespaced(server, tool)
    yield plain
    digest = sha256(f"{server}\0{tool}".encode(errors="surrogatepass")).hexdigest()
    for digits in range(_SUFFIX_DIGITS, len(digest) + 1):
        yield f"{plain}_{digest[:digits]}"
