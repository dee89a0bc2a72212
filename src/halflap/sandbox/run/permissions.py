"""What a program may call, beyond the policy that holds for every call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.core.errors import SandboxError, ToolRefusedError
from halflap.sandbox.sandbox import MAX_DEPTH

if TYPE_CHECKING:
    from halflap.calls import Policy
    from halflap.config import ExecutionConfig
    from halflap.core.values import CallContext, Tool

__all__ = ["Permissions", "check_depth"]


def check_depth(context: CallContext) -> None:
    """Raise if a script or DSPy program would be nested too deeply."""
    if context.depth > MAX_DEPTH:
        raise SandboxError(
            f"It was not run: scripts and DSPy programs can call each other {MAX_DEPTH} deep, and this one would be "
            "one more. Do they call each other in a circle?",
            code="scripts-too-deep",
        )


class Permissions:
    """A `CallContext.rule`: raises `ToolRefusedError` for tools that a program, or its caller, may not call."""

    def __init__(self, policy: Policy, config: ExecutionConfig, context: CallContext) -> None:
        self._policy = policy
        self._config = config
        self._context = context

    def __call__(self, tool: Tool) -> None:
        context = self._context
        if context.rule is not None:
            context.rule(tool)
        if (reason := self._policy.kept_out_of_programs(tool)) is not None:
            raise ToolRefusedError(f"{tool.name!r} {reason}")
        needs_confirmation = self._config.confirm_destructive and self._policy.is_destructive(tool)
        if needs_confirmation and tool.name not in context.confirmations:
            reason = context.unconfirmed or "it was not asked about, because the program does not name it"
            raise ToolRefusedError(
                f"{tool.name!r} destroys something and was not confirmed by the person: {reason}. It was not called."
            )
