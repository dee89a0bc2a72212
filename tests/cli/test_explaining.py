from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from halflap.cli.app import run
from halflap.codes import CODES
from halflap.gateway.findings import ABOUT

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


def test_a_code_is_explained_without_what_only_a_page_needs(halflap: Run) -> None:
    code, out, err = halflap("explain", "[Usage]")
    assert (code, err) == (0, "")
    assert out.startswith("usage\n\nWhat was asked for makes no sense")
    assert "\nCause. " in out
    assert "\nFix. " in out
    assert "](" not in out


def test_all_codes_are_listed_each_on_a_line(halflap: Run) -> None:
    _, out, _ = halflap("explain")
    assert sorted(line.split()[0] for line in out.splitlines()) == sorted([*CODES, *ABOUT])
    _, out, _ = halflap("explain", "--json")
    assert sorted(one["code"] for one in json.loads(out)) == sorted([*CODES, *ABOUT])


def test_what_doctor_finds_is_explained_too(halflap: Run) -> None:
    code, out, _ = halflap("explain", "not-reached")
    assert code == 0
    assert out.startswith("not-reached\n\nIts `url` cannot be reached")
    assert "Fix. Check the address" in out


def test_a_code_that_there_is_not_is_a_mistake_with_the_one_that_was_meant(halflap: Run) -> None:
    code, out, err = halflap("explain", "tool-not-fond")
    assert (code, out) == (2, "")
    assert err == (
        "Error [usage]: There is no code 'tool-not-fond'. Did you mean tool-not-found? "
        "`halflap explain` lists them all.\n"
    )


@pytest.mark.parametrize("arguments", [["lst"], ["explain", "--nope"], ["call"]])
def test_a_mistake_that_the_library_finds_has_the_code_too(halflap: Run, arguments: list[str]) -> None:
    code, out, err = halflap(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("Usage: ")
    assert "\nError [usage]: " in err
