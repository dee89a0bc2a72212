"""`halflap explain`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from halflap.cli.app import run
from halflap.core.codes import CODES
from halflap.gateway.findings import rules

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def halflap(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def called(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["halflap", *arguments])
        with pytest.raises(SystemExit) as ended:
            run()
        said = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, said.out, said.err

    return called


@pytest.mark.parametrize("code", ["[Usage]", "not-reached"])
def test_a_code_is_explained_in_plain_text(halflap: Run, code: str) -> None:
    status, out, err = halflap("explain", code)
    assert (status, err) == (0, "")
    assert out.startswith(code.strip("[]").lower() + "\n")
    assert "](" not in out


def test_all_codes_are_listed(halflap: Run) -> None:
    _, out, _ = halflap("explain")
    assert sorted(line.split()[0] for line in out.splitlines()) == sorted([*CODES, *rules()])
    _, out, _ = halflap("explain", "--json")
    assert sorted(one["code"] for one in json.loads(out)) == sorted([*CODES, *rules()])


def test_an_unknown_code_gets_a_suggestion(halflap: Run) -> None:
    code, out, err = halflap("explain", "tool-not-fond")
    assert (code, out) == (2, "")
    assert "tool-not-found" in err
