"""Choose where programs run. (Stands in until the other backend is merged.)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.execution.jail.jail import Jail

if TYPE_CHECKING:
    from halflap.config import ExecutionConfig
    from halflap.execution.sandbox import Sandbox

__all__ = ["choose"]


def choose(config: ExecutionConfig) -> Sandbox:
    """Give the jail."""
    return Jail(config)
