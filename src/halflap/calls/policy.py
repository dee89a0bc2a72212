"""What may be called, and what is known of a tool's effects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from halflap.catalog import matches, namespaced
from halflap.core.errors import ToolBlockedError, ToolHeldError
from halflap.core.values import DSPY

if TYPE_CHECKING:
    from halflap.catalog import Snapshot
    from halflap.config import Config
    from halflap.core.values import Tool

__all__ = ["Policy"]


class Policy:
    """The user's rules, and the servers' claims as far as the user trusts them."""

    def __init__(self, config: Config) -> None:
        self._tools = config.tools
        # What is said of a DSPy program is worked out by us, from what it may call.
        self._trusted = frozenset({DSPY, *(one.name for one in config.servers if one.trust_annotations)})

    def admit(self, tool: Tool, snapshot: Snapshot) -> None:
        """Refuse a tool that may not be called."""
        rule = snapshot.blocked.get(tool.name)
        if rule is not None:
            raise ToolBlockedError(tool.name, rule)
        if tool.name in snapshot.held:
            raise ToolHeldError(tool.name, snapshot.changed.get(tool.name, ()))

    def is_destructive(self, tool: Tool) -> bool:
        """Return whether the tool destroys things: the user says so, or its own server does, trusted or not."""
        if self._is_called_destructive(tool):
            return True
        return tool.annotations.destructive is True and not self.is_read_only(tool)

    def is_read_only(self, tool: Tool) -> bool:
        """Say whether the tool is known to change nothing."""
        if self._is_called_destructive(tool):
            return False
        if matches(tool.name, self._tools.read_only) is not None:
            return True
        return self.is_trusted(tool) and tool.annotations.read_only is True

    def changes(self, tool: Tool) -> bool | None:
        """Say whether the tool changes something; None if nobody says so, or only one who is not trusted that it does not."""
        if self.is_read_only(tool):
            return False
        owns_up = tool.annotations.read_only is False or self.is_destructive(tool)
        return True if owns_up else None

    def is_repeatable(self, tool: Tool) -> bool:
        """Say whether calling it twice is known to do no harm."""
        if self.is_read_only(tool):
            return True
        return (
            self.is_trusted(tool)
            and tool.annotations.idempotent is True
            and not self._is_called_destructive(tool)
        )

    def _is_called_destructive(self, tool: Tool) -> bool:
        """Say whether the user calls it destructive: by its name, or by the one that it would have had."""
        plain = namespaced(tool.server, tool.original_name)
        return any(matches(name, self._tools.destructive) is not None for name in (tool.name, plain))

    def voucher(self, tool: Tool) -> Literal["user", "server"] | None:
        """Return on whose word the tool's effects are known: the user's, its server's, or nobody's."""
        if self._is_called_destructive(tool) or matches(tool.name, self._tools.read_only) is not None:
            return "user"
        return "server" if self.is_trusted(tool) or self.is_destructive(tool) else None

    def is_trusted(self, tool: Tool) -> bool:
        """Say whether the claims of the tool's server count."""
        return tool.server in self._trusted
