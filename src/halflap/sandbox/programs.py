"""Programs over the tools of a gateway: which need the person's confirmation, and running them, a few at a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from halflap.core.errors import SandboxError, UsageError
from halflap.sandbox.functions import names_in
from halflap.sandbox.run.run import Permissions, Run, blocking_mistakes, check_depth
from halflap.sandbox.sandbox import MAX_DEPTH, Readiness
from halflap.sandbox.turns import Turns

if TYPE_CHECKING:
    from halflap.core.values import CallContext, Tool
    from halflap.sandbox.check.finding import Checked
    from halflap.sandbox.run.host import Services
    from halflap.sandbox.run.report import Execution

_MAX_CODE_BYTES = 1_048_576
_FENCED = re.compile(r"(\s*```\w*[ \t]*\n)(.*?)```\s*", re.DOTALL)


class Programs:
    """Runs programs, a limited number at a time."""

    def __init__(self, services: Services, code_of: Callable[[str], str | None] = lambda _: None) -> None:
        """Create it; `code_of` returns a script's code, or for a DSPy program the tools it may call."""
        self._services = services
        self._config = services.config
        self._code_of = code_of
        # Places for each depth: a run waits only for deeper ones, so runs never wait for each other in a circle.
        self._turns = [Turns(self._config.max_programs, "program") for _ in range(MAX_DEPTH + 1)]

    async def ready(self) -> Readiness:
        """Return where programs run and which layers confine them, or why none can run."""
        return await self._services.sandbox.ready()

    async def check_ready(self) -> Readiness:
        """Return which layers confine the process that checks programs, or why none are checked."""
        if self._config.check == "off":
            return Readiness("ty", trouble="`execution.check` is off")
        return await self._services.checker.ready()

    async def check(self, code: str, principal: str = "local") -> Checked:
        """Check a program, whatever is configured; nothing is run."""
        return await self._services.checker.check(_unwrap(code), principal)

    async def destructive(self, code: str, principal: str = "local") -> tuple[Tool, ...]:
        """Return the tools that a program may call only after the person confirmed it."""
        if not self._config.confirm_destructive:
            return ()
        if self._config.check == "on" and blocking_mistakes(await self.check(code, principal)):
            # It will not run.
            return ()
        return await self.destructive_within(code, principal)

    async def destructive_within(self, code: str, principal: str = "local") -> tuple[Tool, ...]:
        """Return the destructive tools that a text names, directly or through scripts and DSPy programs."""
        if not self._config.confirm_destructive:
            return ()
        await self._services.ensure_listed()
        tools = self._services.snapshot(principal).tools
        named: set[str] = set()
        unread = [code]
        while unread:
            new = (names_in(unread.pop()) & tools.keys()) - named
            named |= new
            unread += [inner for name in new if (inner := self._code_of(name)) is not None]
        policy = self._services.policy
        return tuple(tools[name] for name in sorted(named) if policy.is_destructive(tools[name]))

    def under_rules(self, context: CallContext) -> CallContext:
        """Return a context for calls outside of a program that are subject to the same rules."""
        return replace(context, rule=Permissions(self._services.policy, self._config, context))

    async def execute(
        self,
        code: str,
        context: CallContext,
        *,
        kind: str = "program",
        name: str | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> Execution:
        """Run a program, or a script whose `main` takes arguments. Its own failure is an answer, not an exception."""
        code = _unwrap(code)
        if len(code.encode(errors="replace")) > _MAX_CODE_BYTES:
            raise UsageError(
                f"The program is larger than {_MAX_CODE_BYTES:,} bytes. Fetch its data with tool calls instead."
            )
        readiness = await self.ready()
        if readiness.trouble is not None:
            raise SandboxError(f"Code execution is off: {readiness.trouble}.")
        check_depth(context)
        # A program that was called by another waits as long as that one may.
        patience = None if context.depth else self._config.max_wait_seconds
        policy = self._services.policy
        profile = policy.profile_of(context.principal)
        most = None if profile is None else profile.max_programs
        services = replace(self._services, config=policy.limits_of(context.principal))
        async with self._turns[context.depth].turn(context.principal, patience, most):
            return await Run(services, code, context, kind=kind, name=name, arguments=arguments).execute()

    async def close(self) -> None:
        """End every program."""
        await self._services.checker.close()
        await self._services.sandbox.close()


def _unwrap(code: str) -> str:
    """Remove a byte order mark and the fence of a Markdown block; lines keep their numbers."""
    code = code.removeprefix("\ufeff")
    fenced = _FENCED.fullmatch(code)
    return code if fenced is None else "\n" * fenced[1].count("\n") + fenced[2]
