"""Every page in a real browser: nothing is refused by the policy, axe-core finds nothing serious, and the drawings work.

Needs Chromium (Debian's package `chromium`, or CHROMIUM=/path), playwright, and axe-core from npm: `make test-all` installs the
last two. With HALFLAP_SCREENSHOTS=folder, every page is also photographed, light and dark.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from halflap import Gateway
from halflap.core.values import CallContext
from halflap.web import WebPage
from servers.memory import bundled
from support import eventually
from web.test_attacks import hostile
from web.test_pages import HISTORY, NET, PROGRAM
from web.visitor import HOSTS, PEOPLE, TOKENS, hashed

pytestmark = [pytest.mark.slow]

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or ""
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
PAGES = {
    "overview": "/", "tools": "/tools?q=customer", "tool": HISTORY, "graph": "/graph", "links": "/graph?server=sales",
    "runs": "/runs", "run": "", "compose": "/compose?want=mcp__sales__order_history", "workflows": "/workflows?example=order",
    "programs": "/programs",
}  # fmt: skip


class Served:
    """The page over a gateway, served in a thread with its own event loop."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.ready = threading.Event()
        self.run = ""
        self.port = 0
        self.page: WebPage
        self._stop = asyncio.Event()
        self.thread = threading.Thread(target=self.loop.run_until_complete, args=(self._serve(),))

    async def _serve(self) -> None:
        config = {"web": {"allow_calls": True}, "http": {"tokens": PEOPLE}}
        async with Gateway.open(config, servers={**bundled(), **hostile()}) as gateway:
            await gateway.settle()
            self.run = (await gateway.execute(PROGRAM, CallContext("local"))).run
            self.page = await asyncio.to_thread(WebPage, gateway, hashed(TOKENS), HOSTS)
            server = uvicorn.Server(uvicorn.Config(self.page, port=0, log_level="error"))
            serving = asyncio.create_task(server.serve())
            while not server.started:
                await asyncio.sleep(0.01)
            self.port = server.servers[0].sockets[0].getsockname()[1]
            self.ready.set()
            await self._stop.wait()
            server.should_exit = True
            await serving

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def link(self) -> str:
        said = self.page.invite(self.address)
        return said[said.index("http") :]

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self._stop.set)
        self.thread.join()
        self.loop.close()


@pytest.fixture
def served(home: Path) -> Iterator[Served]:
    one = Served()
    assert home.is_dir()
    one.thread.start()
    assert one.ready.wait(60)
    yield one
    one.stop()


@contextmanager
def browsing(served: Served, **options: Any) -> Iterator[tuple[Any, list[str]]]:
    """Yield a signed-in page of a browser, and what its console complains about."""
    playwright = pytest.importorskip("playwright.sync_api")
    if not CHROMIUM:
        pytest.skip("needs Chromium: apt-get install chromium")
    complaints: list[str] = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_context(viewport={"width": 1280, "height": 900}, **options).new_page()
        page.on("console", lambda one: complaints.extend([one.text] if _is_complaint(one) else []))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.goto(served.link())
        page.wait_for_url(served.address + "/")
        yield page, complaints
        browser.close()


def _is_complaint(message: Any) -> bool:
    # Leaving a page ends its requests, which htmx reports as errors.
    return message.type in {"error", "warning"} and not message.text.startswith("htmx:afterRequest")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_accessible_and_obeys_the_policy(served: Served, scheme: str) -> None:
    folder = os.environ.get("HALFLAP_SCREENSHOTS")
    with browsing(served, color_scheme=scheme, bypass_csp=False) as (page, complaints):
        for name, path in PAGES.items():
            page.goto(served.address + (path or f"/runs/{served.run}"))
            page.wait_for_load_state("networkidle")
            assert complaints == [], name
            if folder:
                page.screenshot(path=Path(folder) / f"{name}-{scheme}.png", full_page=True)
            # Evaluated by the driver, which the page's policy does not concern.
            page.evaluate(AXE.read_text())
            found = page.evaluate("axe.run()")["violations"]
            serious = [
                (one["id"], [node["html"] for node in one["nodes"][:2]])
                for one in found
                if one["impact"] in {"serious", "critical"}
            ]
            assert serious == [], name


