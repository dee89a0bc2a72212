"""What Python itself says about a program's text, gathered in the confined child."""

from __future__ import annotations

import ast
import warnings
from typing import Any

__all__ = ["gather"]

_NAME = "program.py"
_LONGEST_TEXT = 1_000
_TOO_DEEP = "the program is nested too deeply for Python"


def gather(code: str) -> dict[str, Any]:
    """Compile the program as it would be for a run, and say what stands against it."""
    return {"syntax_error": _syntax_error(code)}


def _syntax_error(code: str) -> dict[str, Any] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # To the end, and not to the tree alone: a `return` outside a function is found only then.
            compile(code, _NAME, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except SyntaxError as error:
        return _trouble(str(error.msg), error.lineno, error.offset, error.text)
    except (RecursionError, MemoryError):
        return _trouble(_TOO_DEEP)
    except (ValueError, OverflowError) as error:
        # NUL bytes, half of a surrogate pair, a number that is too long to read.
        return _trouble(str(error))
    return None


def _trouble(
    message: str, line: int | None = None, column: int | None = None, text: str | None = None
) -> dict[str, Any]:
    return {
        "message": message[:_LONGEST_TEXT],
        "line": line or 1,
        "column": max(column or 1, 1),
        "text": (text or "")[:_LONGEST_TEXT],
    }
