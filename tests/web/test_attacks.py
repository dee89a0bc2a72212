"""Who gets in, and what other sites, other people and hostile servers cannot do."""

from __future__ import annotations

import asyncio
import json
import stat
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from halflap.config import Config
from halflap.server.audit import Refusals
from halflap.server.guard import Guard, page_hosts
from halflap.web import SignIn, WebPage
from servers.memory import Memory, definition, structured
from web.visitor import ADDRESS, ANN, BOB, HOSTS, TOKENS, Markup, hashed, new_link, stranger, visiting

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = "<script>alert('tool')</script>"
OVERRIDE = "\u202egnp.exe\u202c"
HOSTILE = f'"><img src=x onerror=alert(1)>{SCRIPT}{OVERRIDE}'
PAGES = ("/", "/tools", "/graph", "/runs", "/compose", "/workflows", "/programs")
TOOL = "/tools/mcp__shop__list_things"
POLICY = "content-security-policy"


def hostile() -> dict[str, Memory]:
    tool = definition("list_things", "who", "things: id name", description=f"Lists things. {HOSTILE}")
    tool["inputSchema"]["properties"]["who"]["description"] = HOSTILE
    value = {"things": [{"id": HOSTILE, "name": HOSTILE}]}
    return {"shop": Memory(tool, answer=lambda *_: structured(value), instructions=HOSTILE)}


# Getting in


async def test_without_signing_in_nothing_is_shown() -> None:
    async with visiting(hostile(), signed_in=False) as visitor:
        for path in (*PAGES, "/nowhere", "/tools/mcp__shop__list_things"):
            answer = await visitor.get(path)
            assert (answer.status_code, "shop" in answer.text) == (401, False)
            assert (await visitor.post(path)).status_code in {401, 405}
        assert (await visitor.part("/")).headers["hx-refresh"] == "true"


async def test_a_link_signs_in_once() -> None:
    async with visiting(signed_in=False) as visitor:
        link = await asyncio.to_thread(new_link, visitor.page)
        answer = await visitor.sign_in(link)
        cookie = answer.headers["set-cookie"].lower()
        assert all(part in cookie for part in ("httponly", "samesite=strict", "path=/"))
        assert (await visitor.get("/")).status_code == 200
        second = stranger(visitor.page, visitor.gateway)
        assert (await second.get(link)).status_code == 403
        assert (await second.get("/")).status_code == 401


async def test_of_two_who_follow_a_link_at_once_one_gets_in() -> None:
    async with visiting(signed_in=False) as visitor:
        link = await asyncio.to_thread(new_link, visitor.page)
        visitors = [stranger(visitor.page, visitor.gateway) for _ in range(8)]
        answers = await asyncio.gather(*(one.get(link) for one in visitors))
        assert sorted(one.status_code for one in answers) == [200, *[403] * 7]


async def test_a_browser_that_looks_ahead_does_not_use_up_the_link() -> None:
    async with visiting(signed_in=False) as visitor:
        link = await asyncio.to_thread(new_link, visitor.page)
        assert (await visitor.get(link, Sec_Purpose="prefetch;prerender")).status_code == 403
        assert (await visitor.sign_in(link)).status_code == 200


async def test_a_link_for_another_address_or_that_is_too_old_or_made_up_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with visiting(signed_in=False) as visitor:
        sign_in = SignIn(visitor.gateway.config.data_dir / "web")
        elsewhere = await asyncio.to_thread(sign_in.new_link, "http://127.0.0.1:9999")
        for link in (
            elsewhere.replace("9999", "8765"),
            f"{ADDRESS}/sign-in?link=",
            f"{ADDRESS}/sign-in?link=../x",
        ):
            assert (await visitor.get(link)).status_code == 403
        old = await asyncio.to_thread(new_link, visitor.page)
        later = time.time() + 3_600
        monkeypatch.setattr(time, "time", lambda: later)
        assert (await visitor.get(old)).status_code == 403


