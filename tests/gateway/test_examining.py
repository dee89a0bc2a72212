from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
from typing import TYPE_CHECKING, Any, get_args

import pytest
from blockbuster import blockbuster_ctx

from cli.program import PLAIN, SWIFT, definitions
from halflap import Config, Gateway
from halflap.errors import ToolFailedError, UsageError
from halflap.gateway import findings as findings_module
from halflap.gateway.findings import ABOUT, Code, findings, summary
from halflap.upstream.status import Trouble
from support import ROOT, answering, python_server

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

CHALLENGE = 'Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource"'
TOOL: dict[str, Any] = {"name": "one", "description": "As accepted.", "inputSchema": {"type": "object"}}


@pytest.fixture(scope="module")
def examined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """One gateway with a server of every kind, examined; an earlier one has called a tool that breaks its word."""
    place = tmp_path_factory.mktemp("examined")
    with (
        pytest.MonkeyPatch.context() as patch,
        answering(401, WWW_Authenticate=CHALLENGE) as locked,
        answering(403) as closed,
    ):
        patch.setenv("HALFLAP_CONFIG_DIR", str(place / "config"))
        patch.setenv("HALFLAP_DATA_DIR", str(place / "data"))
        patch.setenv("NOTHING", "")
        changed = definitions(place, TOOL, name="changed")
        servers = [
            SWIFT,
            {**PLAIN, "name": "a-b"},
            {**PLAIN, "name": "a b"},
            changed,
            {"name": "locked", "url": locked},
            {"name": "closed", "url": closed, "headers": {"Authorization": "Bearer ${NOTHING}"}},
            {"name": "missing", "command": "no-such-program", "env": {"KEY": "${NOTHING}"}},
            {"name": "off", "command": "no-such-program", "disabled": True},
        ]
        config = {"servers": servers, "tools": {"pin": "hold", "block": ["mcp__a_b__secret*"]}}

        async def story() -> dict[str, Any]:
            async with Gateway.open(config) as gateway:
                # In this order: the first that is seen keeps the plain names.
                for name in ("a-b", "changed"):
                    await gateway.refresh(name)
                await gateway.call("mcp__echo__breach")
                await gateway.execute("print(1)")
            definitions(place, {**TOOL, "description": "Now something else."}, name="changed")
            (place / "data" / "scripts").mkdir()
            (place / "data" / "scripts" / "bad.py").write_text("def main(:\n")
            async with Gateway.open(config) as gateway:
                return await gateway.examine()

        # The story itself writes files; only what Halflap does on the loop is watched.
        with blockbuster_ctx("halflap"):
            yield asyncio.run(story())


def row(examined: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in examined["servers"] if one["name"] == name)


def found(examined: dict[str, Any], about: str, server: str | None = None) -> list[tuple[str, str, str]]:
    return [
        (one["severity"], one["what"], one["todo"])
        for one in examined["findings"]
        if (one["about"], one["server"]) == (about, server)
    ]


def test_every_server_has_its_state_and_whether_it_is_signed_in(examined: dict[str, Any]) -> None:
    assert {one["name"]: (one["state"], one["healthy"], one["signIn"]) for one in examined["servers"]} == {
        "echo": ("ready", True, None),
        "a-b": ("ready", True, None),
        "a b": ("ready", True, None),
        "changed": ("ready", False, None),
        "locked": ("needs-sign-in", False, "needed"),
        "closed": ("needs-sign-in", False, "refused"),
        "missing": ("failed", False, None),
        "off": ("disabled", True, None),
    }
    assert 0 < row(examined, "echo")["startSeconds"] < 60


def test_a_server_that_offers_oauth_is_told_of_with_what_to_do(examined: dict[str, Any]) -> None:
    ((severity, what, _),) = found(examined, "sign-in", "locked")
    assert severity == "problem"
    assert what.startswith("It answered 401 Unauthorized: it wants credentials. Give them as `headers:`")
    assert "It offers to sign in by OAuth, which Halflap does not do by itself" in what


def test_a_header_whose_variable_is_empty_is_what_has_to_be_mended(examined: dict[str, Any]) -> None:
    ((severity, what, todo),) = found(examined, "sign-in", "closed")
    assert (severity, "does not take the `headers:` that it was sent" in what) == ("problem", True)
    assert todo.startswith("headers.Authorization (${NOTHING}) has nothing in it: set the variable")


def test_an_empty_variable_is_named_where_a_server_does_not_start(examined: dict[str, Any]) -> None:
    ((_, what, todo),) = found(examined, "server", "missing")
    assert what.startswith("The command 'no-such-program' was not found. Install it, or give its full path")
    assert f"The PATH here is {os.environ['PATH'][:50]!r}"[:-1] in what
    assert "`command -v no-such-program`" in todo
    assert "in a terminal to see more" not in todo
    assert todo.startswith("env.KEY (${NOTHING}) has nothing in it, which may be why.")


