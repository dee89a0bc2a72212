"""Which sandbox is taken, and that none is ever plain exec."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from halflap.config import ExecutionConfig
from halflap.core.errors import SandboxError
from halflap.sandbox.choose import Sandbox, choose
from halflap.sandbox.jail.jail import Jail
from halflap.sandbox.sandbox import Readiness
from sandboxing import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

BROKEN = "the kernel has no seccomp"


async def tried(sandbox: Sandbox) -> tuple[Readiness, str]:
    """Return the readiness, and what a program printed or why it was refused."""
    stage = Stage()
    readiness = await sandbox.ready()
    try:
        await stage.play(sandbox, "import sys\nprint('Monty' in sys.version)")
    except SandboxError as error:
        return readiness, str(error)
    finally:
        await sandbox.close()
    return readiness, stage.text


@pytest.fixture
def no_jail(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose kernel lacks what the jail needs."""

    async def trouble(_: Jail) -> Readiness:
        return Readiness("jail", trouble=BROKEN)

    monkeypatch.setattr(Jail, "start", trouble)


@pytest.mark.usefixtures("no_jail")
def test_monty_replaces_a_jail_that_does_not_work_and_the_reason_is_reported(run: Run) -> None:
    pytest.importorskip("pydantic_monty", reason="monty is not installed: pip install 'halflap[monty]'")
    readiness, printed = run(tried(choose(ExecutionConfig(), platform="linux")))
    assert (readiness.name, readiness.trouble, printed) == ("monty", None, "True\n")
    assert readiness.missing["jail"] == BROKEN
    assert readiness.notes


@pytest.mark.usefixtures("no_jail")
@pytest.mark.parametrize("sandbox", ["jail", "hardened", "auto", "off"])
def test_without_a_sandbox_that_works_no_program_runs(
    run: Run, sandbox: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_monty", None)
    readiness, refusal = run(tried(choose(ExecutionConfig(sandbox=sandbox), platform="linux")))
    assert readiness.trouble == refusal
    assert sandbox == "off" or BROKEN in refusal
    assert ("halflap[monty]" in refusal) == (sandbox == "auto")
