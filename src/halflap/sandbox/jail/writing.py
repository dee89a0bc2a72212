"""Write what goes to a program: the program itself, and the answers to its calls."""

from __future__ import annotations

import json
import marshal
from typing import TYPE_CHECKING, Any

from halflap.sandbox.sandbox import Media, ToolRefusal

if TYPE_CHECKING:
    from halflap.sandbox.sandbox import Program

__all__ = ["write_program", "write_refusal", "write_value"]


def write_program(program: Program) -> bytes:
    """Write the program, with what it finds there."""
    entry = program.entry
    order = {
        "code": program.code,
        "tools": dict(program.tools),  # pairs of signature and the only parameter
        "entry": None if entry is None else {"name": entry.name, "arguments": dict(entry.arguments)},
    }
    return json.dumps(order).encode()


def write_refusal(refusal: ToolRefusal) -> bytes:
    """Write why a call gave nothing."""
    return json.dumps({"message": str(refusal)}).encode()


def write_value(name: str, value: Any, largest: int) -> bytes:
    """Write what a call of a tool gave, in the form that the same interpreter reads fastest."""
    try:
        answer = marshal.dumps(_portable(value))
    except ValueError:
        raise ToolRefusal(f"The result of {name!r} is nested too deeply to be handed over.") from None
    if len(answer) > largest:
        raise ToolRefusal(
            f"The call was made, but the result of {name!r} is {len(answer):,} bytes; at most {largest:,} are "
            "possible (`execution.max_value_bytes`). Ask the tool for less, or for a part."
        )
    return answer


def _portable(value: Any) -> Any:
    """Give a value in the form that the jail reads: something that is not text goes as a pair."""
    if isinstance(value, Media):
        return ("media", dict(value.block))
    if type(value) is list and any(isinstance(part, Media) for part in value):
        return [_portable(part) for part in value]
    return value
