"""What the `programs` section takes: where DSPy programs are, and the language model that they ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["LmConfig", "ProgramsConfig"]


@dataclass(frozen=True, slots=True, repr=False)
class LmConfig:
    """The language model of DSPy programs, as DSPy names it, and how to reach it."""

    model: str
    api_base: str | None = None
    api_key: str | None = None
    timeout: float | None = None
    """How long one answer may take, in seconds; None for as long as the program may."""
    temperature: float | None = None
    max_tokens: int | None = None
    adapter: Literal["chat", "json"] = "chat"

    def __repr__(self) -> str:
        """Show nothing of the key, and of the address nothing either: there may be one in it."""
        key = "None" if self.api_key is None else "…"
        return f"LmConfig(model={self.model!r}, api_key={key})"


@dataclass(frozen=True, slots=True)
class ProgramsConfig:
    """DSPy programs: where they are, how long they may run, and what they ask."""

    root: Path | None = None
    """None for those that ship with Halflap."""
    watch: bool = False
    timeout_seconds: float = 60.0
    cache: Path | Literal["off"] | None = None
    """Where answers of the model are kept; None for a folder of Halflap's own."""
    lm: LmConfig | None = None
