"""Parse JSON that someone else wrote."""

from __future__ import annotations

from typing import Any

from pydantic_core import from_json

__all__ = ["UnreadableError", "read_json"]

_PICKLE_STARTS = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"(dp", b"(lp", b"}q", b"]q")
"""How pickles of objects and lists begin, in every protocol; no JSON does."""


class UnreadableError(Exception):
    """A file is not JSON; the message says why."""


def read_json(data: bytes) -> Any:
    """Parse a value of at most about 200 levels; NaN and lone surrogates are refused."""
    if data.startswith(_PICKLE_STARTS):
        raise UnreadableError(
            "this is a pickle, whatever its name says. Loading a pickle runs code, so it is never opened. Save the state as "
            'JSON with `program.save("state.json")`, or use `halflap programs export`.'
        )
    try:
        return from_json(data.removeprefix(b"\xef\xbb\xbf"), allow_inf_nan=False)
    except ValueError as error:
        raise UnreadableError(f"not valid JSON: {error}.") from None
