"""The folder in which DSPy programs are kept, one folder for each: read without being believed, never overwritten."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path

    from halflap.programs.manifest import Manifest
    from halflap.programs.state import State

__all__ = ["Shelf", "Stored"]


@dataclass(frozen=True, slots=True)
class Stored:
    """A DSPy program as it was when it was read."""

    manifest: Manifest
    state: State
    source_hash: str
    """SHA-256 over the bytes of both files, as `source_hash` makes it."""
    folder: Path | None
    """None for one that ships with Halflap."""
    versions: tuple[str, ...]
    """Those that are kept beside it and its own, the oldest first."""
    read_at: datetime
    """In UTC."""

    @property
    def name(self) -> str:
        return self.manifest.name


@dataclass(frozen=True, slots=True)
class Shelf:
    """All DSPy programs at one moment."""

    programs: Mapping[str, Stored] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    """What cannot be used, by the name of its folder, and why."""
    problem: str = ""
    """Why the folder of all of them cannot be read, if it cannot."""
