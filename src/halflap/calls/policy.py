"""What may be called, and what is known about a tool's effects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from halflap.catalog import block_rule, matches, namespaced
from halflap.core.errors import ToolBlockedError, ToolHeldError
from halflap.core.values import DSPY, OWN, Tool

if TYPE_CHECKING:
    from halflap.catalog import Snapshot
    from halflap.config import Config

__all__ = ["Policy"]


class Policy:
    """The user's rules, and the servers' claims as far as the user trusts them."""

    def __init__(self, config: Config) -> None:
        self._tools = config.tools
        self._programs_only_read = config.execution.read_only
        # Claims about a DSPy program are our own: they follow from the tools it may call.
        self._trusted = frozenset({DSPY, *(one.name for one in config.servers if one.trust_annotations)})

    def admit(self, tool: Tool, snapshot: Snapshot) -> None:
        """Raise if a tool, prompt or resource is blocked, or held back because its definition changed."""
        rule = block_rule(tool, self._tools)
        if rule is not None:
            raise ToolBlockedError(tool.name, rule)
        if tool.name in snapshot.held:
            raise ToolHeldError(tool.name, snapshot.changed.get(tool.name, ()))

    def kept_out_of_programs(self, tool: Tool) -> str | None:
        """Return why no program may call the tool, to follow its name; None if programs may."""
        # A script or DSPy program is judged by its own calls, which are checked too.
        is_ours = tool.server in OWN and not self.is_destructive(tool)
        if not self._programs_only_read or is_ours or self.is_read_only(tool):
            return None
        return (
            "is not known to be read-only, and with `execution.read_only` programs can call no other tools. The user "
            "can list it under `tools.read_only`."
        )

    def is_destructive(self, tool: Tool) -> bool:
        """Return whether the tool destroys things: the user says so, or its server does, trusted or not."""
        if self._user_says_destructive(tool):
            return True
        return tool.annotations.destructive is True and not self.is_read_only(tool)

    def is_read_only(self, tool: Tool) -> bool:
        """Return whether the tool is known to change nothing."""
        if self._user_says_destructive(tool):
            return False
        if matches(tool.name, self._tools.read_only) is not None:
            return True
        return self.is_trusted(tool) and tool.annotations.read_only is True

    def changes(self, tool: Tool) -> bool | None:
        """Return whether the tool changes something; None if that is unknown."""
        if self.is_read_only(tool):
            return False
        return True if tool.annotations.read_only is False or self.is_destructive(tool) else None

    def is_repeatable(self, tool: Tool) -> bool:
        """Return whether calling the tool twice is known to be harmless."""
        if self.is_read_only(tool):
            return True
        is_idempotent = self.is_trusted(tool) and tool.annotations.idempotent is True
        return is_idempotent and not self._user_says_destructive(tool)

    def _user_says_destructive(self, tool: Tool) -> bool:
        # Also by the name that it would have without a collision: a rename must not lift a restriction.
        names = (tool.name, namespaced(tool.server, tool.original_name))
        return any(matches(name, self._tools.destructive) is not None for name in names)

    def voucher(self, tool: Tool) -> Literal["user", "server"] | None:
        """Return who says what the tool's effects are."""
        if self._user_says_destructive(tool) or matches(tool.name, self._tools.read_only) is not None:
            return "user"
        return "server" if self.is_trusted(tool) or self.is_destructive(tool) else None

    def is_trusted(self, tool: Tool) -> bool:
        """Return whether the claims of the tool's server count."""
        return tool.server in self._trusted
