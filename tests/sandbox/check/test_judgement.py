"""What the check takes for a mistake, what for a doubt, and what for fine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from halflap.catalog import Snapshot
from halflap.core.values import Tool
from halflap.sandbox.check.inside.answer import Place
from halflap.sandbox.check.inside.examine import examine
from halflap.sandbox.check.inside.ty import Diagnostic
from sandbox.check.checkup import TOOLS, Checkup
from sandbox.check.room import question

if TYPE_CHECKING:
    from collections.abc import Iterator

MISTAKES = Path(__file__).with_name("mistakes.txt")
FINE = Path(__file__).with_name("fine.txt").read_text().split("---\n")[1:]
ORDERS = "r = await mcp__shop__orders(customer_id='a')\n"
CLOSED = "r = await mcp__shop__closed()\n"


@pytest.fixture(scope="module")
def checkup() -> Iterator[Checkup]:
    with Checkup(*TOOLS) as opened:
        yield opened


def refused(checkup: Checkup, code: str) -> list[str]:
    checked = checkup.check(code)
    assert checked.skipped is None
    return [str(one) for one in checked.mistakes]


@pytest.mark.parametrize("first", range(0, len(FINE), 8))
def test_correct_programs_one_after_the_other_are_not_refused(checkup: Checkup, first: int) -> None:
    assert refused(checkup, "\n".join(FINE[first : first + 8])) == []


def sections() -> dict[str, list[tuple[str, str, str]]]:
    """Read the mistakes: by section, the code, the rule and a part of what is said."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for section in MISTAKES.read_text().split("\n== ")[1:]:
        name, *pieces = section.split("\n#= ")
        for piece in pieces:
            heading, _, code = piece.partition("\n")
            rule, said = heading.split(" | ")
            found.setdefault(name, []).append((code, rule, said))
    return found


@pytest.mark.parametrize("section", sections())
def test_certain_mistakes_are_all_found_each_in_its_lines(checkup: Checkup, section: str) -> None:
    listed = sections()[section]
    found = checkup.check("\n".join(code for code, _, _ in listed)).mistakes
    wrong = []
    line = 1
    for code, rule, said in listed:
        after = line + code.count("\n") + 1
        here = [one for one in found if line <= one.line < after]
        if {one.rule for one in here} != {rule} or not any(said in str(one) for one in here):
            wrong.append((code, rule, [str(one) for one in here]))
        line = after
    assert wrong == []


def test_a_finding_says_where_what_is_wrong_and_what_may_be_right(checkup: Checkup) -> None:
    checked = checkup.check(f"# a comment\n{ORDERS}for ö in r['orders']:\n    print('ü', ö['totl'], 'x')")
    (found,) = checked.mistakes
    assert (found.line, found.column, found.end_column, found.code) == (4, 18, 24, "check-unknown-key")
    assert "'totl'" in found.wrong
    assert "'total'" in found.right
    assert f"{found.source}\n{' ' * 17}^^^^^^\n" in str(found)


def test_what_is_not_certain_is_a_doubt(checkup: Checkup) -> None:
    code = (
        "s = await mcp__shop__summary(year=1)\nprint(s['zebra'])\n"
        f"{CLOSED}print(r['owner']['id'])\n"
        "print(undefined_name)\n"
        "print(r['name'] + 1)\n"
        "await mcp__late__orders(customer_id='a')\n"
        "await call_tool(None)"
    )
    checked = checkup.check(code)
    assert list(checked.mistakes) == []
    assert sorted({one.line for one in checked.doubts}) == [2, 4, 5, 6, 7, 8]


def test_a_line_that_is_overridden_is_left_alone(checkup: Checkup) -> None:
    code = (
        f"{CLOSED}print(r['zebra'])  # type: ignore\n"
        "await mcp__shop__orders(customer_id=3)  # type: ignore[arg-type]\n"
        "mcp__shop__closed()  # nothing is meant to happen  # type: ignore\n"
        "await mcp__shop__nothing_like_it()  # ty: ignore\n"
        "await mcp__shop__orders(\n    customer_id=3,  # type: ignore\n)"
    )
    assert list(checkup.check(code).mistakes) == []
    assert checkup.check(f"# type: ignore\n{CLOSED}print(r['zebra'])").mistakes


def test_of_a_declaration_that_was_broken_nothing_is_certain() -> None:
    with Checkup(*TOOLS) as checkup:
        code = f"{CLOSED}print(r['zebra'])"
        assert checkup.check(code).mistakes
        checkup.breached.add("mcp__shop__closed")
        checked = checkup.check(code)
        assert not checked.mistakes
        assert "'zebra'" in str(checked.doubts[0])


def test_a_rule_that_does_not_exist_yet_is_a_doubt() -> None:
    report = [Diagnostic("a-new-rule", Place(2, 1, 2, 2), "said otherwise")]
    found = examine(question(f"{CLOSED}x: int = 'a'"), lambda *_: report).findings
    assert [(one.rule, one.certain) for _, one in found] == [("a-new-rule", False)]


def test_the_same_program_is_examined_once(checkup: Checkup, monkeypatch: pytest.MonkeyPatch) -> None:
    first = checkup.check(f"{CLOSED}print(r['name'], 'once')")
    monkeypatch.setattr(checkup.checker.examiner, "examine", None)
    assert checkup.check(f"{CLOSED}print(r['name'], 'once')") is first


def test_a_tool_that_is_not_there_is_looked_for_again_when_its_server_has_come() -> None:
    with Checkup(*TOOLS) as checkup:
        code = "await mcp__late__orders(customer_id='a')"
        assert checkup.check(code).ok
        other = Tool("mcp__late__other", "late", "other", "", {"type": "object"})
        checkup.snapshot = Snapshot(tools={one.name: one for one in (*TOOLS, other)})
        assert [one.rule for one in checkup.check(code).mistakes] == ["unknown-tool"]
