"""How a child ended, as the kernel says, and how the conversation with it did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halflap.sandbox.sandbox import Failure

__all__ = ["Exit", "Verdict"]


@dataclass(frozen=True, slots=True)
class Exit:
    """How a child ended, as the kernel says; all None when nobody can say."""

    code: int | None
    cpu_seconds: float | None
    memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the conversation with a program ended."""

    kind: str
    """`done`, `silent` (the channel closed before it was done), `misused`, or `output` (too much of it)."""
    failure: Failure | None = None
    detail: str = ""
    value: Any = None