async def test_links_and_sessions_are_private_files_without_their_secrets(home: Path) -> None:
    async with visiting() as visitor:
        await asyncio.to_thread(new_link, visitor.page)
        secrets = [cookie.value or "" for cookie in visitor.client.cookies.jar]

        def files() -> list[tuple[int, str]]:
            found = [one for one in (home / "data" / "web").rglob("*") if one.is_file()]
            return [(stat.S_IMODE(one.stat().st_mode), one.name + one.read_text()) for one in found]

        stored = await asyncio.to_thread(files)
        assert [mode for mode, _ in stored] == [0o600, 0o600]
        assert secrets
        assert not any(secret in text for secret in secrets for _, text in stored)


async def test_a_session_outlives_a_restart_and_ends_with_signing_out() -> None:
    async with visiting() as visitor:
        again = await asyncio.to_thread(WebPage, visitor.gateway, hashed(TOKENS), HOSTS)
        other = stranger(again, visitor.gateway)
        other.client.cookies = visitor.client.cookies
        assert (await other.get("/")).status_code == 200
        copied = dict(visitor.client.cookies)
        assert (await visitor.post("/sign-out")).status_code == 303
        visitor.client.cookies.update(copied)
        assert (await visitor.get("/")).status_code == 401


async def test_a_token_signs_in_its_owner_until_it_changes() -> None:
    async with visiting(signed_in=False) as visitor:
        for wrong in ("", "wrong", TOKENS[ANN] + "x", "\udcff"):
            assert (await visitor.sign_in_as(wrong.encode(errors="replace").decode())).status_code == 403
        assert (await visitor.sign_in_as(TOKENS[ANN])).status_code == 303
        assert ANN in (await visitor.get("/")).text
        for tokens in ({BOB: TOKENS[BOB]}, {ANN: "another-token-of-ann"}):
            page = await asyncio.to_thread(WebPage, visitor.gateway, hashed(tokens), HOSTS)
            late = stranger(page, visitor.gateway)
            late.client.cookies = visitor.client.cookies
            assert (await late.get("/")).status_code == 401


# Other sites


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8765", "", "[::1", "a@127.0.0.1"]
)
async def test_a_foreign_host_is_refused_even_when_signed_in(host: str) -> None:
    async with visiting() as visitor:
        for path in ("/", "/static/app.css", "/sign-in"):
            assert (await visitor.get(path, Host=host)).status_code == 421


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://127.0.0.1:3000", "http://localhost:8765", "file://", ""],
)
async def test_a_form_from_another_origin_is_refused(origin: str) -> None:
    async with visiting() as visitor:
        for path in ("/theme", "/sign-out", "/sign-in"):
            assert (await visitor.post(path, Origin=origin)).status_code == 403


async def test_a_form_without_an_origin_or_from_another_site_is_refused() -> None:
    async with visiting() as visitor:
        form = {"csrf": visitor.csrf}
        assert (await visitor.client.post("/sign-out", data=form)).status_code == 403
        for site in ("cross-site", "same-site"):
            assert (await visitor.post("/sign-out", Sec_Fetch_Site=site)).status_code == 403


async def test_a_form_without_the_token_of_the_session_is_refused() -> None:
    async with visiting() as visitor, visiting() as other:
        for csrf in ("", "0" * 64, other.csrf, "\u00e4"):
            assert (await visitor.post("/sign-out", {"csrf": csrf})).status_code == 403
        assert (await visitor.get("/")).status_code == 200


async def test_another_site_can_link_here_but_embed_nothing() -> None:
    async with visiting() as visitor:
        embedded = await visitor.get("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")
        followed = await visitor.get("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")
        assert (embedded.status_code, followed.status_code) == (403, 200)
        visitor.client.cookies.clear()  # the browser keeps a strict cookie back
        led = await visitor.get("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")
        assert led.status_code == 401
        assert 'href="/"' in led.text


