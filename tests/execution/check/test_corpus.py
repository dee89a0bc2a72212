from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from execution.check.world import Program, missing_servers, programs
from support import THOROUGH, some

if TYPE_CHECKING:
    from execution.desk import Desk
    from halflap.execution import Execution

KINDS = {
    "bundled": {"sales", "financial_data", "doc_retrieval"},
    "real": {"everything", "files", "memory", "time", "git"},
    "rich": {"helpdesk"},
}


@pytest.fixture(scope="module")
def ran() -> dict[str, Execution]:
    """Keep what was run, by the program's name: each is run once."""
    return {}


@pytest.mark.parametrize("program", some(programs(), every=6), ids=lambda program: program.name)
def test_every_program_of_the_corpus_runs_to_its_end(
    world: Desk, ran: dict[str, Execution], program: Program
) -> None:
    missing = program.servers & missing_servers()
    if missing:
        pytest.skip(f"needs npm's {', '.join(sorted(missing))}; `make test` installs it where npm is there")
    execution = ran[program.name] = world.run(program.code)
    assert execution.ok, execution.text
    assert execution.output.strip()
    assert "never awaited" not in execution.output


def test_no_server_breaks_what_it_declares(world: Desk, ran: dict[str, Execution]) -> None:
    for program in programs() if THOROUGH else programs()[::6]:
        if not program.servers & missing_servers():
            execution = ran.get(program.name) or world.run(program.code)
            _, calls = world.do(world.gateway.run(execution.run))
            assert calls
            assert [call.breach for call in calls if call.breach] == []


def test_the_corpus_is_spread_over_servers_of_all_kinds() -> None:
    uses = Counter(kind for program in programs() for kind, names in KINDS.items() if program.servers & names)
    assert len(programs()) >= 90
    assert uses["bundled"] >= 20
    assert uses["real"] >= 25
    assert uses["rich"] >= 35
