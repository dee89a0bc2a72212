"""`halflap workflow`: workflows looked at, compared, scored, optimised, drawn, imported and exported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from halflap.cli.app import app
from halflap.cli.net_text import footprint_lines
from halflap.workflows.footprint import footprint
from halflap.workflows.form import read_net
from halflap.workflows.published import example_nets
from halflap.workflows.study import Study

ORDER = example_nets()["order"]
YAWL = Path(__file__).parents[3] / "shared" / "data" / "yawl"
DEADLOCK = {
    "id": "stuck",
    "input": "i",
    "output": "o",
    "tasks": [
        {"id": "a", "split": "xor"},
        {"id": "b"},
        {"id": "c"},
        {"id": "d", "join": "and"},
    ],
    "flows": [
        {"from": one, "to": other}
        for one, other in [("i", "a"), ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "o")]
    ],
}


def called(*arguments: str, stdin: str = "") -> Any:
    return CliRunner().invoke(app, ["workflow", *arguments], input=stdin)


def chain(*tasks: str) -> dict[str, Any]:
    ends = zip(("i", *tasks), (*tasks, "o"), strict=True)
    return {
        "id": "chain",
        "input": "i",
        "output": "o",
        "tasks": [{"id": task, "duration": 10, "reads": [], "writes": []} for task in tasks],
        "flows": [{"from": one, "to": other} for one, other in ends],
    }


@pytest.fixture
def order(tmp_path: Path) -> str:
    return saved(tmp_path, "order.json", ORDER)


def saved(folder: Path, name: str, value: Any) -> str:
    (folder / name).write_text(json.dumps(value))
    return str(folder / name)


def test_a_sound_workflow_is_shown_with_its_footprint(order: str) -> None:
    found = called("validate", order)
    assert found.exit_code == 0
    assert found.stdout.splitlines() == [
        "order: 6 tasks, 9 flows",
        "It is sound: it is made of blocks.",
        "begins with receive; ends with refuse, ship",
        "",
        "                1   2   3   4   5",
        "1 check_credit  #   ||  ←   →   →",
        "2 check_stock   ||  #   ←   →   →",
        "3 receive       →   →   #   #   #",
        "4 refuse        ←   ←   #   #   #",
        "5 ship          ←   ←   #   #   #",
        "",
        "→ is directly followed by, ← follows directly, || both, # neither",
    ]


def test_the_same_as_json_has_the_matrix() -> None:
    found = called("validate", "-", "--json", stdin=json.dumps(ORDER))
    told = json.loads(found.stdout)
    assert (found.exit_code, told["sound"], told["blocks"], told["conclusive"]) == (0, True, True, True)
    at = told["activities"].index
    assert told["footprint"][at("receive")][at("check_stock")] == "→"


def test_a_deadlock_is_told_with_what_leads_to_it_and_the_exit_code_is_1(tmp_path: Path) -> None:
    found = called("validate", saved(tmp_path, "stuck.json", DEADLOCK))
    assert found.exit_code == 1
    assert (
        "It is not sound.\n  [option_to_complete] Nothing can happen any more: 'd' waits for" in found.stdout
    )
    assert "    shown by: a, b\n" in found.stdout


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_score_of_what_is_not_sound_is_told_and_the_exit_code_is_1(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    found = called("score", saved(tmp_path, "stuck.json", DEADLOCK), *options)
    assert (found.exit_code, "total" in found.stdout) == (1, True)


def test_a_label_with_a_line_break_is_escaped_and_not_cut() -> None:
    lines = list(footprint_lines(footprint(Study(read_net(chain("one\nand more", "\x1b[31mred")))), 200))
    text = "\n".join(lines)
    assert "one\\nand more" in text
    assert "\\u001b[31mred" in text


def test_what_is_no_workflow_is_told_with_all_that_is_wrong_and_the_exit_code_is_2(tmp_path: Path) -> None:
    wrong = {**ORDER, "input": 3, "colour": "red"}
    found = called("validate", saved(tmp_path, "wrong.json", wrong), "--json")
    told = json.loads(found.stdout)
    assert (found.exit_code, told["code"]) == (2, "workflow")
    assert {one["path"] for one in told["problems"]} >= {"input", "colour"}
    assert str(tmp_path / "wrong.json") in told["message"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "It is empty."),
        ("{", "It is neither JSON nor XML"),
        ("<a", "line 1"),
        ("<!DOCTYPE a []><a/>", "DOCTYPE"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_what_cannot_be_read_is_told(text: str, said: str) -> None:
    found = called("validate", "-", stdin=text)
    assert (found.exit_code, said in found.stderr) == (2, True), found.stderr


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    found = called("score", str(tmp_path / "none.json"))
    assert (found.exit_code, "none.json cannot be read: No such file" in found.stderr) == (2, True)


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_a_matrix_stays_within_a_terminal(columns: int) -> None:
    names = [f"activity number {at} with a long name" for at in range(25)]
    lines = list(footprint_lines(footprint(Study(read_net(chain(*names)))), columns))
    drawn = [line for line in lines if line[:2].strip().isdigit()]
    # Its last column, in the part that it is in: only the last but one is directly before it.
    assert max(map(len, drawn)) <= columns
    assert len(drawn) % 25 == 0
    assert sum(line.count("→") for line in drawn) == 24


def test_names_that_do_not_fit_beside_a_matrix_stand_in_full_above_it() -> None:
    names = [f"a rather long label number t{at}" for at in range(28)]
    lines = list(footprint_lines(footprint(Study(read_net(chain(*names)))), 40))
    # In the order of the matrix, which is that of the names.
    legend = [f"{at:>2} {name}" for at, name in enumerate(sorted(names), 1)]
    assert lines[2:30] == legend
    first = lines[31:60]
    assert first[0].split()[:3] == ["1", "2", "3"]
    # By name, t10 is the third and t11 the fourth.
    assert first[3].split()[:5] == ["3", "#", "#", "#", "→"]
    short = list(footprint_lines(footprint(Study(read_net(chain("one", "two")))), 40))
    assert "1 one  #   →" in short


def test_where_a_matrix_would_not_be_readable_it_is_a_list() -> None:
    narrow = list(footprint_lines(footprint(Study(read_net(chain("a", "b", "c")))), 30))
    assert narrow[1:] == [
        "",
        "a",
        "  → b",
        "",
        "b",
        "  → c",
        "  ← a",
        "",
        "c",
        "  ← b",
        "",
        "→ is directly followed by, ← follows directly, || both; all others: neither",
    ]
    many = list(footprint_lines(footprint(Study(read_net(chain(*(f"t{at:03}" for at in range(200)))))), 200))
    assert "t100" in many
    assert "  → t101" in many


def test_two_workflows_are_compared_and_the_exit_code_says_whether_one_may_stand_for_the_other(
    tmp_path: Path,
) -> None:
    one, other = saved(tmp_path, "a.json", chain("a", "b")), saved(tmp_path, "b.json", chain("b", "a"))
    assert called("compare", one, one, "--mode", "strict").exit_code == 0
    found = called("compare", one, other, "--mode", "strict")
    assert found.exit_code == 1
    assert found.stdout.startswith("Not passed (strict).\n")
    assert "The traces are not the same.\n  only the " in found.stdout
    assert "  a, b: → became ←\n" in found.stdout
    told = json.loads(called("compare", one, "-", "--json", stdin=json.dumps(chain("a", "b"))).stdout)
    assert told["validation_passed"]
    both = called("compare", "-", "-")
    assert (both.exit_code, "Only one of the two" in both.stderr) == (2, True)


def test_a_workflow_is_scored(order: str) -> None:
    found = called(
        "score", order, "--pattern", "choice", "--weight", "performance=1", "--weight", "compliance=0"
    )
    assert found.exit_code == 0
    assert "  performance  1  (weight 0.77)\n    critical_path  64.1\n" in found.stdout
    assert "  pattern choice  1\n" in found.stdout
    told = json.loads(called("score", order, "--json").stdout)
    assert set(told["dimension_scores"]) == {"performance", "maintainability", "compliance"}


def test_a_rule_that_is_broken_is_shown_with_the_case_that_breaks_it() -> None:
    rules = [{"kind": "precedence", "first": "b", "then": "a"}, {"kind": "required", "task": "a"}]
    found = called("score", "-", stdin=json.dumps({**chain("a", "b"), "rules": rules}))
    assert (
        "    precedence b, a: does not hold\n"
        "      It does not hold that there is 'b' before any 'a'.\n"
        "      shown by: a, b\n"
        "    required a: holds\n" in found.stdout
    )


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--weight", "performance", "not of the form NAME=NUMBER"),
        ("--weight", "speed=1", "There is no weight 'speed'"),
        ("--pattern", "spiral", "There is no pattern 'spiral'"),
    ],
)
def test_what_cannot_be_scored_by_is_told(order: str, option: str, value: str, said: str) -> None:
    found = called("score", order, option, value)
    assert (found.exit_code, said in found.stderr) == (2, True)


def test_a_better_workflow_is_written_and_what_was_done_is_told_beside(tmp_path: Path) -> None:
    slow, fast = saved(tmp_path, "slow.json", chain("a", "b")), tmp_path / "fast.json"
    found = called("optimize", slow, "--target", "performance", "--output", str(fast))
    assert (found.exit_code, found.stdout) == (0, "")
    assert "expected_makespan: 20 → 10\n" in found.stderr
    # The fastest was taken, so that the other is better in something else.
    assert "1 more is better in size; --json has it.\n" in found.stderr
    assert found.stderr.startswith("1. ")
    assert called("validate", str(fast)).exit_code == 0
    to_stdout = called("optimize", slow, "--target", "performance")
    assert json.loads(to_stdout.stdout) == json.loads(fast.read_text())
    told = json.loads(called("optimize", slow, "--target", "performance", "--json").stdout)
    assert told["optimized_workflow"] == json.loads(fast.read_text())


@pytest.mark.parametrize(
    ("options", "changes"),
    [
        (("--max-parallel", "1"), False),
        (("--keep-order", "a,b"), False),
        (("--keep-order", "all"), False),
        (("--fixed", "a", "--fixed", "b"), False),
        (("--engine", "beam", "--seed", "7"), True),
    ],
)
def test_what_an_optimisation_may_not_do_it_does_not(
    tmp_path: Path, options: tuple[str, ...], changes: bool
) -> None:
    slow = saved(tmp_path, "slow.json", chain("a", "b"))
    found = called("optimize", slow, "--target", "performance", "--json", *options)
    assert json.loads(found.stdout)["changed"] is changes


def test_a_task_that_there_is_not_cannot_be_fixed(order: str) -> None:
    found = called("optimize", order, "--fixed", "nothing")
    assert (found.exit_code, "constraints.fixed[0]: There is no task 'nothing'." in found.stderr) == (2, True)
    found = called("optimize", order, "--keep-order", "ship")
    assert (found.exit_code, "not of the form FIRST,THEN" in found.stderr) == (2, True)


def test_a_workflow_is_drawn_as_the_name_of_the_file_says(tmp_path: Path, order: str) -> None:
    assert called("render", order).stdout.startswith("flowchart LR\n")
    assert called("render", order, "--format", "svg").stdout.startswith("<svg")
    picture = tmp_path / "order.svg"
    assert called("render", order, "-o", str(picture)).exit_code == 0
    assert picture.read_text().startswith("<svg")
    nowhere = called("render", order, "-o", str(tmp_path / "none" / "x.svg"))
    assert (nowhere.exit_code, "cannot be written" in nowhere.stderr) == (2, True)


def test_no_picture_is_written_into_a_file_that_promises_another(tmp_path: Path, order: str) -> None:
    png = tmp_path / "x.png"
    found = called("render", order, "-o", str(png))
    assert (found.exit_code, png.exists()) == (2, False)
    assert "nothing is drawn as .png. Name it .svg, or .mmd or .mermaid for Mermaid" in found.stderr
    for name in ("x.mmd", "x.mermaid", "x"):
        assert called("render", order, "-o", str(tmp_path / name)).exit_code == 0
        assert (tmp_path / name).read_text().startswith("flowchart LR")
    assert called("render", order, "-f", "svg", "-o", str(tmp_path / "x.html")).exit_code == 0
    assert (tmp_path / "x.html").read_text().startswith("<svg")


def test_what_is_exported_is_imported_as_the_same(tmp_path: Path, order: str) -> None:
    xml = tmp_path / "order.yawl"
    assert called("export", order, "-o", str(xml)).exit_code == 0
    back = json.loads(called("import", str(xml)).stdout)
    (net,) = map(read_net, back.get("nets", [back]))
    assert (net.tasks, net.rules, net.label) == (read_net(ORDER).tasks, read_net(ORDER).rules, "An order")
    assert len(net.flows) == len(ORDER["flows"])
    assert called("compare", order, str(xml), "--mode", "strict").exit_code == 0


@pytest.mark.skipif(not YAWL.is_dir(), reason="the shared data is not there")
def test_what_the_form_has_no_place_for_is_named_and_comes_back() -> None:
    file = YAWL / "makeTrip2.xml"
    found = called("import", str(file))
    assert "Note: Kept, and not part of the model: " in found.stderr
    again = called("export", "-", stdin=found.stdout)
    assert called("import", "-", stdin=again.stdout).stdout == found.stdout
    nets = [one["id"] for one in json.loads(found.stdout)["nets"]]
    assert len(nets) > 1
    for one in nets:
        assert called("render", str(file), "--net", one).exit_code == 0
    missing = called("validate", str(file), "--net", "none")
    assert (missing.exit_code, "There is no net 'none'" in missing.stderr) == (2, True)


OR_SPLIT = {
    "id": "wide",
    "input": "i",
    "output": "o",
    "tasks": [{"id": "a", "split": "or"}, {"id": "b"}, {"id": "c"}, {"id": "d", "join": "and"}],
    "flows": DEADLOCK["flows"],
}


def test_or_gates_that_are_not_understood_are_told_with_the_file_and_their_place(tmp_path: Path) -> None:
    one = saved(tmp_path, "or.json", OR_SPLIT)
    two = saved(tmp_path, "nets.json", {"id": "s", "root": "wide", "nets": [ORDER, OR_SPLIT]})
    for command in ("validate", "score", "optimize"):
        found = called(command, one)
        assert found.exit_code == 2, command
        assert f"{one}: Or-gates are understood" in found.stderr
        assert "- tasks[0].split: The ways of the or-split of 'a'" in found.stderr
    assert "- nets[1].tasks[0].split: " in called("validate", two).stderr
    both = called("compare", one, two).stderr
    assert f"- {one}: tasks[0].split: " in both
    assert f"- {two}: nets[1].tasks[0].split: " in both
    xml = tmp_path / "or.yawl"
    assert called("export", one, "-o", str(xml)).exit_code == 0
    told = called("validate", str(xml)).stderr
    assert f"{xml}: Or-gates are understood" in told
    assert "- net 'wide', task 'a': The ways of the or-split of 'a'" in told
    assert "tasks[" not in told


@pytest.mark.parametrize("command", ["validate", "import"])
def test_utf_16_is_read_from_a_file_and_from_stdin(command: str, tmp_path: Path) -> None:
    xml = called("export", saved(tmp_path, "order.json", ORDER)).stdout
    for name, text in (("order.json", json.dumps(ORDER)), ("order.xml", xml)):
        (tmp_path / name).write_bytes(text.encode("utf-16"))
        assert called(command, str(tmp_path / name)).exit_code == 0
        piped = CliRunner().invoke(app, ["workflow", command, "-"], input=text.encode("utf-16"))
        assert piped.exit_code == 0, piped.stderr


def test_what_was_exported_is_imported_as_the_same_file(tmp_path: Path) -> None:
    told = {**ORDER, "notes": ["Ask Bob before changing this."]}
    xml = tmp_path / "order.xml"
    assert called("export", saved(tmp_path, "order.json", told), "-o", str(xml)).exit_code == 0
    back = json.loads(called("import", str(xml)).stdout)
    assert read_net(back) == read_net(told)
    assert back.keys() == told.keys()