def test_tools_that_are_held_back_are_a_problem(examined: dict[str, Any]) -> None:
    assert row(examined, "changed")["held"] == ["mcp__changed__one"]
    ((severity, what, todo),) = found(examined, "definitions", "changed")
    assert (severity, what) == (
        "problem", "1 tool held back, since the definition changed: mcp__changed__one.",
    )  # fmt: skip
    assert "halflap trust --tool NAME" in todo


def test_collisions_say_what_tools_are_called_now(examined: dict[str, Any]) -> None:
    assert examined["collisions"]["servers"] == [["a-b", "a b"]]
    echo = next(one for one in examined["collisions"]["tools"] if one["originalName"] == "echo")
    assert echo["name"].startswith("mcp__a_b__echo_")
    assert (echo["server"], echo["plainName"]) == ("a b", "mcp__a_b__echo")
    assert echo["takenBy"] == {"server": "a-b", "originalName": "echo"}
    ((severity, what, _),) = found(examined, "collision", "a b")
    assert severity == "hint"
    assert f"'echo' is called {echo['name']} (mcp__a_b__echo is the name of 'echo' of 'a-b')" in what


def test_what_broke_a_declaration_lately_is_a_hint(examined: dict[str, Any]) -> None:
    (one,) = examined["drift"]
    assert (one["tool"], one["what"], one["times"]) == ("mcp__echo__breach", "breaks-declared-schema", 1)
    ((severity, what, todo),) = found(examined, "drift")
    assert severity == "hint"
    assert what.endswith("results of 1 tool broke what was declared or learned: mcp__echo__breach.")
    assert "halflap schema drift" in todo


def test_a_script_that_cannot_be_used_is_a_hint(examined: dict[str, Any]) -> None:
    assert list(examined["brokenScripts"]) == ["bad"]
    assert found(examined, "script")[0][0] == "hint"


def test_the_store_is_measured(examined: dict[str, Any]) -> None:
    store = examined["store"]
    assert (store["writable"], store["trouble"], store["runs"], store["calls"]) == (True, None, 1, 1)
    assert store["bytes"] >= os.stat(store["place"]).st_size > 0  # noqa: PTH116 -- a path in a text
    assert store["schemaVersion"] >= 6
    assert (store["record"], store["keepDays"], store["keepMegabytes"]) == ("full", 30, 512)


def test_shares_add_up(examined: dict[str, Any]) -> None:
    assert sum(examined["outputs"].values()) == examined["tools"]
    for one in examined["servers"]:
        assert sum(one["outputs"].values()) == one["tools"]
    assert row(examined, "a-b")["blocked"] == 1


def test_problems_come_before_hints_and_are_summed_up(examined: dict[str, Any]) -> None:
    severities = [one["severity"] for one in examined["findings"]]
    assert severities == sorted(severities, reverse=True)
    assert examined["healthy"] is False
    assert examined["summary"].startswith("4 of 7 servers need you; ")


def test_all_of_it_can_be_written_as_json(examined: dict[str, Any]) -> None:
    assert json.loads(json.dumps(examined)) == examined
    assert examined["unfinished"] == {}


def test_only_the_servers_that_are_named_are_started(run: Run) -> None:
    async def story() -> dict[str, Any]:
        config = {"servers": [SWIFT, {"name": "missing", "command": "no-such-program"}]}
        async with Gateway.open(config) as gateway:
            with pytest.raises(UsageError, match="There is no server named 'ecko'"):
                await gateway.examine(["ecko"])
            examined = await gateway.examine(["echo"])
            starts = {one.status.name: one.status.starts for one in await gateway.reports()}
            assert starts == {"echo": 1, "missing": 0}
            return examined

    examined = run(story())
    assert (examined["healthy"], examined["summary"]) == (True, "The server is well")


def test_what_is_found_elsewhere_is_left_out_when_servers_are_named(run: Run, tmp_path: Path) -> None:
    long = {"name": "t" * 300, "inputSchema": {"type": "object"}}
    box = {"type": "object", "properties": {"box_id": {"type": "string"}}, "required": ["box_id"]}
    gives = {"name": "find_box", "inputSchema": {"type": "object"}, "outputSchema": box}
    takes = {"name": "open_box", "inputSchema": box}
    others = [{**PLAIN, "name": "a-b"}, {**PLAIN, "name": "a b"}, definitions(tmp_path, long, gives, takes)]

    async def story() -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        async with Gateway.open({"servers": [SWIFT, *others]}) as gateway:
            every = await gateway.examine()
            return every, await gateway.examine(["echo"]), await gateway.examine(["a b"])

    every, echo, alike = run(story())
    assert max(len(one["what"]) for one in every["findings"]) < 400
    assert echo["findings"] == []
    assert (echo["edges"]["total"], every["edges"]["total"] > 0) == (0, True)
    assert (echo["tools"], sum(echo["outputs"].values())) == (row(every, "echo")["tools"],) * 2
    assert {one["code"] for one in alike["findings"]} == {"servers-alike", "names-taken"}


