"""What a program gets from a call: the value in a result, without the protocol's wrapping."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.sandbox.sandbox import Media
from halflap.schema import Reading, read_result, reading_of

if TYPE_CHECKING:
    from halflap.core.values import Result

__all__ = ["Reading", "reading_of", "value_of"]


def value_of(result: Result, reading: Reading) -> Any:
    """Read a result; what is not text in it goes to the program as it came."""
    return read_result(result, reading, Media)
