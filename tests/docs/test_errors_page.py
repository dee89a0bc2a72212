"""docs/errors.md: every code has its heading, and what it shows is what Halflap says."""

from __future__ import annotations

import ast
import asyncio
import importlib
import json
import pkgutil
import re
import socket
import sqlite3
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

import pytest

import halflap
from execution.check.checkup import TOOLS, Checkup
from halflap.backfill.sources import find_sources
from halflap.cli.explaining import explanations
from halflap.cli.running import about_file
from halflap.codes import CODES, CheckCode, ConfigCode, ErrorCode, RunCode
from halflap.config.load import load_config
from halflap.config.project import preview, trust_project_file
from halflap.errors import (
    ConfigError,
    HalflapError,
    InvalidArgumentsError,
    ProgramNotFoundError,
    ProgramTimeoutError,
    ServerNotFoundError,
    ToolBlockedError,
    ToolHeldError,
    ToolNotFoundError,
)
from halflap.execution.report import Execution, failure_text, limit_text
from halflap.execution.sandbox import Ending
from halflap.learn.drift import What
from halflap.observe import exchange
from halflap.programs.inputs import check_inputs
from halflap.programs.library import Library
from halflap.scripts import read_definition
from halflap.server.http import Guard, bind, keep_token
from halflap.store import MISTAKEN, open_store
from programs.written import put
from support import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, MutableMapping
    from pathlib import Path

PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
HEADINGS = re.findall(r"^### (.+)$", PAGE, re.MULTILINE)
TEXTS = explanations()
FAMILIES = {"halflap", "tool", "shape", "dspy-program"}
"""Classes that others are made of, and that nothing raises."""
OWN_WORDS = {"run-failed", "upstream", "tool-failed", "dspy-program-failed", "demo"}
"""The words of these are the program's or a server's; the demo's are tested with it."""


def example(code: str) -> str:
    return "\n".join(line[4:] for line in TEXTS[code].splitlines() if line.startswith("    "))


@cache
def classes() -> list[type[HalflapError]]:
    """Give every exception of ours, wherever it is."""
    for module in pkgutil.walk_packages(halflap.__path__, "halflap."):
        if ".inside" not in module.name and "__main__" not in module.name:
            importlib.import_module(module.name)

    def below(one: type[HalflapError]) -> Iterator[type[HalflapError]]:
        yield one
        for inner in one.__subclasses__():
            yield from below(inner)

    return [one for one in below(HalflapError) if one.__module__.startswith("halflap")]


@cache
def words_of_the_source() -> tuple[frozenset[str], tuple[tuple[re.Pattern[str], int], ...]]:
    """Give all texts in the source, and those with holes as patterns, with how many letters are fixed."""
    texts: set[str] = set()
    patterns: dict[str, int] = {}
    for file in (ROOT / "src").rglob("*.py"):
        if file.name == "codes.py":
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
            elif isinstance(node, ast.JoinedStr):
                parts = [
                    re.escape(str(part.value)) if isinstance(part, ast.Constant) else "(?:.|\n)*?"
                    for part in node.values
                ]
                patterns["".join(parts)] = sum(
                    len(str(part.value)) for part in node.values if isinstance(part, ast.Constant)
                )
    return frozenset(texts), tuple((re.compile(one), size) for one, size in patterns.items())


# Nothing is missing -----------------------------------------------------------------------------------


def test_every_code_has_one_heading_and_every_heading_is_a_code() -> None:
    assert sorted(HEADINGS) == sorted(CODES)
    assert len(set(CODES)) == len(CODES)


def test_every_exception_has_a_code_of_its_own() -> None:
    codes = [one.code for one in classes()]
    assert sorted(codes) == sorted(get_args(ErrorCode))


@pytest.mark.parametrize("code", CODES)
def test_a_code_is_kebab_case_and_in_use(code: str) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code)
    texts, _ = words_of_the_source()
    assert {code, code.removeprefix("check-"), code.removeprefix("run-")} & texts or code == "check-doubt"