def test_search_as_you_type_finds_without_a_reload(served: Served) -> None:
    with browsing(served) as (page, complaints):
        page.goto(served.address + "/tools")
        page.evaluate("window.same = true")
        page.keyboard.type("order")
        page.wait_for_url("**q=order&**")
        assert "order" in page.inner_text("#found .name >> nth=0")
        assert page.evaluate("window.same")
        assert complaints == []


def test_the_graph_opens_a_server_and_shows_the_evidence_of_a_link(served: Served) -> None:
    with browsing(served) as (page, complaints):
        page.goto(served.address + "/graph?server=sales")
        page.wait_for_selector("#graph canvas")
        page.evaluate(
            "htmx.ajax('GET', '/graph/link?from=mcp__sales__sales_top_customers&to=mcp__sales__order_history',"
            " {target: '#detail'})"
        )
        page.wait_for_selector("#detail >> text=customer_id")
        assert complaints == []


def test_a_tool_is_tried_with_the_keyboard_alone(served: Served) -> None:
    with browsing(served) as (page, complaints):
        page.goto(served.address + HISTORY)
        page.focus("[name='argument.customer_id']")
        page.keyboard.type("CUST-001")
        page.keyboard.press("Enter")
        page.wait_for_selector("#result >> text=order_id")
        assert complaints == []


def test_the_values_of_a_call_can_be_read_while_its_run_goes_on(served: Served) -> None:
    code = "import asyncio\nawait mcp__sales__sales_top_customers(limit=1)\nawait asyncio.sleep(20)"
    with browsing(served) as (page, complaints):
        page.goto(served.address + "/compose")
        form = {"csrf": page.get_attribute("[name=csrf] >> nth=0", "value"), "code": code}
        page.request.post(served.address + "/compose/run", form=form, headers={"Origin": served.address})
        page.goto(served.address + "/runs")
        page.click("table a >> nth=0")
        page.click(".waterfall summary")
        page.wait_for_selector(".waterfall .inside >> text=customer_id")
        page.wait_for_timeout(1_500)  # longer than between two polls
        assert page.locator(".waterfall details[open]").count() == 1
        assert "running" in page.inner_text("#run .state >> nth=0")
        assert complaints == []


def test_a_workflows_failing_trace_is_played(served: Served) -> None:
    with browsing(served) as (page, complaints):
        page.goto(served.address + "/workflows")
        page.fill("[name=workflow]", json.dumps(NET))
        page.click("[value=score]")
        page.wait_for_selector("text=Play the trace", timeout=60_000)
        page.wait_for_selector("#net-0 canvas")
        page.click("text=Play the trace")
        assert complaints == []


def test_a_hostile_server_runs_no_script(served: Served) -> None:
    with browsing(served) as (page, complaints):
        for path in ("/tools?q=things", "/tools/mcp__shop__list_things", "/graph?server=shop&confidence=0"):
            page.goto(served.address + path)
            page.wait_for_load_state("networkidle")
            assert not page.locator("img[src=x]").count()
        assert complaints == []


def test_pages_work_without_javascript_and_on_a_phone(served: Served) -> None:
    phone = {"width": 360, "height": 740}
    with browsing(served, java_script_enabled=False) as (page, _):
        page.set_viewport_size(phone)
        for path in PAGES.values():
            page.goto(served.address + (path or f"/runs/{served.run}"))
            width = page.locator("html").bounding_box()["width"]
            assert width <= phone["width"], path
        page.goto(served.address + HISTORY)
        page.fill("[name='argument.customer_id']", "CUST-001")
        page.click("text=Call")
        assert eventually(lambda: "order_id" in page.content())
