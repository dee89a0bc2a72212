"""A step of the demo: what it found, whether that is what it says, and how it is shown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from halflap.core.errors import HalflapError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from halflap.cli.demo.story import Scene

__all__ = ["DemoError", "Step", "UnmetError", "expect"]


class DemoError(HalflapError):
    """The demo did not show what it should have: something is broken."""

    code = "demo"


class UnmetError(Exception):
    """What a step would have shown is not so."""

    def __init__(self, expected: str, came: str) -> None:
        super().__init__(f"expected {expected}, came {came}")
        self.expected = expected
        self.came = came


def expect(holds: bool, expected: str, came: object) -> None:
    """Let nothing be shown that is not so."""
    if not holds:
        raise UnmetError(expected, came if isinstance(came, str) else repr(came))


class Step(ABC):
    """What a step found. It is looked over before any of it is shown."""

    scene: ClassVar[Scene]

    @abstractmethod
    def check(self) -> None:
        """Raise `UnmetError` if what would be shown is not so."""

    @abstractmethod
    def draw(self) -> Iterator[RenderableType]:
        """Give what is shown."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Give the same as data."""