def test_every_way_in_which_a_run_can_end_has_a_code() -> None:
    outcome = Ending.__annotations__["outcome"]
    ends = {*ast.literal_eval(outcome.removeprefix("Literal")), "timeout", "cancelled", MISTAKEN} - {"ok"}
    assert {f"run-{one}" for one in ends} == set(get_args(RunCode))
    for one in ends:
        assert Execution("id", one, "", "").code == f"run-{one}"
    assert Execution("id", "ok", "", "").code is None


def test_what_drifts_is_named_beside_the_errors() -> None:
    for what in (*get_args(What), "breaks-declared-schema"):
        assert f"`{what}`" in PAGE


# Each says what it should -----------------------------------------------------------------------------


@pytest.mark.parametrize("code", CODES)
def test_each_code_has_a_meaning_a_cause_and_a_fix(code: str) -> None:
    first, *rest = TEXTS[code].split("\n\n")
    assert first.endswith((".", ")."))
    assert rest[0].startswith("**Cause.** ")
    assert rest[1].startswith("**Fix.** ")
    assert bool(example(code)) == (code not in FAMILIES)


# Examples, made by doing it ---------------------------------------------------------------------------

FILES: dict[str, str] = {
    "config-duplicate-key": "roots: []\nroots: []\n",
    "config-unknown-key": "mcpServers:\n  time:\n    comand: uvx\n    command: uvx\n",
    "config-wrong-value": "tools:\n  pin: holt\n",
    "config-exclusive": "tools:\n  allow: []\n  block: []\n",
    "config-timeouts": "upstream: {call_timeout_seconds: 700}\n",
    "config-variable": "mcpServers:\n  time:\n    url: ${ADDRESS}\n",
    "config-env-file": "mcpServers:\n  time:\n    command: uvx\n    envFile: time.env\n",
    "config-header": "mcpServers:\n  time:\n    url: https://example.com\n    headers:\n      X Token: a\n",
    "config-server-name": "mcpServers:\n  script:\n    command: uvx\n",
    "config-duplicate-server": "servers:\n  - name: time\n    command: uvx\n  - name: time\n    command: uvx\n",
    "config-server-incomplete": "mcpServers:\n  time: {}\n",
    "config-transport": "mcpServers:\n  time:\n    url: https://example.com\n    type: stdio\n",
    "config-not-utf8": "tools:\n  pin: warn\xff\n",
    "config-syntax": "{'a': 1}",
    "config-too-large": "#" * 1_100_000,
}


