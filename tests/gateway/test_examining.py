"""What `halflap doctor` reports, by code and field."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any, get_args

import pytest

from halflap import Config, Gateway
from halflap.core.errors import ToolFailedError
from halflap.gateway.findings import findings, rules
from halflap.upstream import Trouble
from servers.memory import Memory, definition, echo
from servers.web import answering
from support import ROOT, python_server, run_unblocked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NO_PROGRAMS = {"execution": {"sandbox": "off", "check": "off"}}
CHALLENGE = 'Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource"'


@pytest.fixture(scope="module")
def examined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Examine one gateway with a server of every kind; an earlier one called a tool that breaks its schema."""
    place = tmp_path_factory.mktemp("examined")
    with (
        pytest.MonkeyPatch.context() as patch,
        answering(401, WWW_Authenticate=CHALLENGE) as locked,
        answering(403) as closed,
    ):
        patch.setenv("HALFLAP_CONFIG_DIR", str(place / "config"))
        patch.setenv("HALFLAP_DATA_DIR", str(place / "data"))
        patch.setenv("NOTHING", "")
        changed = Memory("one")
        servers = {"echo": echo(), "a-b": Memory("t", "secret"), "a b": Memory("t"), "changed": changed}
        config = {
            "servers": [
                {"name": "locked", "url": locked},
                {"name": "closed", "url": closed, "headers": {"Authorization": "Bearer ${NOTHING}"}},
                {"name": "missing", "command": "no-such-program", "env": {"KEY": "${NOTHING}"}},
                {"name": "off", "command": "no-such-program", "disabled": True},
            ],
            "tools": {"pin": "hold", "block": ["mcp__a_b__secret*"]},
            **NO_PROGRAMS,
        }

        async def story() -> dict[str, Any]:
            async with Gateway.open(config, servers=servers) as gateway:
                # In this order: the first that is seen keeps the plain names.
                for name in ("a-b", "changed"):
                    await gateway.refresh(name)
                await gateway.call("mcp__echo__breach")
            changed.tools = [definition("one", description="Now something else.")]
            (place / "data" / "scripts").mkdir()
            (place / "data" / "scripts" / "bad.py").write_text("def main(:\n")
            async with Gateway.open(config, servers=servers) as gateway:
                return await gateway.examine()

        # The story itself writes files; only what Halflap does on the loop is watched.
        yield run_unblocked(story())


def row(examined: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in examined["servers"] if one["name"] == name)


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
    assert row(examined, "echo")["startSeconds"] > 0
    assert (row(examined, "a-b")["blocked"], row(examined, "changed")["held"]) == (1, ["mcp__changed__one"])


def test_findings_name_their_server_problems_first_and_a_variable_that_may_be_the_cause(
    examined: dict[str, Any],
) -> None:
    found = [(one["severity"], one["about"], one["server"]) for one in examined["findings"]]
    assert {*found} >= {
        ("problem", "sign-in", "locked"),
        ("problem", "sign-in", "closed"),
        ("problem", "server", "missing"),
        ("problem", "definitions", "changed"),
        ("hint", "collision", "a b"),
        ("hint", "drift", None),
        ("hint", "script", None),
    }
    assert found == sorted(found, key=lambda one: one[0] == "hint")
    todo = {one["server"]: one["todo"] for one in examined["findings"] if one["severity"] == "problem"}
    assert "headers.Authorization (${NOTHING})" in todo["closed"]
    # A command that was not found did not read any variable.
    assert "NOTHING" not in todo["missing"] + todo["locked"]


def test_collisions_drift_and_broken_scripts_are_listed(examined: dict[str, Any]) -> None:
    (tool,) = examined["collisions"]
    assert tool["name"].startswith("mcp__a_b__t_")
    assert (tool["server"], tool["originalName"]) == ("a b", "t")
    (one,) = examined["drift"]
    assert (one["tool"], one["what"], one["times"]) == ("mcp__echo__breach", "breaks-declared-schema", 1)
    assert list(examined["brokenScripts"]) == ["bad"]
    assert (examined["healthy"], examined["unfinished"]) == (False, {})
    assert "4 of 7 servers" in examined["summary"]
    assert (examined["store"]["writable"], examined["store"]["calls"]) == (True, 1)


async def test_health_reports_servers_as_they_are_and_starts_none() -> None:
    fine, broken = Memory("one"), Memory("two")
    broken.broken = True
    async with Gateway.open({}, servers={"fine": fine, "broken": broken}) as gateway:
        before = await gateway.parts.doctor.health()
        assert ([one["state"] for one in before["servers"]], before["findings"]) == (["idle", "idle"], [])
        assert (fine.starts, broken.starts) == (0, 0)
        await gateway.settle()
        after = await gateway.parts.doctor.health()
        assert [one["state"] for one in after["servers"]] == ["ready", "failed"]
        assert [(one["server"], one["severity"]) for one in after["findings"]] == [("broken", "problem")]
        assert after["outputs"] == {"declared": 0, "learned": 0, "unknown": 1}


