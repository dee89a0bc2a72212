"""What a program may call, whoever wrote it: the rule that is asked on the path of every call of its run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from halflap.core.errors import ScriptsTooDeepError, ToolRefusedError
from halflap.core.values import OWN

if TYPE_CHECKING:
    from halflap.calls import Policy
    from halflap.config import ExecutionConfig
    from halflap.core.values import CallContext, Tool

__all__ = ["DEEPEST", "Rule", "refuse_deeper"]

DEEPEST: Final = 4
"""So many scripts and DSPy programs can be within each other."""


def refuse_deeper(context: CallContext) -> None:
    """Refuse what would be one too many within each other."""
    if context.depth > DEEPEST:
        raise ScriptsTooDeepError(
            f"It was not run: scripts and DSPy programs can call each other {DEEPEST} deep, and this one would be "
            "one more. Do they call each other in a circle?"
        )


class Rule:
    """Refuses what a program may not call, in its own run and in all those around it."""

    def __init__(self, policy: Policy, config: ExecutionConfig, context: CallContext) -> None:
        self._policy = policy
        self._config = config
        self._outer = context.rule
        self._confirmed = context.confirmations
        self._unconfirmed = context.unconfirmed

    def __call__(self, tool: Tool) -> None:
        if self._outer is not None:
            self._outer(tool)
        # What is saved is judged by what it calls: each of its calls comes by here, too.
        harmless = tool.server in OWN and not self._policy.is_destructive(tool)
        if self._config.read_only and not (harmless or self._policy.is_read_only(tool)):
            raise ToolRefusedError(
                f"{tool.name!r} is not known to be read-only, and `execution.read_only` lets programs call no "
                "other tools. The user can list it under `tools.read_only`."
            )
        needs = self._config.confirm_destructive and self._policy.is_destructive(tool)
        if needs and tool.name not in self._confirmed:
            why = self._unconfirmed or "it was not asked about, because the program does not name it"
            raise ToolRefusedError(
                f"{tool.name!r} destroys something and was not confirmed by the person: {why}. It was not called."
            )