def problems(call: Callable[[], object], home: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        call()
    return str(caught.value).replace(str(home), "~")


@pytest.mark.parametrize("code", sorted(FILES))
def test_a_broken_file_gives_the_message_of_the_page(code: str, tmp_path: Path) -> None:
    file = tmp_path / ("servers.json" if code == "config-syntax" else "servers.yaml")
    file.write_bytes(FILES[code].encode("latin-1"))
    (tmp_path / "time.env").write_text("nonsense\n")
    said = problems(lambda: load_config(file, environ={}, cwd=tmp_path), tmp_path)
    assert said == example(code).removeprefix("Error [config]: ")


def test_what_is_wrong_with_a_place_gives_the_messages_of_the_page(tmp_path: Path) -> None:
    def load(path: Path) -> str:
        return problems(lambda: load_config(path, environ={}, cwd=tmp_path), tmp_path)

    assert load(tmp_path / "servers.yaml") == example("config-not-found")
    assert load(tmp_path) == example("config-unreadable")


def test_a_project_file_gives_the_messages_of_the_page(tmp_path: Path) -> None:
    file = tmp_path / "halflap.yaml"
    file.write_text("tools: {}\n")
    (tmp_path / "data").write_text("")
    environ = {"HALFLAP_DATA_DIR": str(tmp_path / "data")}
    assert problems(lambda: preview(file), tmp_path) == example("config-project-key")
    assert problems(lambda: preview(file, digest="another"), tmp_path) == example("config-changed")
    assert problems(lambda: trust_project_file(file, environ), tmp_path) == example("config-trust")


def test_every_code_of_a_configuration_was_provoked_here() -> None:
    here = {
        *FILES,
        "config-not-found",
        "config-unreadable",
        "config-project-key",
        "config-changed",
        "config-trust",
    }
    assert here == set(get_args(ConfigCode))


def test_errors_with_words_of_their_own_give_the_messages_of_the_page() -> None:
    for error in (
        ServerNotFoundError("tme", ["time", "search"]),
        ToolNotFoundError("mcp__time__get_time", suggestions=["mcp__time__get_current_time"]),
        ToolBlockedError("mcp__files__delete", "tools.block"),
        ToolHeldError("mcp__files__read", ["description"]),
    ):
        assert example(error.code) == f"Error [{error.code}]: {error}"
    assert example("invalid-arguments").startswith(
        f"Error [invalid-arguments]: {InvalidArgumentsError('mcp__plain__echo', [])}\n"
    )


def test_dspy_programs_give_the_messages_of_the_page(tmp_path: Path) -> None:
    triage = put(tmp_path).joinpath("manifest.json")
    triage.write_bytes(triage.read_bytes().replace(b'"ChainOfThought"', b'"Chain"'))
    shelf, shipped = Library(tmp_path).read(), Library(None).read()
    selector = shipped.find("worklet_selector").manifest
    inputs = {"workflow_description": "Process loan application"}
    assert is_shown(error_of(lambda: shelf.find("triage")), tmp_path)
    assert is_shown(error_of(lambda: check_inputs(selector, inputs)), tmp_path)
    assert is_shown(
        ProgramNotFoundError("unknown_program", ["worklet_selector", "resource_router"]), tmp_path
    )
    assert is_shown(ProgramTimeoutError("worklet_selector", 60.0), tmp_path)


@pytest.mark.parametrize("outcome", ["timeout", "cpu", "memory", "output"])
def test_the_limits_of_programs_give_the_messages_of_the_page(outcome: str) -> None:
    assert limit_text(outcome, halflap.Config().execution) == example(f"run-{outcome}")


def test_other_ends_of_programs_give_the_messages_of_the_page() -> None:
    config = halflap.Config().execution
    broke = "the program broke what Python itself needs, and could not go on"
    crashed, misused = (
        Ending("crashed", detail=broke),
        Ending("misused", detail="a frame that is not an object"),
    )
    assert failure_text(crashed, "crashed", config) == example("run-crashed")
    assert failure_text(misused, "misused", config) == example("run-misused")
    assert failure_text(None, "cancelled", config) == example("run-cancelled")


PROGRAMS = {
    "check-syntax": "print(",
    "check-unknown-tool": "print(await mcp__shop__ordrs(customer_id='c'))",
    "check-unknown-argument": "print(await mcp__shop__orders(customer='c'))",
    "check-missing-argument": "print(await mcp__shop__orders())",
    "check-wrong-argument": "print(await mcp__shop__summary(year='2024'))",
    "check-unnamed-argument": "print(await mcp__shop__summary(2024))",
    "check-unknown-key": "row = await mcp__shop__summary(year=2024)\nprint(row['totalRevenu'])",
    "check-no-keys": "names = await mcp__shop__names()\nprint(names['first'])",
    "check-not-awaited": "print(mcp__shop__names()[0])",
    "check-doubt": "x: int = 'a'",
}


@pytest.fixture(scope="module")
def checkup() -> Iterator[Checkup]:
    with Checkup(*TOOLS) as opened:
        yield opened


@pytest.mark.parametrize("code", get_args(CheckCode))
def test_a_wrong_program_gives_the_message_of_the_page(checkup: Checkup, code: str) -> None:
    checked = checkup.check(PROGRAMS[code])
    (finding,) = checked.doubts if code == "check-doubt" else checked.mistakes
    assert (finding.code, str(finding).partition("\n")[0]) == (code, example(code))


def error_of(call: Callable[[], object]) -> HalflapError:
    with pytest.raises(HalflapError) as caught:
        call()
    return caught.value


def is_shown(error: HalflapError, home: Path) -> bool:
    shown = f"Error [{error.code}]: {error}".replace(str(home), "~")
    assert shown == example(error.code)
    return True


def test_files_that_cannot_be_used_give_the_messages_of_the_page(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "http_token").write_text("\n\n")
    (tmp_path / "report.py").write_text("print(")
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("create table songs (name text)")
    other.close()
    code = (tmp_path / "report.py").read_text()
    assert is_shown(error_of(lambda: asyncio.run(open_store(tmp_path / "data"))), tmp_path)
    assert is_shown(error_of(lambda: asyncio.run(open_store(tmp_path / "other.db"))), tmp_path)
    assert is_shown(error_of(lambda: keep_token(tmp_path)), tmp_path)
    assert is_shown(error_of(lambda: list(find_sources(["logs/april.jsonl"]))), tmp_path)
    assert is_shown(
        about_file("report.py", error_of(lambda: read_definition(code, as_file=True))),  # type: ignore[arg-type]
        tmp_path,
    )


def test_what_was_learned_elsewhere_gives_the_messages_of_the_page(tmp_path: Path) -> None:
    assert is_shown(error_of(lambda: exchange._opened([])), tmp_path)
    newer = {"format": exchange.FORMAT, "version": 99}
    assert is_shown(error_of(lambda: exchange._opened(newer)), tmp_path)


def test_an_address_that_is_taken_gives_the_message_of_the_page() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        error = error_of(lambda: bind("127.0.0.1", port))
    assert f"Error [{error.code}]: {error}".replace(f":{port}:", ":8765:") == example("serve")


def test_requests_that_are_refused_give_the_messages_of_the_page() -> None:
    async def never(*_: object) -> None:
        raise AssertionError

    async def refused(*headers: tuple[bytes, bytes]) -> dict[str, object]:
        sent: list[MutableMapping[str, Any]] = []

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        guard = Guard(never, {"ada": "right"}, frozenset({"localhost"}), ())
        await guard({"type": "http", "headers": headers}, never, send)  # type: ignore[arg-type]
        body: dict[str, object] = json.loads(sent[1]["body"])
        return body

    here = (b"host", b"localhost")
    for code, headers in {
        "http-host": [(b"host", b"elsewhere")],
        "http-origin": [here, (b"origin", b"https://elsewhere")],
        "http-token": [here, (b"authorization", b"Bearer wrong")],
    }.items():
        assert asyncio.run(refused(*headers)) == {"error": True, "code": code, "message": example(code)}


DONE = {
    *FILES, *PROGRAMS, "config", "config-not-found", "config-unreadable", "config-project-key", "config-changed",
    "config-trust", "server-not-found", "tool-not-found", "tool-blocked", "tool-held", "invalid-arguments",
    "run-timeout", "run-cpu", "run-memory", "run-output", "run-crashed", "run-misused", "run-cancelled", "store", "store-broken", "token-file", "file", "script",
    "shape-broken", "shape-too-new", "dspy-program-broken", "dspy-program-inputs", "dspy-program-not-found",
    "dspy-program-timeout", "serve", "http-host", "http-origin", "http-token",
}  # fmt: skip
"""What is provoked above. Of the others, the words are looked for in the source."""


@pytest.mark.parametrize("code", sorted(set(CODES) - FAMILIES - OWN_WORDS - DONE))
def test_the_words_of_an_example_are_in_the_source(code: str) -> None:
    """Of every line, what is left when code and place are taken off is some text of ours with its holes filled."""
    for line in example(code).splitlines():
        said = re.sub(r"^Error \[[a-z-]+\]: ?", "", line)
        said = re.sub(r"^(Server '\w+'|\S+\.jsonl): ", "", said)
        assert is_ours(said), said


def is_ours(said: str) -> bool:
    """Say whether a text is one of the source, with not much of it filled in."""
    texts, patterns = words_of_the_source()
    return any(one.endswith(said) for one in texts) or any(
        3 * size >= len(said) and one.search(said) is not None for one, size in patterns
    )
