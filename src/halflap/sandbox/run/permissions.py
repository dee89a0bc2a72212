"""What a program may call: checked for every call of its run, right before it is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.core.errors import ScriptsTooDeepError, ToolRefusedError
from halflap.sandbox.sandbox import DEEPEST

if TYPE_CHECKING:
    from halflap.calls import Policy
    from halflap.config import ExecutionConfig
    from halflap.core.values import CallContext, Tool

__all__ = ["Permissions", "check_depth"]


def check_depth(context: CallContext) -> None:
    """Raise if this run would be nested too deeply."""
    if context.depth > DEEPEST:
        raise ScriptsTooDeepError(
            f"It was not run: scripts and DSPy programs can call each other {DEEPEST} deep, and this one would be "
            "one more. Do they call each other in a circle?"
        )


class Permissions:
    """Raises for tools that a program, or the one that called it, may not call."""

    def __init__(self, policy: Policy, config: ExecutionConfig, context: CallContext) -> None:
        self._policy = policy
        self._config = config
        self._outer = context.rule
        self._confirmed = context.confirmations
        self._unconfirmed = context.unconfirmed

    def __call__(self, tool: Tool) -> None:
        if self._outer is not None:
            self._outer(tool)
        if (why := self._policy.kept_out_of_programs(tool)) is not None:
            raise ToolRefusedError(f"{tool.name!r} {why}")
        needs_confirmation = self._config.confirm_destructive and self._policy.is_destructive(tool)
        if needs_confirmation and tool.name not in self._confirmed:
            why = self._unconfirmed or "it was not asked about, because the program does not name it"
            raise ToolRefusedError(
                f"{tool.name!r} destroys something and was not confirmed by the person: {why}. It was not called."
            )