async def test_other_methods_and_bodies_are_refused() -> None:
    async with visiting() as visitor:
        for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
            assert (await visitor.client.request(method, "/")).status_code == 405
        own = {"Origin": ADDRESS}
        as_json = await visitor.client.post("/theme", json={"csrf": visitor.csrf}, headers=own)
        assert as_json.status_code == 415
        large = await visitor.post("/theme", {"theme": "x" * 3_000_000})
        assert large.status_code == 413
        many = "&".join(f"f{number}=1" for number in range(1_000))
        kind = {"Content-Type": "application/x-www-form-urlencoded", **own}
        assert (await visitor.client.post("/theme", content=many, headers=kind)).status_code == 400


@pytest.mark.parametrize(
    "back", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"]
)
async def test_no_form_leads_to_another_site(back: str) -> None:
    async with visiting() as visitor:
        answer = await visitor.post("/theme", {"theme": "dark", "back": back})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert 'data-theme="dark"' in (await visitor.get("/")).text


# Hostile servers


async def test_every_answer_has_a_strict_policy_and_no_page_needs_more() -> None:
    async with visiting(hostile()) as visitor:
        other = stranger(visitor.page, visitor.gateway)
        answers = [await visitor.get(path) for path in (*PAGES, "/nowhere", "/static/app.js", "/static/none")]
        answers += [await other.get(path) for path in ("/", "/sign-in")]
        answers.append(await visitor.get("/", Host="evil.example"))
        for answer in answers:
            policy = dict(part.split(" ", 1) for part in answer.headers[POLICY].split("; "))
            assert policy["default-src"] == "'none'"
            assert (policy["script-src"], policy["style-src"]) == ("'self'", "'self'")
            assert answer.headers["x-content-type-options"] == "nosniff"
            if answer.headers["content-type"].startswith("text/html"):
                assert answer.headers["cache-control"] == "no-store"
                assert Markup(answer.text).forbidden == []


async def test_what_a_hostile_server_says_is_shown_as_text_on_every_page() -> None:
    async with visiting(hostile()) as visitor:
        ran = await visitor.gateway.execute("print(await mcp__shop__list_things(who='x'))", visitor.owner)
        _, (call, *_) = await visitor.gateway.run(ran.run)
        shown = (
            TOOL, f"{TOOL}/links", f"/runs/{ran.run}", f"/calls/{call.id}", "/tools?q=things", "/compose?goal=things",
            "/compose?want=" + quote(HOSTILE), "/tools?q=" + quote(HOSTILE), "/graph?server=" + quote(HOSTILE),
            "/graph/link?from=mcp__shop__list_things&to=" + quote(HOSTILE), "/runs/" + quote(HOSTILE, safe=""),
        )  # fmt: skip
        for path in (*PAGES, *shown):
            for answer in (await visitor.get(path), await visitor.part(path)):
                assert answer.status_code in {200, 400, 404}, path
                assert SCRIPT not in answer.text, path
                assert "<img src=x" not in answer.text, path
                assert "\u202e" not in answer.text, path
                assert Markup(answer.text).forbidden == [], path
        data = (await visitor.get("/graph/data?confidence=0")).text
        assert "\\u202e" not in data
        assert "\u202e" not in data


async def test_others_see_neither_the_owners_runs_nor_calls_and_change_nothing() -> None:
    async with visiting(hostile(), web={"allow_calls": True}) as visitor:
        ran = await visitor.gateway.execute("print(await mcp__shop__list_things(who='x'))", visitor.owner)
        _, (call, *_) = await visitor.gateway.run(ran.run)
        bob = stranger(visitor.page, visitor.gateway)
        await bob.sign_in_as(TOKENS[BOB])
        assert ran.run[:8] not in (await bob.get("/runs")).text
        for path in (f"/runs/{ran.run}", f"/calls/{call.id}"):
            assert (await bob.get(path)).status_code == 404
        assert (await bob.post(f"/runs/{ran.run}/save", {"name": "stolen"})).status_code in {400, 404}
        task = (await visitor.post("/compose/run", {"code": "print(1)"})).headers["location"]
        assert (await bob.get(task)).status_code == 400


