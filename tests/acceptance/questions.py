"""The requests that a client makes in one MCP session. The order matters: later ones use what earlier ones taught."""

from __future__ import annotations

import re
from typing import Any

Question = tuple[str, str, dict[str, Any]]


def chain(*tasks: str) -> dict[str, Any]:
    """Return a workflow that runs independent tasks in sequence."""
    return {
        "id": "chain",
        "input": "i",
        "output": "o",
        "tasks": [{"id": task, "duration": 10, "reads": [], "writes": []} for task in tasks],
        "flows": [{"from": one, "to": two} for one, two in zip(("i", *tasks), (*tasks, "o"), strict=True)],
    }


WAYS = range(14)
HARD: dict[str, Any] = {
    "id": "hard",
    "input": "i",
    "output": "o",
    "tasks": [
        {"id": "a", "split": "and"},
        *({"id": f"b{way}", "split": "and"} for way in WAYS),
        *({"id": f"c{way}", "join": "and" if way == 0 else "xor"} for way in WAYS),
        {"id": "z", "join": "and"},
    ],
    "flows": [
        {"from": one, "to": two}
        for one, two in [
            ("i", "a"),
            *(pair for way in WAYS for pair in [("a", f"b{way}"), (f"b{way}", f"c{way}"), (f"c{way}", "z")]),
            ("b1", "c0"),
            ("z", "o"),
        ]
    ],
}
"""Fourteen parallel branches, two of which are entangled: it has millions of states."""
LOAN = {"workflow_description": "Process loan application", "case_context": "Amount: $50000"}
ADD = "mcp__workshop__add"
CUSTOMER = "mcp__workshop__customer"
PROGRAMS = {
    "prints": f"print(await {ADD}(a=1, b=2))\nprint(await mcp__workshop__echo(text='hello'))",
    "prints nothing": "x = 1",
    "learns": f"for number in (1, 2, 3):\n    customer = await {CUSTOMER}(id=number)\nprint(sorted(customer))",
    "unknown key": "print((await mcp__workshop__count())['prts'])",
    "breaks a declaration": "print(await mcp__workshop__count())",
    "shows an image": "show(await mcp__workshop__image())",
    "prints too much": "print('x' * 2000)",
    "raises": "print('before')\n1 / 0",
    "tool fails": "print('before')\nawait mcp__workshop__fail()",
    "catches a failure": "try:\n    await mcp__workshop__fail()\nexcept ToolError as error:\n    print(error)",
    "calls too often": f"for number in range(101):\n    await {ADD}(a=number, b=1)",
    "wrong value at run time": "await call_tool('mcp__workshop__' + 'add', a='one', b=1)",
    "blocked tool": "await mcp__workshop__secret()",
    "unknown tool": "await mcp__workshop__ad(a=1, b=2)",
    "syntax error": "print(",
    "destroys, confirmed": "print(await mcp__workshop__erase(id=1))",
    "destroys, declined": "print(await mcp__workshop__erase(id=2))",
}
REQUESTS: dict[str, dict[str, Any]] = {
    "with the token": {},
    "without the token": {"Authorization": ""},
    "with a wrong token": {"Authorization": "Bearer wrong"},
    "from another site": {"Origin": "https://evil.example"},
    "for another host": {"Host": "evil.example"},
    "metrics": {"path": "/metrics", "method": "GET"},
    "metrics without the token": {"path": "/metrics", "method": "GET", "Authorization": ""},
    "another path": {"path": "/elsewhere"},
    "one server": {"path": "/servers/workshop/mcp"},
    "unknown server": {"path": "/servers/nowhere/mcp"},
    "too many values": {"parameters": {"capabilities": [0] * 200_000}},
}
METRIC = re.compile(r"^(halflap_\w+)", re.MULTILINE)
QUESTIONS: list[Question] = [
    ("list_callable_tools", "all", {}),
    ("list_callable_tools", "wrong arguments", {"server": "sales"}),
    ("search_tools", "by name", {"query": ADD, "limit": 1}),
    ("search_tools", "by words", {"query": "add two numbers", "limit": 1}),
    ("search_tools", "on one server", {"query": "echo", "server": "workshop", "limit": 1}),
    ("search_tools", "nothing found", {"query": "zyzzyva qwertz"}),
    ("search_tools", "empty query", {"query": " "}),
    ("search_tools", "unknown server", {"query": "echo", "server": "nowhere"}),
    ("search_tools", "wrong arguments", {"query": "echo", "limit": 0}),
    ("inspect_tool", "declared output", {"tool_name": "mcp__financial_data__query_financials"}),
    ("inspect_tool", "wrapped output", {"tool_name": ADD}),
    ("inspect_tool", "undeclared output", {"tool_name": "mcp__doc_retrieval__search_docs"}),
    ("inspect_tool", "not found", {"tool_name": "mcp__nonexistent__foo"}),
    ("inspect_tool", "blocked", {"tool_name": "mcp__workshop__secret"}),
    ("inspect_tool", "wrong arguments", {"name": ADD}),
    ("call_tool", "result", {"name": ADD, "arguments": {"a": 1, "b": 2}}),
    ("call_tool", "image", {"name": "mcp__workshop__image"}),
    ("call_tool", "tool fails", {"name": "mcp__workshop__fail"}),
    ("call_tool", "wrong value", {"name": ADD, "arguments": {"a": "one", "b": 2}}),
    ("call_tool", "blocked", {"name": "mcp__workshop__secret"}),
    ("call_tool", "not found", {"name": "mcp__workshop__ad"}),
    ("call_tool", "destroys, declined", {"name": "mcp__workshop__erase", "arguments": {"id": 2}}),
    ("call_tool", "wrong arguments", {"arguments": {}}),
    *(("execute_program", name, {"code": code}) for name, code in PROGRAMS.items()),
    ("execute_program", "wrong arguments", {"program": "print(1)"}),
    ("inspect_tool", "learned output", {"tool_name": CUSTOMER}),
    ("inspect_tool", "broken declaration", {"tool_name": "mcp__workshop__count"}),
    ("suggest_workflow", "wanted tool", {"want": "mcp__sales__order_history", "limit": 1}),
    ("suggest_workflow", "wanted field", {"want": "email", "have": {"customer_id": "CUST-001"}, "limit": 1}),
    ("suggest_workflow", "goal", {"goal": "orders of the best customers", "limit": 1}),
    ("suggest_workflow", "goal of a change", {"goal": "erase a customer", "limit": 1}),
    (
        "suggest_workflow",
        "wanted change",
        {"want": "mcp__workshop__erase", "have": {"id": 1}, "may_change": True},
    ),
    ("suggest_workflow", "values missing", {"want": "mcp__financial_data__query_financials", "limit": 1}),
    ("suggest_workflow", "unknown field", {"want": "zyzzyva"}),
    ("suggest_workflow", "nothing wanted", {}),
    ("suggest_workflow", "unknown tool", {"want": "mcp__sales__order_histroy"}),
    ("suggest_workflow", "blocked tool", {"want": "mcp__workshop__secret"}),
    ("suggest_workflow", "wrong arguments", {"want": "email", "limit": 11}),
    ("dspy_list_programs", "all", {}),
    ("dspy_list_programs", "needless arguments", {"name": "worklet_selector"}),
    ("dspy_get_program_info", "found", {"program": "worklet_selector"}),
    ("dspy_get_program_info", "not found", {"program": "unknown_program"}),
    ("dspy_get_program_info", "no program", {}),
    ("dspy_reload_program", "found", {"program": "worklet_selector"}),
    ("dspy_reload_program", "not found", {"program": "unknown_program"}),
    ("dspy_reload_program", "no program", {}),
    ("dspy_execute_program", "not found", {"program": "unknown_program", "inputs": LOAN}),
    ("dspy_execute_program", "no program", {"inputs": LOAN}),
    ("dspy_execute_program", "no inputs", {"program": "worklet_selector", "inputs": {}}),
    ("dspy_execute_program", "wrong inputs", {"program": "worklet_selector", "inputs": {"colour": "red"}}),
    ("dspy_execute_program", "no model", {"program": "worklet_selector", "inputs": LOAN}),
    (
        "gepa_optimize_workflow",
        "faster",
        {"workflow_spec": chain("a", "b"), "optimization_target": "performance"},
    ),
    (
        "gepa_validate_footprint",
        "another order",
        {
            "original_workflow": chain("a", "b"),
            "optimized_workflow": chain("b", "a"),
            "validation_mode": "strict",
        },
    ),
    (
        "gepa_validate_footprint",
        "the same",
        {"original_workflow": chain("a", "b"), "optimized_workflow": chain("a", "b")},
    ),
    ("gepa_optimize_workflow", "wrong workflow", {"workflow_spec": {**chain("a"), "tasks": []}}),
    (
        "gepa_validate_footprint",
        "wrong workflow",
        {
            "original_workflow": chain("a"),
            "optimized_workflow": {**chain("a"), "flows": [{"from": "i", "to": "x"}]},
        },
    ),
    (
        "gepa_score_workflow",
        "scored",
        {
            "workflow": chain("a", "b"),
            "reference_patterns": ["sequential"],
            "scoring_weights": {"performance": 1},
        },
    ),
    (
        "gepa_optimize_workflow",
        "wrong arguments",
        {"workflow_spec": chain("a"), "optimization_target": "beauty"},
    ),
    ("gepa_validate_footprint", "wrong arguments", {"original_workflow": chain("a")}),
    ("gepa_score_workflow", "wrong arguments", {"workflow": chain("a")}),
    (
        "gepa_score_workflow",
        "unknown pattern",
        {"workflow": chain("a"), "reference_patterns": ["spiral"], "scoring_weights": {"performance": 1}},
    ),
]
TOOLS = sorted({tool for tool, _, _ in QUESTIONS})
BRIEF: dict[str, set[str]] = {
    "list_callable_tools": {"all"},
    "call_tool": {"result", "tool fails", "destroys, declined"},
    "search_tools": {"unknown server"},
    "inspect_tool": {"declared output", "undeclared output", "not found"},
    "execute_program": {"prints", "shows an image", "raises", "destroys, confirmed", "destroys, declined"},
    "suggest_workflow": {"wanted tool", "nothing wanted"},
    "dspy_list_programs": {"all"},
    "dspy_get_program_info": {"found"},
    "dspy_execute_program": {"no inputs"},
    "gepa_validate_footprint": {"another order"},
}
"""The requests that the fast tests repeat over a second transport; the slow tests repeat all of them."""
