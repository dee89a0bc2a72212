"""What a program may use up in monty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halflap.config import ExecutionConfig

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of each program."""

    seconds: int
    """Of computing; while it waits for a call, the clock stands still."""
    memory_bytes: int
    value_bytes: int
    programs: int
    """So many run at the same time."""
    recursion: int = 1_000
    suspensions: int = 1_000_000
    """Each call and each sleep is one or two; how many calls there may be, the host says."""

    @classmethod
    def of(cls, config: ExecutionConfig) -> Limits:
        """Read them from the configuration."""
        return cls(
            seconds=config.cpu_seconds,
            memory_bytes=config.max_memory_mb * 1024 * 1024,
            value_bytes=config.max_value_bytes,
            programs=config.max_programs,
        )
