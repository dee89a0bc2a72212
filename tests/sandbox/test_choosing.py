"""Which sandbox is taken, and that none is ever plain exec."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from halflap.config import ExecutionConfig
from halflap.core.errors import SandboxError
from halflap.sandbox.choose import Sandbox, choose
from halflap.sandbox.jail.jail import Jail
from halflap.sandbox.monty.monty import Monty
from halflap.sandbox.sandbox import Readiness
from sandboxing import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]


async def readiness(sandbox: Sandbox, stage: Stage | None = None) -> tuple[Readiness, str]:
    try:
        found = await sandbox.ready()
        if stage is not None:
            await stage.play(sandbox, "import sys\nprint('Monty' in sys.version)")
        return found, sandbox.name
    finally:
        await sandbox.close()


@pytest.fixture
def no_jail(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose kernel has not what the jail needs."""

    async def trouble(_: Jail) -> Readiness:
        return Readiness("jail", trouble="the kernel has no seccomp")

    monkeypatch.setattr(Jail, "start", trouble)


@pytest.fixture
def no_monty(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without the extra."""
    monkeypatch.setitem(sys.modules, "pydantic_monty", None)


@pytest.fixture
def monty() -> None:
    pytest.importorskip("pydantic_monty", reason="monty is not installed: pip install 'halflap[monty]'")


@pytest.mark.parametrize(
    ("sandbox", "platform", "kind"),
    [
        ("auto", "darwin", Monty),
        ("monty", "linux", Monty),
        ("hardened", "linux", Jail),
        ("jail", "darwin", Jail),
    ],
)
def test_what_is_named_is_taken_and_elsewhere_than_on_linux_monty(
    sandbox: Any, platform: str, kind: type
) -> None:
    chosen = choose(ExecutionConfig(sandbox=sandbox), platform=platform)
    assert [type(backend) for backend in chosen._backends] == [kind]


@pytest.mark.usefixtures("no_jail", "monty")
def test_where_the_jail_has_trouble_monty_is_taken_and_that_is_said(run: Run) -> None:
    stage = Stage()
    found, name = run(readiness(choose(ExecutionConfig(), platform="linux"), stage))
    assert (found.name, name, found.trouble) == ("monty", "monty", None)
    assert stage.text == "True\n"
    assert found.missing["jail"] == "the kernel has no seccomp"
    assert found.notes


@pytest.mark.usefixtures("no_jail", "no_monty")
def test_where_there_is_neither_code_execution_is_off_and_why(run: Run) -> None:
    sandbox = choose(ExecutionConfig(), platform="linux")
    found, _ = run(readiness(sandbox))
    assert found.trouble is not None
    assert "the kernel has no seccomp" in found.trouble
    assert "halflap[monty]" in found.trouble
    with pytest.raises(SandboxError):
        run(Stage().play(sandbox, "print(1)"))


@pytest.mark.usefixtures("no_jail", "monty")
@pytest.mark.parametrize("sandbox", ["jail", "hardened"])
def test_a_jail_that_was_asked_for_is_replaced_by_nothing(run: Run, sandbox: Any) -> None:
    found, _ = run(readiness(choose(ExecutionConfig(sandbox=sandbox), platform="linux")))
    assert (found.name, found.trouble) == ("jail", "the kernel has no seccomp")


def test_off_is_off(run: Run) -> None:
    sandbox = choose(ExecutionConfig(sandbox="off"))
    found, _ = run(readiness(sandbox))
    assert found.trouble is not None
    with pytest.raises(SandboxError):
        run(Stage().play(sandbox, "print(1)"))