async def test_the_page_shows_a_person_only_what_their_profile_leaves() -> None:
    shop = Memory(definition("list_things", "who", "things: thing_id"), definition("drop_thing", "thing_id"))
    vault = Memory(definition("open_vault", "thing_id", "things: thing_id"))
    http = {"tokens": {"bob": {"token": TOKENS[BOB], "profile": "few"}}}
    few = {"servers": ["shop"], "tools": ["mcp__shop__list_*"]}
    servers = {"shop": shop, "vault": vault}
    async with visiting(servers, http=http, profiles={"few": few}, web={"allow_calls": True}) as visitor:
        bob = stranger(visitor.page, visitor.gateway)
        await bob.sign_in_as(TOKENS[BOB])
        shown = ""
        for path in (
            *PAGES,
            "/overview/live",
            "/tools?q=open",
            "/graph/data?confidence=0",
            "/graph?confidence=0",
        ):
            mine, theirs = (await visitor.get(path)).text, (await bob.get(path)).text
            assert "vault" not in theirs, path
            assert "drop_thing" not in theirs, path
            shown += mine
        assert "vault" in shown
        for name in ("mcp__vault__open_vault", "mcp__shop__drop_thing"):
            assert (await bob.get(f"/tools/{name}")).status_code == 404
            await bob.post(f"/tools/{name}/call", {"argument.thing_id": "1", "confirm": "yes"})
        ends = "from=mcp__shop__list_things&to=mcp__vault__open_vault"
        assert (await bob.get(f"/graph/link?{ends}")).status_code in {400, 404}
        assert (shop.calls, vault.calls) == ([], [])


async def test_calls_from_the_page_are_off_unless_enabled_and_destruction_needs_a_word() -> None:
    def served() -> dict[str, Memory]:
        drop = {**definition("drop_things", "who", "gone"), "annotations": {"destructiveHint": True}}
        return {"shop": Memory(drop, answer=lambda *_: structured({"gone": "1"}))}

    path, form = "/tools/mcp__shop__drop_things/call", {"argument.who": "x"}
    async with visiting(served()) as visitor:
        for target in (path, "/compose/run"):
            assert (await visitor.post(target, {**form, "code": "print(1)"})).status_code == 400
    servers = served()
    async with visiting(servers, web={"allow_calls": True}) as visitor:
        refused = await visitor.post(path, form)
        assert "confirm" in refused.text
        assert servers["shop"].calls == []
        assert "&#34;gone&#34;" in (await visitor.post(path, {**form, "confirm": "yes"})).text


# Where it is served


def test_it_is_served_on_this_machine_alone_unless_that_is_configured() -> None:
    assert page_hosts("127.0.0.1", Config()) == HOSTS
    assert page_hosts("0.0.0.0", Config()) == frozenset()
    config = Config.from_mapping({"web": {"remote": True}, "http": {"allowed_hosts": ["halflap.example"]}})
    assert page_hosts("0.0.0.0", config) == {*HOSTS, "halflap.example"}


async def test_the_servers_guard_lets_only_the_pages_own_paths_through() -> None:
    passed: list[str] = []

    async def mcp(scope: Any, _receive: Any, _send: Any) -> None:
        passed.append(scope["path"])

    async with visiting() as visitor:
        guard: Any = Guard(mcp, hashed(TOKENS), HOSTS, (), Refusals(), page=visitor.page)
        outside = stranger(guard, visitor.gateway)
        for path in ("/mcp", "/mcp/", "/metrics", "/servers/x/mcp", "/unknown", "/Tools", "/tools.json"):
            answer = await outside.get(path)
            assert (answer.status_code, json.loads(answer.text)["code"]) == (401, "http-token")
        for path in PAGES:
            assert "Sign in" in (await outside.get(path)).text
        assert (await outside.get("/", Authorization=f"Bearer {TOKENS[ANN]}")).status_code == 401
    assert passed == []