def test_what_is_no_server_at_all_is_told_as_what_it_is(run: Run) -> None:
    page, away = {"content_type": "text/html; charset=utf-8"}, "https://login.example.com/?return=x"
    with (
        answering(200, b"<html>", **page) as html,
        answering(500, b"<html>", **page) as ill,
        answering(302, b"", location=away) as elsewhere,
        answering(401) as locked,
    ):
        urls = {"html": html, "ill": ill, "elsewhere": elsewhere, "locked": locked}
        servers = [
            *({"name": name, "url": url} for name, url in urls.items()),
            python_server("garbled", "unwilling.py", "garbled"),
            {"name": "folder", "command": str(ROOT)},
        ]

        async def story() -> dict[str, Any]:
            async with Gateway.open({"servers": servers}) as gateway:
                return await gateway.examine()

        examined = run(story())
    told = {one["server"]: (one["code"], one["what"]) for one in examined["findings"] if one["server"]}
    assert told["html"][0] == told["ill"][0] == told["elsewhere"][0] == "not-reached"
    assert told["html"][1].startswith("It answered text/html, which is not MCP. Check `url`")
    assert told["ill"][1].startswith("It answered 500 Internal Server Error. Check `url`")
    assert told["elsewhere"][1].startswith(
        "It sends to another address, https://login.example.com/. Check `url`"
    )
    assert "`Authorization: Bearer ${TOKEN}`" in told["locked"][1]
    assert told["garbled"][0] == "answer-unusable"
    assert told["folder"] == (
        "command-not-run",
        f"The command {str(ROOT)!r} is a folder. Give the program in it as `command`.",
    )


def test_what_servers_say_is_shown_without_the_secrets_of_the_configuration(run: Run) -> None:
    secret = {"env": {"MYAPI_KEY": "supersecretvalue99"}, "protocol": "legacy"}
    servers = [python_server(kind, "unwilling.py", kind, **secret) for kind in ("bad-key", "leaky")]

    async def story() -> None:
        async with Gateway.open({"servers": servers}) as gateway:
            examined = await gateway.examine()
            with pytest.raises(ToolFailedError, match=r"refused \[redacted\]"):
                await gateway.call("mcp__leaky__use")
        assert row(examined, "bad-key")["lastError"] == (
            "it did not agree to talk: [redacted] is not a key (code -32603). "
            "Its last words: bad key [redacted], password=[redacted]"
        )
        assert row(examined, "leaky")["log"] == ["bad key [redacted], password=[redacted]"]
        assert not any(word in json.dumps(examined) for word in ("supersecret", "hunter2"))

    run(story())


def test_what_is_stopped_gives_at_once_what_is_known(run: Run) -> None:
    hanging = python_server("hangs", "hang.py", start_timeout_seconds=1_000)

    async def story() -> dict[str, Any]:
        stop = asyncio.Event()
        waiting: list[tuple[list[str], int]] = []

        def told(names: Any, of: int) -> None:
            waiting.append((list(names), of))
            if names == ["hangs"]:
                stop.set()

        async with Gateway.open({"servers": [SWIFT, hanging]}) as gateway:
            examined = await gateway.examine(told=told, stop=stop)
        assert waiting == [(["echo", "hangs"], 2), (["hangs"], 2)]
        return examined

    examined = run(story())
    assert {one["name"]: one["state"] for one in examined["servers"]} == {
        "echo": "ready",
        "hangs": "starting",
    }
    assert (examined["interrupted"], examined["healthy"]) == (True, False)
    assert examined["summary"] == "Interrupted; so far, no server is known to need you; 1 hint"
    assert examined["unfinished"]["edges"] == "interrupted"


