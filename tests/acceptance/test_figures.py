"""The product's quality in figures, measured from outside; `figures.toml` has the thresholds."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import tomllib
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from typer.testing import CliRunner

from acceptance import figures_check as check
from acceptance import figures_flows as flows
from acceptance import figures_learned as learned
from acceptance import figures_nets as nets
from acceptance import figures_probes as probes
from acceptance import figures_suggestions as suggestions
from acceptance.figures_gateway import Replay, cpu_seconds, opened
from halflap import HalflapError
from halflap.cli.app import app
from support import HALFLAP, skip_missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from halflap import Gateway

DISTRACTORS = 40
EVERY_PROGRAM, EVERY_MISTAKE, EVERY_TOOL, EVERY_TASK = 120, 240, 60, 16
KEYS_A_TOOL = 4
WANTED = 30
PAIRS = 3
ALL_PAIRS = 1_000
EXHAUSTIVE = [pytest.mark.slow, pytest.mark.timeout(3_000)]
TIGHT = {
    "sandbox": "jail", "check": "off", "cpu_seconds": 1, "max_memory_mb": 64, "timeout_seconds": 6,
    "max_kept_output_bytes": 1_000_000, "max_calls": 50,
}  # fmt: skip


class Figure(Protocol):
    def __call__(self, name: str, part: int, whole: int | None = None) -> None: ...


@cache
def _thresholds() -> dict[str, dict[str, Any]]:
    groups = tomllib.loads(Path(__file__).with_name("figures.toml").read_text())
    return {f"{group}.{name}": one for group, figures in groups.items() for name, one in figures.items()}


def _hold(name: str, part: int, whole: int | None = None) -> None:
    """Print a figure, which is a count or a share, and assert that it is no worse than its threshold."""
    threshold = _thresholds()[name]
    value = part if whole is None else part / whole
    shown = f"{part}" if whole is None else f"{value:.3f} ({part} of {whole})"
    bound = "at_least" if "at_least" in threshold else "at_most"
    wanted = threshold[bound]
    line = f"{name}: {shown}, {bound.replace('_', ' ')} {wanted}"
    print(f"figure: {line}")  # noqa: T201 -- `pytest -rP` shows it
    assert value >= wanted if bound == "at_least" else value <= wanted, f"{line}. {threshold['about']}"


@pytest.fixture
def figure() -> Iterator[Figure]:
    """Compare a measured figure with its threshold, and print the CPU time of the test at its end."""
    began = cpu_seconds()
    yield _hold
    print(f"figure: measured in {cpu_seconds() - began:.1f} s of CPU")  # noqa: T201 -- `pytest -rP` shows it


# Search ----------------------------------------------------------------------------------------------


def test_search_finds_the_tools_that_people_used(figure: Figure) -> None:
    async def measure() -> tuple[int, int, int]:
        by_question = by_steps = wanted = 0
        async with opened(suggestions.live_servers()) as gateway:
            originals = {tool.name: tool.original_name for tool in await gateway.tools()}

            async def found(query: str, limit: int) -> set[str]:
                return {originals[hit.name] for hit in await gateway.search(query, limit=limit)}

            for task in suggestions.live_tasks():
                used = set(task["tools"])
                wanted += len(used)
                by_question += len(used & await found(task["question"], 10))
                by_steps += len(used & set().union(*[await found(step, 5) for step in task["steps"]]))
        return by_question, by_steps, wanted

    by_question, by_steps, wanted = asyncio.run(measure())
    figure("search.question", by_question, wanted)
    figure("search.steps", by_steps, wanted)


# Flows -----------------------------------------------------------------------------------------------


def test_tools_between_which_values_really_went_are_linked(figure: Figure) -> None:
    real = flows.airline_flows()
    linked = asyncio.run(flows.airline_edges())
    figure("flows.airline_linked", len(real & linked), len(real))
    figure("flows.airline_links_used", len(linked & flows.airline_flows(fewest=1)), len(linked))


@pytest.mark.parametrize("style", ["operation_id", pytest.param("verb_noun", marks=pytest.mark.slow)])
@pytest.mark.parametrize("catalogue", ["some", pytest.param("all", marks=EXHAUSTIVE)])
def test_the_best_links_of_a_true_flow_fill_every_parameter(
    catalogue: str, style: str, figure: Figure
) -> None:
    names = flows.flow_tools(Random(1), DISTRACTORS if catalogue == "some" else None)
    renamed = flows.verb_noun(flows.github_tools()) if style == "verb_noun" else {}
    figure(f"flows.github_{style}_{catalogue}", asyncio.run(flows.linked_right(names, renamed)))


# The check -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", ["some", pytest.param("all", marks=EXHAUSTIVE)])
def test_the_check_refuses_the_mistakes_of_the_corpus_and_no_correct_program(
    share: str, figure: Figure
) -> None:
    correct, planted = check.correct_programs(), check.planted_mistakes()
    if share == "some":
        correct, planted = correct[::EVERY_PROGRAM], planted[::EVERY_MISTAKE]

    async def measure() -> tuple[list[bool], list[bool]]:
        async with opened(check.corpus_servers()) as gateway:
            refused = await check.refused_programs(gateway, correct)
            return refused, await check.refused_programs(gateway, planted)

    refused, caught = asyncio.run(measure())
    figure("check.corpus_refused", sum(refused))
    figure(f"check.corpus_caught_{share}", sum(caught), len(caught))


@pytest.mark.parametrize("share", ["some", pytest.param("more", marks=pytest.mark.slow)])
def test_the_check_refuses_mistakes_against_real_schemas_and_no_declared_key(
    share: str, figure: Figure
) -> None:
    random = Random(3)
    tools = list(flows.github_tools().values())[3 :: EVERY_TOOL if share == "some" else EVERY_TOOL // 4]
    keys = [
        line
        for tool in tools
        for lines in [check.key_lines(tool)]
        for line in random.sample(lines, min(KEYS_A_TOOL, len(lines)))
    ]
    calls = [call for tool in tools if (call := check.call_lines(tool, random)) is not None]
    declared, misspelt = [line for line, _ in keys], [line for _, line in keys if line is not None]
    correct, mistaken = [line for line, _ in calls], [line for _, lines in calls for line in lines]

    async def measure() -> list[list[bool]]:
        async with opened({"replay": Replay(tools)}) as gateway:
            return [
                await check.refused_lines(gateway, lines) for lines in (declared, correct, misspelt, mistaken)
            ]

    refused = asyncio.run(measure())
    figure("check.declared_keys_refused", sum(refused[0]))
    figure("check.correct_calls_refused", sum(refused[1]))
    figure(f"check.misspelt_keys_caught_{share}", sum(refused[2]), len(misspelt))
    figure("check.wrong_calls_caught", sum(refused[3]), len(mistaken))


# Learned schemas -------------------------------------------------------------------------------------

RESULTS: dict[str, Callable[[], learned.Results]] = {
    "airline": learned.airline_results,
    "webhooks": learned.webhook_results,
}


@pytest.mark.parametrize("source", ["airline", pytest.param("webhooks", marks=pytest.mark.slow)])
def test_a_learned_schema_accepts_what_was_seen_and_rejects_what_is_broken(
    source: str, figure: Figure
) -> None:
    results = RESULTS[source]()
    schemas = _hold_unseen(source, results, figure)
    seen = {name: values[::2] for name, values in results.items()}
    figure(f"learned.{source}_rejected", *learned.rejected(schemas, learned.mutants(seen, Random(5))))


@pytest.mark.slow
def test_a_schema_learned_from_many_kinds_of_results_accepts_further_ones(figure: Figure) -> None:
    _hold_unseen("webhooks_as_one", learned.webhook_results(as_one=True), figure)


@pytest.mark.slow
@pytest.mark.parametrize("source", RESULTS)
def test_a_schema_learned_from_everything_accepts_everything(source: str, figure: Figure) -> None:
    results = RESULTS[source]()
    schemas = asyncio.run(learned.learned_schemas(results))
    figure(f"learned.{source}_seen", *learned.accepted(schemas, results))
    figure(f"learned.{source}_rejected_all", *learned.rejected(schemas, learned.mutants(results, Random(5))))


def _hold_unseen(source: str, results: learned.Results, figure: Figure) -> dict[str, Any]:
    """Learn from every second result of each tool; measure how many of these results, and of the others, are accepted."""
    seen, unseen = ({name: values[half::2] for name, values in results.items()} for half in (0, 1))
    schemas = asyncio.run(learned.learned_schemas(seen))
    figure(f"learned.{source}_seen", *learned.accepted(schemas, seen))
    figure(f"learned.{source}_unseen", *learned.accepted(schemas, unseen))
    return schemas


# Workflows -------------------------------------------------------------------------------------------


def test_verdicts_on_workflows_are_those_of_brute_force(figure: Figure, home: Path) -> None:
    cases = _random_cases(PAIRS)
    config = home / "workflows.json"
    config.write_text(json.dumps({"server": {"families": ["gepa"]}}))
    serve = StdioServerParameters(command=HALFLAP, args=["serve", "-c", str(config)], env=dict(os.environ))

    async def judged(client: Client, case: nets.Case) -> dict[str, bool]:
        asked = dict(zip(("original_workflow", "optimized_workflow"), case.nets, strict=True))
        answer = await client.call_tool("gepa_validate_footprint", asked)
        return case.judge(answer.structured_content or {})

    async def measure() -> list[dict[str, bool]]:
        with (home / "log").open("w") as log:
            async with Client(stdio_client(serve, errlog=log)) as client:
                return [await judged(client, case) for case in cases]

    _hold_verdicts(asyncio.run(measure()), figure)


@pytest.mark.slow
def test_verdicts_of_the_command_are_those_of_brute_force(figure: Figure, tmp_path: Path) -> None:
    """The tool starts a process for each question, so most nets are judged by the command, in this process."""
    files = [tmp_path / "original.json", tmp_path / "optimized.json"]

    def judged(case: nets.Case) -> dict[str, bool]:
        for file, net in zip(files, case.nets, strict=True):
            file.write_text(json.dumps(net))
        answer = CliRunner().invoke(app, ["workflow", "compare", *map(str, files), "--json"])
        return case.judge(json.loads(answer.stdout))

    _hold_verdicts([judged(case) for case in _random_cases(ALL_PAIRS)], figure)


def _random_cases(pairs: int) -> list[nets.Case]:
    random = Random(7)
    return [nets.random_case(random) for _ in range(pairs)]


def _hold_verdicts(verdicts: list[dict[str, bool]], figure: Figure) -> None:
    for kind in ("soundness", "footprint", "equivalence"):
        figure(f"workflows.{kind}_wrong", sum(not one.get(kind, True) for one in verdicts))


# Attacks ---------------------------------------------------------------------------------------------


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the probes know the system calls of x86_64 alone")
def test_every_attack_is_stopped(figure: Figure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(probes.CANARY, "seen")
    replay = Replay({"name": name, "inputSchema": {"type": "object"}} for name in ("ask", "forbidden"))
    stopped: dict[str, bool] = {}

    async def attack(gateway: Gateway, bait: probes.Bait) -> None:
        groups = probes.probes()
        soft = await gateway.execute(probes.batch(groups["soft"], bait))
        stopped.update(probes.judged(groups["soft"], soft.output))
        for name, code in groups["deadly"].items():
            deadly = await gateway.execute(probes.batch({name: code}, bait))
            stopped.update(probes.judged([name], deadly.output, may_die=deadly.code is not None))
        for name, (ends_with, code) in groups["exhausting"].items():
            exhausting = await gateway.execute(probes.announced(code, bait))
            assert exhausting.output.startswith(probes.BEGUN), name
            stopped[name] = exhausting.code in ends_with.split()
        for name, code in groups["channel"].items():
            forging = await gateway.execute(probes.announced(code, bait))
            assert forging.output.startswith(probes.BEGUN), name
            following = await gateway.execute("await call_tool('mcp__bait__ask')\nprint('next')")
            stopped[name] = "forbidden" not in replay.called and following.output == "next\n"

    async def measure(bait: probes.Bait) -> None:
        async with opened({"bait": replay}, execution=TIGHT, tools={"block": ["*__forbidden"]}) as gateway:
            try:
                ready = await gateway.execute("print('ready')")
            except HalflapError as error:
                skip_missing(f"the jail, in which programs run: {error}")
            assert ready.output == "ready\n"
            await attack(gateway, bait)

    with TemporaryDirectory(prefix="halflap-bait-") as folder:
        bait = probes.Bait(folder)
        try:
            asyncio.run(measure(bait))
        finally:
            taken = bait.taken()
    assert taken == []
    assert [name for name, was_stopped in stopped.items() if not was_stopped] == []
    figure("attacks.stopped", sum(stopped.values()))


# Suggestions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", ["some", pytest.param("all", marks=EXHAUSTIVE)])
def test_goals_suggest_no_change_that_they_do_not_ask_for(share: str, figure: Figure) -> None:
    tasks = suggestions.live_tasks()[:: EVERY_TASK if share == "some" else 1]

    async def measure() -> list[tuple[str, str]]:
        async with opened(suggestions.live_servers()) as gateway:
            changing = suggestions.changing_tools(await gateway.tools())
            return [
                (goal, name)
                for task in tasks
                for goal in (task["question"], *task["steps"])
                for name in await suggestions.changing_steps(gateway, changing, goal=goal)
            ]

    changes = asyncio.run(measure())
    unasked = [change for goal, change in changes if not suggestions.is_asked_for(change, goal)]
    figure("suggestions.unasked_by_goal", len(unasked))
    figure(f"suggestions.changes_by_goal_{share}", len(changes))


def test_plans_for_a_reading_tool_change_nothing(figure: Figure) -> None:
    random = Random(11)
    definitions = suggestions.tempting_tools(flows.github_tools(), random, WANTED)

    async def measure() -> list[str]:
        async with opened({"replay": Replay(definitions)}) as gateway:
            tools = await gateway.tools()
            changing = suggestions.changing_tools(tools)
            return [
                name
                for tool in tools
                if tool.name not in changing
                for have in [suggestions.required_at_random(tool, random)]
                for name in await suggestions.changing_steps(gateway, changing, want=tool.name, have=have)
            ]

    figure("suggestions.changes_by_want", len(asyncio.run(measure())))