async def test_only_the_servers_that_are_named_are_examined() -> None:
    servers = {"fine": Memory(definition("find_box", "", "box_id")), "other": Memory("t")}
    async with Gateway.open(NO_PROGRAMS, servers=servers) as gateway:
        examined = await gateway.examine(["fine"])
        assert {one.name: one.starts for one in await gateway.statuses()} == {"fine": 1, "other": 0}
    assert (examined["healthy"], examined["findings"], examined["tools"]) == (True, [], 1)


@pytest.mark.slow
async def test_nothing_shown_or_stored_of_what_servers_say_has_secrets(home: Path) -> None:
    secret = {"env": {"MYAPI_KEY": "supersecretvalue99"}, "protocol": "legacy"}
    servers = [python_server(kind, "unwilling.py", kind, **secret) for kind in ("bad-key", "leaky")]
    async with Gateway.open({"servers": servers}) as gateway:
        examined = await gateway.examine()
        with pytest.raises(ToolFailedError, match=r"refused \[redacted\]"):
            await gateway.call("mcp__leaky__use")
    assert "[redacted] is not a key" in row(examined, "bad-key")["lastError"]
    assert row(examined, "leaky")["log"] == ["bad key [redacted], password=[redacted]"]
    logs = "".join(path.read_text() for path in (home / "data" / "logs").iterdir())
    assert "bad key [redacted], password=[redacted]\n" in logs
    assert not any(word in json.dumps(examined) + logs for word in ("supersecret", "hunter2"))


async def test_an_examination_that_is_stopped_returns_what_is_known() -> None:
    hanging = python_server("hangs", "unwilling.py", "silent", start_timeout_seconds=1_000, protocol="legacy")
    stop = asyncio.Event()
    waiting: list[tuple[list[str], int]] = []

    def on_progress(names: Any, of: int) -> None:
        waiting.append((list(names), of))
        if names == ["hangs"]:
            stop.set()

    config = {"servers": [hanging], **NO_PROGRAMS}
    async with Gateway.open(config, servers={"fine": Memory("t")}) as gateway:
        examined = await gateway.examine(on_progress=on_progress, stop=stop)
    assert waiting == [(["hangs", "fine"], 2), (["hangs"], 2)]
    states = {one["name"]: one["state"] for one in examined["servers"]}
    assert states == {"fine": "ready", "hangs": "starting"}
    assert (examined["interrupted"], examined["healthy"]) == (True, False)


@pytest.mark.parametrize(
    ("change", "execution", "code"),
    [
        ({"sandbox": {"trouble": "no seccomp", "check": {"trouble": None}}}, {}, "sandbox-missing"),
        ({"sandbox": {"trouble": "off", "check": {"trouble": None}}}, {"sandbox": "off"}, None),
        ({"sandbox": {"trouble": None, "check": {"trouble": "no ty"}}}, {}, "programs-not-checked"),
        ({"sandbox": {"trouble": None, "check": {"trouble": "off"}}}, {"check": "off"}, None),
        ({"unfinished": {"drift": "The store is locked."}}, {}, "examination-incomplete"),
        ({"untrustedProjectFiles": ["/x/.mcp.json"]}, {}, "file-not-trusted"),
        ({"configurationWarnings": ["`timeout` has no effect."]}, {}, "setting-without-effect"),
    ],
)
def test_what_else_may_be_wrong_has_a_code(
    examined: dict[str, Any], change: dict[str, Any], execution: dict[str, Any], code: str | None
) -> None:
    config = Config.from_mapping({"mcpServers": {"x": {"command": "x"}}, "execution": execution})
    rest = {**examined, "servers": [], "sandbox": None}
    others = {one["code"] for one in findings(rest, config)}
    found = {one["code"] for one in findings({**rest, **change}, config)}
    assert found - others == ({code} if code else set())


def test_every_code_is_in_the_docs() -> None:
    rows = re.findall(
        r"^\| `([a-z-]+)` \| (?:problem|hint) \| `([a-z-]+)` \| [^|]+ \| [^|]+ \|$",
        (ROOT / "docs" / "doctor.md").read_text(),
        re.MULTILINE,
    )
    assert dict(rows) == {code: rule.about for code, rule in rules().items()}
    assert rules().keys() >= set(get_args(Trouble))