def test_a_store_that_cannot_be_written_is_a_problem(run: Run, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file where a folder should be")

    async def story() -> dict[str, Any]:
        store = {"path": str(tmp_path / "taken" / "halflap.db")}
        async with Gateway.open({"servers": [], "store": store}) as gateway:
            return await gateway.examine()

    examined = run(story())
    assert (examined["store"]["writable"], examined["healthy"]) == (False, False)
    assert examined["findings"][0]["about"] == "store"
    assert examined["findings"][0]["what"].startswith("The store ")
    assert examined["summary"] == "No server is configured yet; but there is 1 problem; 1 hint"


def healthy(**changes: Any) -> dict[str, Any]:
    """Give what an examination of nothing finds."""
    nothing: dict[str, Any] = {
        "configurationWarnings": [],
        "untrustedProjectFiles": [],
        "servers": [],
        "collisions": {"tools": [], "servers": []},
        "drift": [],
        "driftDays": 7,
        "brokenScripts": {},
        "brokenPrograms": {},
        "sandbox": {"trouble": None, "check": {"trouble": None}},
        "store": {"trouble": None},
        "unfinished": {},
        "interrupted": False,
    }
    return {**nothing, **changes}


@pytest.mark.parametrize(
    ("changes", "settings", "severities"),
    [
        ({}, {}, []),
        ({"sandbox": {"trouble": "no seccomp", "check": {"trouble": None}}}, {}, ["problem"]),
        ({"sandbox": {"trouble": "it is off", "check": {"trouble": None}}}, {"sandbox": "off"}, []),
        ({"sandbox": {"trouble": None, "check": {"trouble": "no ty"}}}, {}, ["hint"]),
        ({"sandbox": {"trouble": None, "check": {"trouble": "it is off"}}}, {"check": "off"}, []),
        ({"unfinished": {"drift": "it took more than 60 s"}}, {}, ["problem"]),
        ({"unfinished": {"drift": "interrupted"}, "interrupted": True}, {}, []),
        ({"untrustedProjectFiles": ["/x/.mcp.json"]}, {}, ["hint"]),
        ({"configurationWarnings": ["`timeout` has no effect."]}, {}, ["hint"]),
    ],
)
def test_what_is_a_problem_and_what_a_hint(
    changes: dict[str, Any], settings: dict[str, Any], severities: list[str]
) -> None:
    config = Config.from_mapping({"servers": [SWIFT], "execution": settings})
    told = findings(healthy(**changes), config)
    assert [one["severity"] for one in told] == severities
    assert all(one["what"] and one["todo"] for one in told)


def test_every_finding_has_its_row_in_the_docs_and_every_trouble_is_a_finding() -> None:
    rows = re.findall(
        r"^\| `([a-z-]+)` \| (?:problem|hint)[^|]* \| `([a-z-]+)` \| [^|]+ \| [^|]+ \|$",
        (ROOT / "docs" / "doctor.md").read_text(),
        re.MULTILINE,
    )
    assert dict(rows) == ABOUT
    assert len(rows) == len(ABOUT)
    assert set(get_args(Code)) == ABOUT.keys()
    assert set(get_args(Trouble)) <= ABOUT.keys()


def test_every_kind_of_finding_is_made_somewhere() -> None:
    source = inspect.getsource(findings_module)
    made = source[source.index("def findings") :]
    by_upstream = set(get_args(Trouble))
    assert {code for code in ABOUT if f'"{code}"' not in made} <= by_upstream


def test_the_summary_counts_besides_servers() -> None:
    server = {"name": "x", "state": "failed"}
    problem = {"severity": "problem", "server": "x"}
    besides = {"severity": "problem", "server": None}
    hint = {"severity": "hint", "server": None}
    told = summary(healthy(servers=[server]), [problem, besides, hint])
    assert told == "1 of 1 server needs you; 1 problem besides; 1 hint"


@pytest.mark.parametrize(
    ("count", "told"),
    [(1, "The server is well"), (2, "Both servers are well"), (3, "All 3 servers are well")],
)
def test_the_summary_agrees_with_the_number_of_servers(count: int, told: str) -> None:
    assert summary(healthy(servers=[{"name": "x", "state": "ready"}] * count), []) == told


@pytest.mark.parametrize(
    ("trouble", "todo"),
    [
        ("command-not-found", "Where `command -v npx` finds it in your terminal, give that full path"),
        ("not-mcp", "the option that starts it for stdio"),
        ("answer-unusable", "Take a newer version of it"),
        ("answered-an-error", "look in its manual for what it needs"),
        ("process-ended", "Run its command in a terminal to see more than this."),
        (None, "Run its command in a terminal to see more than this."),
    ],
)
def test_what_to_do_fits_what_is_wrong(trouble: str | None, todo: str) -> None:
    server: dict[str, Any] = {
        "name": "x", "state": "failed", "transport": "stdio", "trouble": trouble, "lastError": "it is so.",
        "unfilled": [], "held": [], "changed": [], "warnings": [], "tools": 0,
    }  # fmt: skip
    config = Config.from_mapping({"servers": [{"name": "x", "command": "npx -y thing"}]})
    (told,) = findings(healthy(servers=[server]), config)
    assert (told["code"], told["what"]) == (trouble or "not-ready", "It is so.")
    assert todo in told["todo"]
