"""The names under which tools are known: valid Python identifiers that never change."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

from halflap.core.values import OWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["LONGEST_NAME", "choose_name", "namespaced"]

LONGEST_NAME = 200
"""In characters; the longest of 527 real ones has 59. Names stand in every list of tools, and in errors."""

_ODD = re.compile(r"[^0-9A-Za-z_]")
_SUFFIX_DIGITS = 6


def namespaced(server: str, tool: str) -> str:
    """Give the name that a tool gets if nobody has it yet, and it is not too long."""
    prefix = "" if server in OWN else "mcp__"
    return f"{prefix}{_ODD.sub('_', server)}__{_ODD.sub('_', tool)}"


def choose_name(server: str, tool: str, taken: Mapping[str, tuple[str, str]]) -> str:
    """Give the first name that is free or its own; the later of two gets a suffix from its original name.

    So does one that is too long, which is cut before it.
    """
    return next(
        name for name in _candidates(server, tool, taken) if taken.get(name, (server, tool)) == (server, tool)
    )


def _candidates(server: str, tool: str, taken: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    plain = namespaced(server, tool)
    # A long name that was given before there was a bound stays: names never change.
    if len(plain) <= LONGEST_NAME or taken.get(plain) == (server, tool):
        yield plain
    digest = sha256(f"{server}\0{tool}".encode(errors="surrogatepass")).hexdigest()
    for digits in range(_SUFFIX_DIGITS, len(digest) + 1):
        yield f"{plain[: LONGEST_NAME - digits - 1]}_{digest[:digits]}"
