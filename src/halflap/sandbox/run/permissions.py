"""What a program may call: checked for every call of its run, right before it is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from halflap.core.errors import ScriptsTooDeepError, ToolRefusedError
from halflap.core.values import OWN

if TYPE_CHECKING:
    from halflap.calls import Policy
    from halflap.config import ExecutionConfig
    from halflap.core.values import CallContext, Tool

__all__ = ["DEEPEST", "Permissions", "check_depth"]

DEEPEST: Final = 4
"""How deep scripts and DSPy programs can call each other."""


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
        # A script or DSPy program is judged by its own calls, which are checked here too.
        is_ours = tool.server in OWN and not self._policy.is_destructive(tool)
        if self._config.read_only and not (is_ours or self._policy.is_read_only(tool)):
            raise ToolRefusedError(
                f"{tool.name!r} is not known to be read-only, and with `execution.read_only` programs can call no "
                "other tools. The user can list it under `tools.read_only`."
            )
        needs_confirmation = self._config.confirm_destructive and self._policy.is_destructive(tool)
        if needs_confirmation and tool.name not in self._confirmed:
            why = self._unconfirmed or "it was not asked about, because the program does not name it"
            raise ToolRefusedError(
                f"{tool.name!r} destroys something and was not confirmed by the person: {why}. It was not called."
            )
