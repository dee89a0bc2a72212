"""Run programs, scripts and DSPy programs over the tools, and ask which of their calls need a confirmation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from halflap.core.values import DSPY, SCRIPTS, CallContext, Tool

if TYPE_CHECKING:
    from halflap.calls import Policy
    from halflap.catalog import Catalog
    from halflap.config import Config
    from halflap.dspy.programs import DspyPrograms
    from halflap.gateway.tools import Tools
    from halflap.sandbox.programs import Programs
    from halflap.scripts import Scripts

__all__ = ["Executor"]


@dataclass(frozen=True)
class Executor:
    """Prepares programs, and runs DSPy programs by name."""

    config: Config
    catalog: Catalog
    policy: Policy
    tools: Tools
    scripts: Scripts
    programs: Programs
    dspy: DspyPrograms

    async def programs_for(self, code: str) -> Programs:
        """Return what runs programs, once the scripts and DSPy programs that the code names are read again."""
        if f"{SCRIPTS}__" in code:
            await self.scripts.look()
        if f"{DSPY}__" in code and self.config.uses_programs:
            await self.dspy.look()
        return self.programs

    async def execute_dspy(
        self, name: str, inputs: Mapping[str, Any], context: CallContext | None = None
    ) -> dict[str, Any]:
        """Run a saved DSPy program; raises `ProgramError` if it is missing or fails, or inputs do not fit."""
        (await self.dspy.find(name)).check(inputs)
        context = self.under_rule(context or CallContext())
        if self.config.uses_programs:
            result = await self.tools.call(f"{DSPY}__{name}", inputs, context)
        else:
            # Without a model it is not among the tools; running it anyway gives the error that says what is missing.
            result = await self.dspy.call(name, inputs, context, repeatable=False, admit=_admit_all)
        return {**result.structured_content, "_metadata": (result.meta or {})["halflap"]["metadata"]}

    def under_rule(self, context: CallContext) -> CallContext:
        from halflap.sandbox.run.permissions import Permissions  # noqa: PLC0415 -- takes a while, see `build`

        return replace(context, rule=Permissions(self.policy, self.config.execution, context))

    async def dspy_needing_confirmation(self, name: str) -> tuple[Tool, ...]:
        await self.dspy.find(name)
        tool = f"{DSPY}__{name}"
        if self.dspy.code_of(tool):
            return await self.programs.destructive_within(tool)
        # It calls nothing, so no server has to be asked for its tools.
        itself = self.catalog.snapshot.tools.get(tool)
        if itself is None or not self.config.execution.confirm_destructive:
            return ()
        return (itself,) if self.policy.is_destructive(itself) else ()


async def _admit_all() -> None:
    pass
