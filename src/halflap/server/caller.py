"""Who calls one of our tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflap.core.values import CallContext
from halflap.server.bearer import PRINCIPAL
from halflap.server.confirmation import Word

if TYPE_CHECKING:
    from collections.abc import Sequence

    import mcp_types as types
    from mcp.server import ServerRequestContext

    from halflap.core.values import Tool
    from halflap.server.confirmation import Confirmations, Question

__all__ = ["Caller", "principal_of"]


def principal_of(context: ServerRequestContext[Any, Any]) -> str:
    """Say who it is: the one user of a pipe, or whose token the guard has found."""
    scope = getattr(context.request, "scope", None)
    return "local" if scope is None else str(scope[PRINCIPAL])


@dataclass(frozen=True, slots=True)
class Caller:
    """The client behind one call of one of our tools."""

    context: ServerRequestContext[Any, Any]
    params: types.CallToolRequestParams
    confirmations: Confirmations

    def on_behalf(self, word: Word) -> CallContext:
        """Give what goes along with every call made on its behalf."""
        return CallContext(
            principal=principal_of(self.context),
            confirmations=word.confirmed,
            unconfirmed=word.unconfirmed,
            progress=self.context.session.report_progress,
        )

    async def confirm(self, tools: Sequence[Tool], code: str, *, saved: str = "") -> Word | Question:
        """Ask the person whether a program may call these tools; `saved` is its name, if it is a DSPy program."""
        if not tools:
            return Word()
        return await self.confirmations.ask(self.context, self.params, tools, code, saved)
