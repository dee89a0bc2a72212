"""What an answer promises about a run, and what is refused, if the store does not work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cli.program import configure, halflap
from faults.test_recording import make_unwritable
from sandbox.desk import Desk

if TYPE_CHECKING:
    from pathlib import Path

CUT = "print('x' * 100)"
SHORT: dict[str, Any] = {"servers": [], "execution": {"max_output_bytes": 10}}


def last_line(desk: Desk) -> tuple[str, str]:
    execution = desk.run(CUT)
    return execution.run, execution.text.splitlines()[-1]


def test_a_cut_answer_names_the_command_only_if_the_store_has_the_run(tmp_path: Path) -> None:
    with Desk(SHORT, tmp_path) as desk:
        run, told = last_line(desk)
        assert f"halflap runs show {run} --output" in told


@pytest.mark.slow
def test_in_memory_a_cut_answer_names_what_is_there_and_until_when(tmp_path: Path) -> None:
    (tmp_path / "halflap.db").mkdir()
    with Desk(SHORT, tmp_path) as desk:
        run, told = last_line(desk)
        assert "halflap runs show" not in told
        assert f"halflap://runs/{run}/output" in told
        kept, _ = desk.do(desk.gateway.run(run))
        assert kept.output == "x" * 100 + "\n"


def test_a_store_that_gives_out_is_not_said_to_have_the_rest(tmp_path: Path) -> None:
    with Desk(SHORT, tmp_path) as desk:
        desk.do(make_unwritable(desk.gateway))
        run, told = last_line(desk)
        assert run not in told


def test_a_damaged_store_is_refused_untouched_with_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "data" / "halflap.db"
    file.parent.mkdir()
    damaged = bytes(range(256)) * 40
    file.write_bytes(damaged)
    (tmp_path / "it.py").write_text("print('ran')")
    done = halflap("run", "-c", configure(tmp_path), str(tmp_path / "it.py"), home=tmp_path)
    assert (done.code, done.out) == (1, "")
    assert any(line.startswith("Error [store-broken]") for line in done.err.splitlines())
    assert file.read_bytes() == damaged
